import type { ComponentChildren } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { t } from '../app/words';
import { Member } from './Member';
import { valueAt } from './model';
import { Here, pointer, type Scope } from './scope';

const faulty = (scope: Scope, paths: readonly string[]): boolean =>
  paths.some((p) => scope.faults.some((d) => d.path === pointer(p) || d.path.startsWith(pointer(p) + '/')));

/** A part of a panel that opens: by hand, where it has a value at first, and where something in it is wrong. children are drawn in place of its members. */
export function Section({ title, paths, closed, hint, children }: { title: string; paths: readonly string[]; closed?: boolean; hint?: string | undefined; children?: ComponentChildren }) {
  const scope = useContext(Here);
  const [open, setOpen] = useState(!closed && paths.some((p) => valueAt(scope.value, p) !== undefined));
  const wrong = faulty(scope, paths);
  useEffect(() => {
    if (wrong) setOpen(true);
  }, [wrong]);
  return (
    <details class="props-section" open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{title}</summary>
      <div class="props-list">
        {hint && <p class="hint">{hint}</p>}
        {children ?? <Members paths={paths} />}
      </div>
    </details>
  );
}

export const Members = ({ paths }: { paths: readonly string[] }) => <>{paths.map((path) => <Member key={path} path={path} />)}</>;

/** Says what is wrong with something that has no control in the panel. */
export function Rest({ shown }: { shown: readonly string[] }) {
  const { faults } = useContext(Here);
  const rest = faults.filter((d) => !shown.some((p) => d.path === pointer(p) || d.path.startsWith(pointer(p) + '/')));
  if (rest.length === 0) return null;
  return <div class="notice bad" role="alert">{[...new Set(rest.map((d) => d.message))].join(' ') || t('app.error')}</div>;
}
