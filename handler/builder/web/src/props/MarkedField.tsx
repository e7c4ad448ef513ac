import type { ComponentChildren } from 'preact';
import { useContext, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Marks } from '../app/text';
import { t } from '../app/words';
import { fieldName } from '../rules/describe';
import { pathOf } from '../rules/fields';
import { insertableFields, insertionLabel, openContent } from '../rules/insertions';
import { IconButton } from '../ui/Button';
import { FormDialog } from '../ui/Dialog';
import { Field, TextField } from '../ui/Field';
import { editMarkedText, type MarkedText } from '../ui/markedText';
import { Menu } from '../ui/Menu';
import { ScopeContext } from './scope';
import { completeURL, parseURL, ValueError } from './values';

interface Props {
  label: string;
  hint?: ComponentChildren;
  error?: string | undefined;
  value: string;
  onInput(source: string): void;
  marks?: Marks;
  multiline?: boolean;
  /** The insertions that have a value in this text. Defaults to all values that are known before the block. */
  values?: 'all' | 'withOwnAnswer' | 'variables';
}

/** Escapes the brackets of a text that are not yet escaped. */
const escapeBrackets = (text: string): string => text.replace(/(\\.)|[[\]]/gs, (mark, escaped?: string) => escaped ?? '\\' + mark);

/** A field for a text with marks, with a toolbar. */
export function MarkedField({ label, hint, error, value, onInput, marks: { formatting = true, insertions = true } = {}, multiline = true, values = 'all' }: Props) {
  const scope = useContext(ScopeContext);
  const box = useRef<HTMLDivElement>(null);
  const editor = useRef<MarkedText | undefined>(undefined);
  const latest = useRef({ onInput });
  latest.current = { onInput };
  const [isLinking, setLinking] = useState(false);
  const content = openContent.value;

  useLayoutEffect(() => {
    const is = editMarkedText(box.current!, {
      value, multiline, marks: { formatting, insertions }, labelOf: insertionLabel,
      onInput: (source) => latest.current.onInput(source),
      onKey: (e) => {
        if (!formatting || e.key.toLowerCase() !== 'k' || !(e.ctrlKey || e.metaKey) || e.altKey || e.shiftKey) return;
        e.preventDefault();
        setLinking(true);
      },
    });
    editor.current = is;
    return is.dispose;
  }, []);
  useLayoutEffect(() => {
    editor.current!.set(value);
  }, [value, content]);
  useLayoutEffect(() => {
    const isReadOnly = box.current!.closest('fieldset:disabled') !== null;
    box.current!.setAttribute('contenteditable', String(!isReadOnly));
    box.current!.setAttribute('aria-readonly', String(isReadOnly));
  });

  const insertLink = (text: string, url: string): void => {
    setLinking(false);
    requestAnimationFrame(() => editor.current!.insert(`[${escapeBrackets(text)}](${url})`)); // the dialog returns the focus first
  };
  const items = insertableFields(scope.id, values).map((f) => ({ label: fieldName(f, t), run: () => editor.current!.insert(`{{${pathOf(f.ref)}}}`) }));
  const tool = (name: 'bold' | 'italic' | 'link', key: string, run: () => void) => (
    <IconButton icon={name} label={t('texts.' + name)} aria-keyshortcuts={`Control+${key} Meta+${key}`} onMouseDown={(e) => e.preventDefault()} onClick={run} />
  );
  return (
    <div class="marked-field">
      <Field label={label} hint={hint} error={error}>
        {({ id, ...ids }) => <div {...ids} id={id} ref={box} class="input marked" aria-labelledby={id + 'l'} />}
      </Field>
      <div class="marked-tools" role="group" aria-label={t('texts.toolbar', { label })}>
        {formatting && tool('bold', 'B', () => editor.current!.wrap('**'))}
        {formatting && tool('italic', 'I', () => editor.current!.wrap('_'))}
        {formatting && tool('link', 'K', () => setLinking(true))}
        {insertions && <Menu icon="at-sign" kind="quiet" label={t('texts.insert')} items={[...items, { label: t('texts.today'), run: () => editor.current!.insert('{{today}}') }]} />}
      </div>
      {isLinking && <LinkDialog selected={editor.current!.selected()} onClose={() => setLinking(false)} onLink={insertLink} />}
    </div>
  );
}

/** Asks for a link's URL and text. Without a text, it is the URL. */
function LinkDialog({ selected, onClose, onLink }: { selected: string; onClose(): void; onLink(text: string, url: string): void }) {
  const [url, setURL] = useState('');
  const [text, setText] = useState(selected);
  const [isTried, setTried] = useState(false);
  const complete = completeURL(url);
  const parsed = parseURL(complete, true);
  const run = () => onLink(text.trim() || complete, complete.replace(/[()]/g, '\\$&'));
  return (
    <FormDialog title={t('texts.link')} action={t('texts.link_add')} disabled={!parsed || parsed instanceof ValueError} run={run} onClose={onClose}>
      <TextField label={t('texts.link_url')} value={url} onInput={setURL} onBlur={() => setTried(true)} placeholder="https://" error={isTried && parsed instanceof ValueError ? parsed.text : undefined} />
      <TextField label={t('texts.link_text')} value={text} onInput={setText} />
    </FormDialog>
  );
}
