import type { ComponentChildren } from 'preact';
import { t } from '../app/words';
import { Draft } from './Draft';
import { readTexts } from './values';

const kinds: Record<string, readonly string[]> = {
  pictures: ['image/*'], pdf: ['.pdf'], documents: ['.doc', '.docx', '.odt', '.rtf', '.txt'], tables: ['.xls', '.xlsx', '.ods', '.csv'], audio: ['audio/*'], films: ['video/*'], archives: ['.zip'],
};

/** Types of files: the usual ones as buttons, all as text. */
export function Files({ at, label, hint, fault, value, set }: { at: string; label: string; hint: ComponentChildren; fault: string | undefined; value: readonly string[]; set(types: string[] | undefined): void }) {
  return (
    <fieldset class="props-set">
      <legend>{label}</legend>
      <div class="row">
        {Object.entries(kinds).map(([kind, types]) => {
          const on = types.every((type) => value.includes(type));
          const others = value.filter((v) => !types.includes(v));
          const toggled = on ? others : [...others, ...types];
          return <button key={kind} type="button" class="button small" aria-pressed={on} onClick={() => set(toggled.length > 0 ? toggled : undefined)}>{t('props.files_' + kind)}</button>;
        })}
      </div>
      <Draft at={at} label={label} bare value={value.length > 0 ? [...value] : undefined} show={(v) => (v ?? []).join(', ')} read={readTexts} set={set} placeholder={t('props.all_files')} hint={hint} fault={fault} />
    </fieldset>
  );
}
