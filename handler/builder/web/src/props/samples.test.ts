// Values for tests, one for each row of the table.
import type { Property } from './props.gen';

const named: Record<string, unknown> = {
  disabledDays: 65, weekStartsOn: 1, amount: '12.50', currency: 'EUR', rule: { show: true }, image: { url: 'https://example.com/b.png' },
  duplicateField: 'b_email', allowedFiles: ['.pdf', 'image/*'], openAt: '2026-04-01T10:00:00Z', closeAt: '2026-05-01T10:00:00Z', perRow: 3, to: 7, icon: 'heart',
};

/** A value that is not what counts without it. */
export function sampleOf(name: string, row: Property): unknown {
  const last = name.split('.').at(-1)!;
  if (last in named && !name.startsWith('background.') && !name.startsWith('cover.')) return named[last];
  if (row.words) return row.type === 'integer' ? Number(row.words.at(-1)) : row.words.at(-1);
  switch (row.type) {
    case 'boolean': return true;
    case 'integer': return 42;
    case 'number': return 2.5;
    case 'url': return 'https://example.com/a?b=c';
    case 'link': return 'mailto:ann@example.com';
    case 'country': return 'NL';
    case 'date': return '2026-03-01T12:00:00+00:01';
    case 'dates': return ['2026-03-01T12:00:00+00:01'];
    case 'color': return '#2255cc';
    case 'image': return { url: 'https://example.com/c.png' };
    case 'parts': return { email: { required: true } };
    case 'string': return 'Some text';
  }
  throw new Error(`no sample for ${name}, a ${row.type}`);
}
