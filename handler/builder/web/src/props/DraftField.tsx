import { signal } from '@preact/signals';
import type { ComponentChildren, TargetedEvent, TargetedKeyboardEvent } from 'preact';
import { useLayoutEffect, useReducer } from 'preact/hooks';
import { route } from '../app/router';
import { t } from '../app/words';
import { Field } from '../ui/Field';
import { ValueError } from './values';

// Typed text that is not valid yet, by field. The text and its error are shown until the text is corrected or the
// value changes elsewhere, even if the panel was closed in the meantime.
const drafts = new Map<string, { text: string; shownText: string; badInput: boolean; isBlurred: boolean }>();

/** The number of fields that contain invalid text, which is not saved. */
export const invalidFields = signal(0);

interface Props<T> {
  at: string;
  label: string;
  hideLabel?: boolean;
  hint?: ComponentChildren;
  error?: string | undefined;
  value: T | undefined;
  format(value: T | undefined): string;
  /** Returns the text's value, undefined if the text is empty, or an error. */
  parse(text: string): T | undefined | ValueError;
  set(value: T | undefined): void;
  /** Completes the text on blur. */
  complete?(text: string): string;
  type?: 'text' | 'date' | 'datetime-local' | 'url';
  decimal?: boolean;
  rows?: number;
  code?: boolean;
  placeholder?: string | undefined;
  /** Whether the value changes on blur or Enter instead of with each key press. */
  lazy?: boolean;
  /** A control before the input. */
  prefix?: ComponentChildren;
  /** The input's data-key attribute. */
  name?: string | undefined;
  onKeyDown?(event: KeyboardEvent): void;
  onPaste?(event: ClipboardEvent): void;
}

/** A field for a value that is typed as text. Only valid text changes the value. */
export function DraftField<T>({ at: place, label, hideLabel, hint, error, value, format, parse, set, complete, type = 'text', decimal, rows, code, placeholder, lazy, prefix, name, onKeyDown, onPaste }: Props<T>) {
  const at = route.value + '\n' + place;
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const shown = format(value);
  const parseDraft = (d: { text: string; badInput: boolean }): T | undefined | ValueError => (d.badInput ? new ValueError(t('props.error_date')) : parse(d.text));
  let draft = drafts.get(at);
  const parsed = draft && parseDraft(draft);
  if (draft && (lazy || parsed instanceof ValueError ? draft.shownText !== shown : format(parsed) !== shown)) {
    drafts.delete(at);
    draft = undefined;
  }
  const isInvalid = draft?.isBlurred === true && parsed instanceof ValueError;
  useLayoutEffect(() => {
    if (!isInvalid) return;
    invalidFields.value++;
    return () => void invalidFields.value--;
  }, [isInvalid]);
  const handleInput = (text: string, badInput: boolean, now = !lazy): void => {
    const draft = { text, shownText: shown, badInput, isBlurred: false };
    drafts.set(at, draft);
    const result = parseDraft(draft);
    if (now && !(result instanceof ValueError) && format(result) !== shown) set(result);
    redraw(undefined);
  };
  const handleBlur = (text: string, badInput: boolean): void => {
    const completed = complete?.(text) ?? text;
    if (drafts.has(at) && (lazy || completed !== text)) handleInput(completed, badInput, true);
    const current = drafts.get(at);
    if (current && !(parseDraft(current) instanceof ValueError)) drafts.delete(at);
    else if (current) current.isBlurred = true;
    redraw(undefined);
  };
  const shared = {
    class: code ? 'input code' : 'input',
    value: draft?.text ?? shown,
    placeholder,
    'data-key': name,
    spellcheck: !code,
    dir: (code ? 'ltr' : 'auto') as 'ltr' | 'auto',
    onKeyDown: (e: TargetedKeyboardEvent<HTMLInputElement | HTMLTextAreaElement>) => {
      if (lazy && e.key === 'Enter' && !e.isComposing) handleBlur(e.currentTarget.value, false);
      onKeyDown?.(e);
    },
    onPaste,
    onInput: (e: TargetedEvent<HTMLInputElement | HTMLTextAreaElement>) => handleInput(e.currentTarget.value, e.currentTarget.validity.badInput),
    onBlur: (e: TargetedEvent<HTMLInputElement | HTMLTextAreaElement>) => handleBlur(e.currentTarget.value, e.currentTarget.validity.badInput),
  };
  const message = draft && parsed instanceof ValueError ? parsed.text : error;
  return (
    <Field label={label} hideLabel={hideLabel} hint={hint} error={message}>
      {(ids) => {
        if (rows) return <textarea {...ids} {...shared} rows={rows} />;
        const input = <input {...ids} {...shared} type={type as 'text'} inputMode={decimal ? 'decimal' : undefined} />;
        return prefix ? <span class="color">{prefix}{input}</span> : input;
      }}
    </Field>
  );
}

/** Formats and parses plain text. */
export const plainText = { format: (v: string | undefined): string => v ?? '', parse: (text: string): string | undefined => text || undefined };
