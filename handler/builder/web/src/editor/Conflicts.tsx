import { t } from '../app/words';
import { Button } from '../ui/Button';
import { typeName } from './kinds';
import { find, type Path } from './merge';
import { nameOf } from './places';
import type { EditorStore } from './store';

/** What was changed here and elsewhere: both values, until somebody says which counts. */
export function Conflicts({ store }: { store: EditorStore }) {
  const list = store.conflicts.value;
  if (list.length === 0) return null;
  return (
    <div class="conflicts" role="alert">
      <h2>{t('editor.conflicts')}</h2>
      {list.map((c) => (
        <div key={c.path.join('/')} class="conflict">
          <h3>{placeName(store, c.path)}</h3>
          {(['theirs', 'mine'] as const).map((side) => (
            <div key={side}>
              <p class="muted">{t('editor.conflict_' + side)}</p>
              <pre class="value">{shown(c[side])}</pre>
              <Button onClick={() => store.resolve(c.path, side)}>{t('editor.take_' + side)}</Button>
            </div>
          ))}
        </div>
      ))}
    </div>
  );
}

function shown(value: unknown): string {
  if (value === undefined) return t('editor.conflict_removed');
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

function placeName(store: EditorStore, path: Path): string {
  const content = store.shown.value;
  const block = path[0] === 'blocks' && path[1] && content ? find(content, path[1])?.block : undefined;
  const rest = path.slice(block ? 2 : 0);
  return [block ? nameOf(block, typeName) : '', ...rest].filter(Boolean).join(' › ');
}
