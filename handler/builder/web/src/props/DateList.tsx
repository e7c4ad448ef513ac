import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { formatDate as dayOf, t } from '../app/words';
import { Button, IconButton } from '../ui/Button';
import { TextField } from '../ui/Field';
import { timeToDay, dayToTime } from './values';

/** Edits a sorted list of days without duplicates. */
export function DateList({ label, hint, error, value, set }: { label: string; hint: ComponentChildren; error: string | undefined; value: readonly unknown[]; set(days: unknown[] | undefined): void }) {
  const [next, setNext] = useState('');
  const add = (): void => {
    const days = new Map(value.map((v) => [timeToDay(v), v]));
    if (next) set([...days.set(next, days.get(next) ?? dayToTime(next))].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, v]) => v));
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
            const shown = timeToDay(v) ? dayOf(timeToDay(v) + 'T12:00:00') : String(v);
            return <li key={String(v)}>{shown}<IconButton icon="x" label={t('props.remove_this', { label: shown })} onClick={() => remove(i)} /></li>;
          })}
        </ul>
      )}
      <div class="props-add">
        <TextField label={t('props.day')} hideLabel type="date" value={next} onInput={setNext} error={error} onKeyDown={(e) => e.key === 'Enter' && (e.preventDefault(), add())} />
        <Button onClick={add}>{t('props.add')}</Button>
      </div>
      {hint && <p class="hint">{hint}</p>}
    </fieldset>
  );
}
