import type { Json } from '../app/records';
import { t } from '../app/words';
import { Button } from '../ui/Button';
import { fieldName, RuleText, ConflictSide } from './differences';
import { typeName } from './blockTypes';
import { type Content, findNode, type Path } from './content';
import type { Conflict } from './operations';
import { blockLabel } from './positions';
import type { EditorStore } from './store';

/** Shows both sides of each conflict until the user chooses one. */
export function Conflicts({ store }: { store: EditorStore }) {
  const list = store.conflicts.value;
  if (list.length === 0) return null;
  return (
    <div class="conflicts" role="alert">
      <h2>{t('editor.conflicts')}</h2>
      {list.map((c) => (
        <div key={c.path.join('/')} class="conflict">
          <h3>{conflictTitle(store, c.path)}</h3>
          {(['theirs', 'mine'] as const).map((side) => (
            <div key={side}>
              <p class="muted">{t('editor.conflict_' + side)}</p>
              <ConflictValue of={c} value={c[side] as Json | undefined} text={store.shown.value as Content} />
              <Button onClick={() => store.resolve(c.path, side)}>{t('editor.keep_' + side)}</Button>
            </div>
          ))}
        </div>
      ))}
    </div>
  );
}

const isRule = (path: Path): boolean => path[0] === 'blocks' && path[2] === 'properties' && path[3] === 'rule';

function ConflictValue({ of: { path, base }, value, text }: { of: Conflict; value: Json | undefined; text: Content }) {
  if (value === undefined) return <pre class="value">{t('editor.conflict_removed')}</pre>;
  if (isRule(path)) return <RuleText value={value} path={path.slice(4)} text={text} />;
  if (path[0] === 'blocks' && path.length === 2) return <ConflictSide value={value} other={(base ?? null) as Json} path={['definition', ...path]} text={text} />;
  return <pre class="value">{typeof value === 'string' ? value : JSON.stringify(value, null, 2)}</pre>;
}

function conflictTitle(store: EditorStore, path: Path): string {
  const content = store.shown.value;
  const block = path[0] === 'blocks' && path[1] && content ? findNode(content, path[1])?.block : undefined;
  const rest = isRule(path) ? [fieldName(path.slice(2, 4))] : path.slice(block ? 2 : 0);
  return [block ? blockLabel(block, typeName) : '', ...rest].filter(Boolean).join(' › ');
}
