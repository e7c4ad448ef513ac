import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { t } from '../app/words';
import { Dialog } from '../ui/Dialog';
import { Icon } from '../ui/Icon';
import { iconOf, kindGroups, typeName } from './kinds';

/** All types of blocks: searched by typing, chosen by arrows and Enter, or pressed. */
export function AddMenu({ title, onChoose, onClose }: { title: string; onChoose(type: string): void; onClose(): void }) {
  const search = useSignal('');
  const at = useSignal(0);
  const list = useRef<HTMLDivElement>(null);
  const wanted = search.value.trim().toLocaleLowerCase();
  const groups = kindGroups
    .map((g) => ({ name: g.name, types: g.types.filter((type) => `${typeName(type)} ${type}`.toLocaleLowerCase().includes(wanted)) }))
    .filter((g) => g.types.length > 0);
  const flat = groups.flatMap((g) => g.types);
  const chosen = flat[Math.min(at.value, flat.length - 1)];

  const key = (e: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (by !== undefined && flat.length > 0) {
      at.value = (Math.min(at.value, flat.length - 1) + by + flat.length) % flat.length;
      list.current?.querySelector(`[data-type="${flat[at.value]}"]`)?.scrollIntoView({ block: 'nearest' });
    } else if (e.key === 'Enter' && chosen) onChoose(chosen);
    else return;
    e.preventDefault();
  };

  return (
    <Dialog title={title} onClose={onClose} wide>
      <input
        class="input"
        type="text"
        role="combobox"
        aria-expanded={flat.length > 0}
        aria-controls={flat.length > 0 ? 'add-list' : undefined}
        aria-activedescendant={chosen && 'add-' + chosen}
        aria-label={t('editor.add_search')}
        placeholder={t('editor.add_search')}
        value={search.value}
        onInput={(e) => ((search.value = e.currentTarget.value), (at.value = 0))}
        onKeyDown={key}
      />
      {flat.length === 0 && <p class="muted">{t('editor.add_none')}</p>}
      {flat.length > 0 && (
        <div id="add-list" class="add-list" role="listbox" aria-label={t('editor.add_types')} ref={list}>
          {groups.map((g) => (
            <div key={g.name} role="group" aria-label={t('props.group_' + g.name)}>
              <h3 aria-hidden="true">{t('props.group_' + g.name)}</h3>
              <div class="add-types" role="presentation">
                {g.types.map((type) => (
                  <button key={type} id={'add-' + type} data-type={type} type="button" role="option" tabIndex={-1} aria-selected={type === chosen} class="add-type" onClick={() => onChoose(type)}>
                    <Icon name={iconOf(type)} />
                    {typeName(type)}
                  </button>
                ))}
              </div>
            </div>
          ))}
        </div>
      )}
    </Dialog>
  );
}
