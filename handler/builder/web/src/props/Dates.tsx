import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { day as dayOf, t } from '../app/words';
import { Button, IconButton } from '../ui/Button';
import { TextField } from '../ui/Field';
import { readDay, writeDay } from './values';

/** A list of days, each once and in their order. */
export function Dates({ label, hint, fault, value, set }: { at: string; label: string; hint: ComponentChildren; fault: string | undefined; value: readonly unknown[]; set(days: unknown[] | undefined): void }) {
  const [next, setNext] = useState('');
  const add = (): void => {
    const days = new Map(value.map((v) => [readDay(v), v]));
    if (next) set([...days.set(next, days.get(next) ?? writeDay(next))].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, v]) => v));
    setNext('');
  };
  const remove = (i: number): void => {
    const left = value.filter((_, j) => j !== i);
    set(left.length > 0 ? left : undefined);
  };
  return (
    <fieldset class="props-set">
      <legend>{label}</legend>
      {value.length > 0 && (
        <ul class="props-chips">
          {value.map((v, i) => {
            const shown = readDay(v) ? dayOf(readDay(v) + 'T12:00:00') : String(v);
            return <li key={String(v)}>{shown}<IconButton icon="x" label={t('props.remove_this', { label: shown })} onClick={() => remove(i)} /></li>;
          })}
        </ul>
      )}
      <div class="props-add">
        <TextField label={t('props.day')} bare type="date" value={next} onInput={setNext} fault={fault} onKeyDown={(e) => e.key === 'Enter' && (e.preventDefault(), add())} />
        <Button onClick={add}>{t('props.add')}</Button>
      </div>
      {hint && <p class="hint">{hint}</p>}
    </fieldset>
  );
}
