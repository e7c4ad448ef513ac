import { t } from '../app/words';
import { typeName } from './blockTypes';
import { fieldName } from './differences';
import type { Violation } from './operations';
import { blockLabel } from './positions';
import type { EditorStore } from './store';

/** Lists the violations in rejected edits, with the names of their parts. If onChoose is set, it opens a block. */
export function Problems({ store, of = store.errors.value, onChoose }: { store: EditorStore; of?: readonly Violation[]; onChoose?(id: string): void }) {
  return (
    <ul class="problems">
      {of.map(({ path, message }) => {
        const block = path[0] === 'blocks' && path[1] ? store.find(path[1])?.block : undefined;
        const field = block ? path.slice(2) : path[0] !== 'blocks' && (path.length > 1 || path[0] === 'name') ? path : [];
        const name = [...(block ? [blockLabel(block, typeName)] : []), ...(field.length > 0 ? [fieldName([...field])] : [])].join(' › ');
        return (
          <li key={path.join('/') + message}>
            <b dir="auto">{name}</b> <span dir="auto">{message}</span>{' '}
            {block && onChoose && <button type="button" class="text-button" aria-label={`${t('editor.show_problem')}: ${name}`} onClick={() => onChoose(block.id)}>{t('editor.show_problem')}</button>}
          </li>
        );
      })}
    </ul>
  );
}

/** Reports whether no field and no row of the outline shows a violation. */
export const isGeneral = (store: EditorStore, { path }: Violation): boolean =>
  path[0] === 'blocks' ? !store.find(path[1] ?? '') : path.length < 2 && path[0] !== 'name';
