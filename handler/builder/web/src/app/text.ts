// The marks of texts such as labels, as in package schema (text.go). Some rare combinations of marks differ.
import { parseURL, ValueError } from '../props/values';
import { shownInsertion } from '../rules/insertions';

/** The marks that a text allows. Both are allowed by default. */
export interface Marks {
  formatting?: boolean;
  insertions?: boolean;
}

/** The paths of the properties that are texts, with the marks that they allow. */
export const textMarks: Record<string, Marks | undefined> = {
  label: {}, description: {}, closedMessage: {}, 'properties.legalText': { insertions: false }, 'properties.buttonText': { formatting: false }, submitLabel: { formatting: false },
};

const escape = String.raw`\\(?<escaped>[!-\/:-@\[-\x60{-~])`;
const insertion = String.raw`\{\{(?<name>\p{White_Space}*(?:today\p{White_Space}*|(?:answers|variables|hidden)\.(?:(?!\}\}).){0,1190}))\}\}`;
const content = String.raw`(?:\\.|[^\\]){0,1000}?`;
const formats = [
  String.raw`\[(?<text>(?:\\.|[^\\\[\]]){1,1000})\]\((?<url>(?:\\.|\([^()\s]*\)|[^\\()\s])+)\)`,
  String.raw`(?<!\*)\*\*(?![\s*])(?<strong>${content}(?<!\s))(?<!\*)\*\*(?!\*)`,
  String.raw`(?<![\p{L}\p{N}_])_(?![\s_])(?<emphasis>${content}(?<!\s))(?<!_)_(?![\p{L}\p{N}_])`,
];

const patternOf = ({ formatting = true, insertions = true }: Marks = {}): RegExp =>
  new RegExp([escape, ...(insertions ? [insertion] : []), ...(formatting ? formats : [])].join('|'), 'gsu');

const isURL = (url: string): boolean => !url.includes('{{') && !(parseURL(url, true) instanceof ValueError);

/** Returns the insertions in a text, with the name between the braces. */
export const insertionsIn = (source: string, marks?: Marks): { from: number; to: number; name: string }[] =>
  [...source.matchAll(patternOf({ ...marks, formatting: false }))].flatMap(({ 0: mark, index, groups }) => (groups?.name === undefined ? [] : { from: index, to: index + mark.length, name: groups.name }));

/** Returns a text without formatting. labelOf returns the text for an insertion. If absent, insertions keep their braces. */
export function plainText(source: string, marks?: Marks, labelOf?: (name: string) => string): string {
  return source.replace(patternOf(marks), (...match) => {
    const mark = match[0] as string;
    const { escaped, name, text, url, strong, emphasis } = match.at(-1) as Record<string, string | undefined>;
    if (name !== undefined) return labelOf?.(name) ?? mark;
    if (url !== undefined && !isURL(plainText(url, { formatting: false, insertions: false }))) return mark;
    return escaped ?? plainText(text ?? strong ?? emphasis ?? '', marks, labelOf);
  });
}

/** Returns a text as the builder shows it: without formatting, and with the labels of the inserted fields. */
export const shownText = (source = '', marks?: Marks): string => plainText(source, marks, shownInsertion);

/** Returns a label that the service has sent without formatting, with the labels of the inserted fields. */
export const labelInsertions = (plain: string): string => plain.replace(new RegExp(insertion, 'gsu'), (_, name: string) => shownInsertion(name));
