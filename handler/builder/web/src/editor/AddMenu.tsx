import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { offers } from '../app/config';
import { t } from '../app/words';
import { Dialog } from '../ui/Dialog';
import { Icon } from '../ui/Icon';
import { groups, iconOf, typeName } from './blockTypes';

/** A dialog with all block types. Typing filters them, and arrow keys select one. */
export function AddMenu({ title, onChoose, onClose }: { title: string; onChoose(type: string): void; onClose(): void }) {
  const search = useSignal('');
  const activeIndex = useSignal(0);
  const list = useRef<HTMLDivElement>(null);
  const query = search.value.trim().toLocaleLowerCase();
  const found = groups
    .map((g) => ({ name: g.name, types: g.types.filter((type) => offers('block_types', type) && `${typeName(type)} ${type}`.toLocaleLowerCase().includes(query)) }))
    .filter((g) => g.types.length > 0);
  const shownTypes = found.flatMap((g) => g.types);
  const active = shownTypes[Math.min(activeIndex.value, shownTypes.length - 1)];

  const handleKey = (e: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (step !== undefined && shownTypes.length > 0) {
      activeIndex.value = (Math.min(activeIndex.value, shownTypes.length - 1) + step + shownTypes.length) % shownTypes.length;
      list.current?.querySelector(`[data-type="${shownTypes[activeIndex.value]}"]`)?.scrollIntoView({ block: 'nearest' });
    } else if (e.key === 'Enter' && active) onChoose(active);
    else return;
    e.preventDefault();
  };

  return (
    <Dialog title={title} onClose={onClose} wide>
      <input
        class="input"
        type="text"
        role="combobox"
        aria-expanded={shownTypes.length > 0}
        aria-controls={shownTypes.length > 0 ? 'add-list' : undefined}
        aria-activedescendant={active && 'add-' + active}
        aria-label={t('editor.add_search')}
        placeholder={t('editor.add_search')}
        value={search.value}
        onInput={(e) => ((search.value = e.currentTarget.value), (activeIndex.value = 0))}
        onKeyDown={handleKey}
      />
      {shownTypes.length === 0 && <p class="muted">{t('editor.add_none')}</p>}
      {shownTypes.length > 0 && (
        <div id="add-list" class="add-list" role="listbox" aria-label={t('editor.add_types')} ref={list}>
          {found.map((g) => (
            <div key={g.name} role="group" aria-label={t('props.group_' + g.name)}>
              <h3 aria-hidden="true">{t('props.group_' + g.name)}</h3>
              <div class="add-types" role="presentation">
                {g.types.map((type) => (
                  <button key={type} id={'add-' + type} data-type={type} type="button" role="option" tabIndex={-1} aria-selected={type === active} class="add-type" onClick={() => onChoose(type)}>
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
