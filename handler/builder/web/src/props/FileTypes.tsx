import type { ComponentChildren } from 'preact';
import { t } from '../app/words';
import { DraftField } from './DraftField';
import { parseList } from './values';

const typeGroups: Record<string, readonly string[]> = {
  images: ['image/*'], pdf: ['.pdf'], documents: ['.doc', '.docx', '.odt', '.rtf', '.txt'], spreadsheets: ['.xls', '.xlsx', '.ods', '.csv'], audio: ['audio/*'], video: ['video/*'], archives: ['.zip'],
};

/** Edits the allowed file types. There are buttons for common types, and any type can be typed as text. */
export function FileTypes({ at, label, hint, error, value, set }: { at: string; label: string; hint: ComponentChildren; error: string | undefined; value: readonly string[]; set(types: string[] | undefined): void }) {
  return (
    <fieldset class="props-set">
      <legend>{label}</legend>
      <div class="row">
        {Object.entries(typeGroups).map(([kind, types]) => {
          const on = types.every((type) => value.includes(type));
          const others = value.filter((v) => !types.includes(v));
          const toggled = on ? others : [...others, ...types];
          return <button key={kind} type="button" class="button small" aria-pressed={on} onClick={() => set(toggled.length > 0 ? toggled : undefined)}>{t('props.files_' + kind)}</button>;
        })}
      </div>
      <DraftField at={at} label={label} hideLabel value={value.length > 0 ? [...value] : undefined} format={(v) => (v ?? []).join(', ')} parse={parseList} set={set} placeholder={t('props.all_files')} hint={hint} error={error} />
    </fieldset>
  );
}
