import type { Definition } from '../app/records';
import { t } from '../app/words';

export interface Template {
  key: string;
  type: 'SINGLE' | 'MULTI';
  definition(): Partial<Definition>;
}

const text = (key: string) => t('forms.template_' + key);

const choices = (...labels: string[]) => labels.map((label, i) => ({ id: 'c' + (i + 1), label: text(label) }));

/** Form templates in the page's language. */
export const templates: readonly Template[] = [
  {
    key: 'contact',
    type: 'MULTI',
    definition: () => ({
      blocks: [
        { id: 'name', type: 'short_text', label: text('name'), required: true },
        { id: 'email', type: 'email', label: text('email'), required: true },
        { id: 'message', type: 'long_text', label: text('message'), required: true },
        { id: 'thanks', type: 'ending', label: text('contact_thanks') },
      ],
    }),
  },
  {
    key: 'feedback',
    type: 'SINGLE',
    definition: () => ({
      blocks: [
        { id: 'rating', type: 'rating', label: text('rating'), required: true },
        { id: 'nps', type: 'nps', label: text('nps') },
        { id: 'better', type: 'long_text', label: text('improve') },
        { id: 'thanks', type: 'ending', label: text('feedback_thanks') },
      ],
    }),
  },
  {
    key: 'event',
    type: 'SINGLE',
    definition: () => ({
      blocks: [
        { id: 'name', type: 'short_text', label: text('name'), required: true },
        { id: 'coming', type: 'yes_no', label: text('attend'), required: true },
        { id: 'guests', type: 'number', label: text('guests'), properties: { min: 0, minVal: true, max: 10, maxVal: true, rule: { show: { '!=': [{ var: 'answers.coming' }, false] } } } },
        { id: 'food', type: 'multiple_choice', label: text('diet'), choices: choices('vegetarian', 'vegan', 'glutenfree') },
        { id: 'thanks', type: 'ending', label: text('event_thanks') },
      ],
    }),
  },
];
