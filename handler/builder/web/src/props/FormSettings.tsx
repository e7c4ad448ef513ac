import type { Detail } from '../app/api';
import { t } from '../app/words';
import { Select } from '../ui/Field';
import type { Obj } from '../app/json';
import { allBlocks, type Block } from '../app/records';
import { patchFor } from './model';
import { settings as table, types } from './props.gen';
import { Here, hintOf, labelOf, useMember } from './scope';
import { Members, Rest, Section } from './Section';

/** The settings by the part of the panel that they are in. What is in no other is under "More". */
export const settingsParts: Record<string, readonly string[]> = {
  look: ['showTitle', 'progressBar', 'navigation', 'numberedQuestions', 'singlePage', 'inlineFields', 'darkMode', 'branding'],
  sent: ['submitLabel', 'redirectUrl'],
  closing: ['closed', 'closeAt', 'responseLimit', 'closedMessage'],
  cover: ['cover.image', 'cover.color', 'cover.position.x', 'cover.position.y'],
  utm: Object.keys(table).filter((path) => path.startsWith('utm.')),
};
const placed = [...Object.values(settingsParts).flat(), 'duplicateField'];
export const otherSettings = Object.keys(table).filter((path) => !placed.includes(path));

interface Props {
  settings: Obj;
  /** The blocks of the form, of which one may ask for what only one response may say. */
  blocks: readonly Block[];
  /** Takes a merge patch of the settings. */
  onPatch(patch: Obj): void;
  /** By JSON Pointer into the settings. */
  faults?: readonly Detail[];
  notes?: readonly Detail[];
}

/** All settings of a form. */
export function FormSettings({ settings, blocks, onPatch, faults = [], notes = [] }: Props) {
  const scope = { id: 'settings', value: settings, type: '', faults, notes, row: (path: string) => table[path], set: (changes: Obj) => onPatch(patchFor(changes)) };
  return (
    <Here.Provider value={scope}>
      <div class="props">
        <Rest shown={Object.keys(table)} />
        <h3>{t('props.settings_display')}</h3>
        <Members paths={settingsParts.look!} />
        <h3>{t('props.settings_submission')}</h3>
        <Members paths={settingsParts.sent!} />
        <h3>{t('props.settings_closing')}</h3>
        <Members paths={settingsParts.closing!} />
        <Unique blocks={blocks} />
        <Section title={t('props.settings_cover')} paths={settingsParts.cover!} />
        <Section title={t('props.settings_utm')} paths={settingsParts.utm!} hint={t('props.utm_hint')} />
        <Section title={t('props.more')} paths={otherSettings} closed />
      </div>
    </Here.Provider>
  );
}

/** The question whose answer must be new. */
function Unique({ blocks }: { blocks: readonly Block[] }) {
  const { scope, value, fault, note, pointers } = useMember('duplicateField');
  const options = allBlocks(blocks).filter((b) => types[b.type]?.compared).map((b) => [b.id, b.label || t('props.type_' + b.type)] as const);
  const now = typeof value === 'string' ? value : '';
  const gone = now !== '' && !options.some(([id]) => id === now);
  return (
    <div class="prop" data-path={pointers}>
      <Select
        label={labelOf('duplicateField', '')} hint={note ?? hintOf('duplicateField', '')} fault={fault} value={now}
        options={[['', t('props.no_question')], ...options, ...(gone ? [[now, now] as const] : [])]} onChange={(v) => scope.set({ duplicateField: v || undefined })}
      />
    </div>
  );
}
