import { useContext, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { t } from '../app/words';
import { Button, IconButton } from '../ui/Button';
import { TextArea } from '../ui/Field';
import { DraftField, plainText } from './DraftField';
import { ColorField } from './PropertyField';
import type { Choice } from '../app/records';
import { withLabels } from './model';
import { ImageField } from './ImageField';
import { ScopeContext, messagesAt, useProperty } from './scope';
import { splitLines } from './values';

/** Edits a block's choices, or a matrix's rows or columns. */
export function Choices({ field, pictures, colors, onRemoved }: { field: 'choices' | 'matrix_rows' | 'matrix_columns'; pictures: boolean; colors: boolean; onRemoved?: ((label: string, choice: string | undefined, list: string) => void) | undefined }) {
  const scope = useContext(ScopeContext);
  const { value, error, warning, pointers } = useProperty(field);
  const list = (Array.isArray(value) ? value : []) as Choice[];
  const box = useRef<HTMLFieldSetElement>(null);
  const focus = useRef<{ id: string; select: boolean } | undefined>(undefined);
  const [open, setOpen] = useState('');
  const [pasting, setPasting] = useState<string>();
  const [announcement, setAnnouncement] = useState('');
  // Move the focus before the next key press, because that key belongs to the new line.
  useLayoutEffect(() => {
    if (focus.current) focusChoice(focus.current.id, focus.current.select);
    focus.current = undefined;
  });
  const focusChoice = (id: string, select: boolean): void => {
    const input = box.current?.querySelector<HTMLInputElement>(`[data-key="${CSS.escape(id)}"]`);
    input?.focus();
    if (select) input?.select();
  };
  const set = (choices: Choice[], next?: Choice, select = false): void => {
    focus.current = next && { id: next.id ?? '', select };
    scope.set({ [field]: choices });
  };
  const add = (labels: readonly string[], at = list.length): void => {
    const choices = withLabels(list, labels, at);
    set(choices, choices[at + labels.length - 1], true);
  };
  const change = (i: number, changes: Partial<Record<keyof Choice, unknown>>): void => {
    const changed = { ...list[i]!, ...changes } as Record<string, unknown>;
    for (const [name, v] of Object.entries(changed)) if (v === undefined) delete changed[name];
    scope.set({ [field]: list.map((c, j) => (j === i ? changed : c)) });
  };
  const move = (i: number, by: number): void => {
    const to = i + by;
    if (to < 0 || to >= list.length) return;
    set(list.toSpliced(i, 1).toSpliced(to, 0, list[i]!), list[i]);
    setAnnouncement(t('props.moved', { label: list[i]!.label || String(i + 1), position: to + 1, count: list.length }));
  };
  const remove = (i: number): void => {
    set(list.toSpliced(i, 1), list[i + 1] ?? list[i - 1]);
    onRemoved?.(list[i]!.label || String(i + 1), list[i]!.id, field);
  };
  const handleKey = (e: KeyboardEvent, i: number): void => {
    if (e.isComposing) return;
    if (e.altKey && (e.key === 'ArrowUp' || e.key === 'ArrowDown')) move(i, e.key === 'ArrowUp' ? -1 : 1);
    else if (e.key === 'Enter' && isSample(i + 1)) focusChoice(list[i + 1]!.id ?? '', true);
    else if (e.key === 'Enter') add([sampleLabel()], i + 1);
    else if (e.key === 'Backspace' && !list[i]!.label && list.length > 1) remove(i);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  // The first line is inserted at the cursor. The other lines become new choices.
  const paste = (e: ClipboardEvent, i: number): void => {
    const text = e.clipboardData?.getData('text') ?? '';
    const pasted = splitLines(text);
    if (pasted.length < (text.includes('\t') ? 1 : 2)) return;
    e.preventDefault();
    const input = e.currentTarget as HTMLInputElement;
    const [from, to] = [input.selectionStart ?? 0, input.selectionEnd ?? 0];
    const edited = list.map((c, j) => (j === i ? { ...c, label: input.value.slice(0, from) + pasted[0]! + input.value.slice(to) } : c));
    // If all choices still have sample labels, the pasted list replaces the samples below.
    const samples = list.every((_, j) => j === i || isSample(j));
    const all = withLabels(samples ? edited.slice(0, i + 1) : edited, pasted.slice(1), i + 1);
    set(all, all[i + pasted.length - 1]);
  };
  // A choice without a label would show its id, so it gets a sample label that is replaced when the user types.
  const sampleLabel = (at = list.length): string => t({ choices: 'props.new_choice', matrix_rows: 'props.new_row', matrix_columns: 'props.new_column' }[field], { number: at + 1 });
  const isSample = (i: number): boolean => !!list[i] && !list[i].image && list[i].label === sampleLabel(i);
  // Clicking a sample label selects it, so that typing replaces it.
  const selectSample = (e: MouseEvent): void => {
    const i = list.findIndex((c) => c.id === (e.target as HTMLElement).dataset.key);
    if (isSample(i)) focusChoice(list[i]!.id ?? '', true);
  };
  const labels = list.map((c) => c.label?.trim());
  const repeated = labels.find((label, i) => label && labels.indexOf(label) < i);
  const name = (word: string): string => t(`props.${field}_${word}`);
  return (
    <fieldset class="props-set props-choices" ref={box} data-path={pointers}>
      <legend>{t('props.' + field)}</legend>
      <ol onClick={selectSample}>
        {list.map((choice, i) => {
          const label = choice.label || String(i + 1);
          const messages = (list: typeof scope.errors) => messagesAt(list, [`/${field}/${i}`], true);
          const choiceWarning = messages(scope.warnings);
          const at = `${scope.id}:${field}.${choice.id}`;
          const text = (m: 'alt' | 'row_id') => (
            <DraftField at={`${at}.${m}`} label={t('props.choice_' + m)} hint={t(`props.choice_${m}_hint`)} value={choice[m]} {...plainText} set={(v) => change(i, { [m]: v })} />
          );
          return (
            <li key={choice.id}>
              <div class="props-choice">
                <DraftField
                  at={at} name={choice.id} label={`${name('one')} ${i + 1}`} hideLabel value={choice.label || undefined} {...plainText} set={(v) => change(i, { label: v })}
                  hint={choiceWarning && <span class="props-note">{choiceWarning}</span>} error={messages(scope.errors)} onKeyDown={(e) => handleKey(e, i)} onPaste={(e) => paste(e, i)}
                />
                <IconButton icon="arrow-up" label={t('props.move_up', { label })} aria-disabled={i === 0 || undefined} onClick={() => move(i, -1)} />
                <IconButton icon="arrow-down" label={t('props.move_down', { label })} aria-disabled={i === list.length - 1 || undefined} onClick={() => move(i, 1)} />
                <IconButton icon={pictures ? 'image' : 'ellipsis'} label={t('props.more_options', { label })} aria-expanded={open === choice.id} onClick={() => setOpen(open === choice.id ? '' : (choice.id ?? ''))} />
                <IconButton icon="x" label={t('props.remove_this', { label })} onClick={() => remove(i)} />
              </div>
              {open === choice.id && (
                <div class="props-choice-more">
                  <ImageField at={at + '.image'} label={t('props.choice_image')} value={choice.image} error={undefined} maxLength={40_000} set={(image) => change(i, { image })} />
                  {text('alt')}
                  <ColorField at={at + '.color'} label={t('props.choice_color')} hint={colors ? undefined : t('props.choice_color_hint')} value={choice.color} hexOnly={false} fallback={undefined} set={(color) => change(i, { color })} />
                  {text('row_id')}
                  <p class="hint">{t('props.choice_id')} <code>{choice.id}</code></p>
                </div>
              )}
            </li>
          );
        })}
      </ol>
      {error && <p class="fault">{error}</p>}
      {warning && <p class="props-note">{warning}</p>}
      {repeated && <p class="hint" role="status">{t('props.repeated', { label: repeated })}</p>}
      <p class="unseen" role="status">{announcement}</p>
      <div class="row">
        <Button icon="plus" class="small" onClick={() => add([sampleLabel()])}>{name('add')}</Button>
        <Button kind="quiet" icon="list" class="small" aria-expanded={pasting !== undefined} onClick={() => setPasting(pasting === undefined ? '' : undefined)}>{t('props.add_multiple')}</Button>
      </div>
      {pasting !== undefined && (
        <div class="props-several">
          <TextArea label={t('props.one_per_line')} rows={5} value={pasting} onInput={setPasting} autoFocus />
          <div class="row">
            <Button kind="primary" class="small" onClick={() => (splitLines(pasting).length > 0 && add(splitLines(pasting)), setPasting(undefined))}>{t('props.add')}</Button>
            <Button class="small" onClick={() => setPasting(undefined)}>{t('app.cancel')}</Button>
          </div>
        </div>
      )}
      {list.length > 1 && field !== 'matrix_rows' && <p class="hint">{t(pictures ? 'props.choices_images_hint' : 'props.choices_hint')}</p>}
    </fieldset>
  );
}
