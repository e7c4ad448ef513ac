// The insertions in texts, such as {{answers.ID}}. Package insertion resolves their names.
import { signal } from '@preact/signals';
import { allBlocks } from '../app/records';
import { t } from '../app/words';
import { fieldName } from './describe';
import { addressParts, fieldsOf, type Content, type Field, type Fields } from './fields';

/** The content of the form that is open, whose fields texts can insert. */
export const openContent = signal<Content>({ blocks: [] });

/** Block types whose answers a text cannot show. */
const notShown = ['matrix', 'file_upload', 'signature', 'payment'];

const isWholeOrPart = ({ part }: Field): boolean => !part || ('word' in part && addressParts.includes(part.word));

/** Returns the path of the field that an insertion names, without spaces and decimals, or undefined if the form has no such field. */
export const insertedPath = (name: string, fields: Fields): string | undefined =>
  [name, name.trim()].flatMap((text) => [text, text.replace(/:(\d|10)$/, '')]).find((path) => {
    const ref = fields.resolve(path);
    const field = ref && fields.get(ref);
    return field && field.kind !== 'unknown' && isWholeOrPart(field);
  });

/** Returns the label of the field with a name such as "answers.ID", or undefined if the form has no such field. */
export function insertionLabel(name: string, fields = fieldsOf(openContent.value)): string | undefined {
  if (name.trim() === 'today') return t('texts.today');
  const path = insertedPath(name, fields);
  return path === undefined ? undefined : fieldName(fields.get(fields.resolve(path)!), t);
}

/** Returns the text that the builder shows for an insertion. */
export const shownInsertion = (name: string, fields?: Fields): string => `‹${insertionLabel(name, fields) ?? name.trim()}›`;

/**
 * Returns the fields of the open form that a text can insert. A block's text can insert earlier answers, hidden fields
 * and variables. A text outside of blocks can insert all answers.
 */
export function insertableFields(block: string, values: 'all' | 'withOwnAnswer' | 'variables' = 'all'): Field[] {
  const content = openContent.value;
  const blocks = allBlocks(content.blocks);
  const at = blocks.findIndex((b) => b.id === block) + (values === 'withOwnAnswer' ? 1 : 0);
  const earlier = new Set(blocks.slice(0, at < 0 ? blocks.length : at).filter((b) => !notShown.includes(b.type) && !b.properties?.hide).map((b) => b.id));
  return fieldsOf(content).all.filter((f) => (values === 'variables' ? f.ref.from === 'variables' : isWholeOrPart(f) && (f.ref.from !== 'answers' || earlier.has(f.ref.id))));
}
