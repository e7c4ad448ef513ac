import type { ComponentChildren } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import type { Detail } from '../app/api';
import { t } from '../app/words';
import { WarningList } from '../rules/RuleEditor';
import { PropertyField } from './PropertyField';
import { valueAt } from './model';
import { ScopeContext, pointerOf, type Scope } from './scope';

const isWithin = ({ path }: Detail, paths: readonly string[]): boolean => paths.some((p) => path === pointerOf(p) || path.startsWith(pointerOf(p) + '/'));

/**
 * A collapsible section. It is open if it initially has a value or if it contains an error or a warning. children replace the
 * controls for its properties.
 */
export function Section({ title, paths, closed, hint, children }: { title: string; paths: readonly string[]; closed?: boolean; hint?: string | undefined; children?: ComponentChildren }) {
  const scope = useContext(ScopeContext);
  const [open, setOpen] = useState(!closed && paths.some((p) => valueAt(scope.value, p) !== undefined));
  const hasMessage = [...scope.errors, ...scope.warnings].some((d) => isWithin(d, paths));
  useEffect(() => {
    if (hasMessage) setOpen(true);
  }, [hasMessage]);
  if (!children && paths.length > 0 && shownPaths(scope, paths).length === 0) return null;
  return (
    <details class="props-section" open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{title}</summary>
      <div class="props-list">
        {hint && <p class="hint">{hint}</p>}
        {children ?? <PropertyFields paths={paths} />}
      </div>
    </details>
  );
}

/** Returns the paths that the host offers or that have a value. */
export const shownPaths = ({ value, offered }: Pick<Scope, 'value' | 'offered'>, paths: readonly string[]): readonly string[] =>
  offered ? paths.filter((path) => offered(path) || valueAt(value, path) !== undefined) : paths;

/** Shows controls for properties. Values that the host does not offer are read-only. */
export function PropertyFields({ paths }: { paths: readonly string[] }) {
  const scope = useContext(ScopeContext);
  return (
    <>
      {shownPaths(scope, paths).map((path) => (scope.offered?.(path) ?? true)
        ? <PropertyField key={path} path={path} />
        : <fieldset key={path} class="props-fixed" disabled><PropertyField path={path} /><p class="hint">{t('props.not_offered')}</p></fieldset>)}
    </>
  );
}

/** Shows the errors and warnings of values without a control in the panel. */
export function OtherMessages({ shown }: { shown: readonly string[] }) {
  const { errors, warnings } = useContext(ScopeContext);
  const rest = errors.filter((d) => !isWithin(d, shown));
  return (
    <>
      {rest.length > 0 && <div class="notice bad" role="alert">{[...new Set(rest.map((d) => d.message))].join(' ') || t('app.error')}</div>}
      <WarningList list={warnings.filter((d) => !isWithin(d, shown))} />
    </>
  );
}
