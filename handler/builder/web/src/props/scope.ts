// The values, errors and changes that a panel's controls share.
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Detail } from '../app/api';
import { config } from '../app/config';
import { t } from '../app/words';
import { groups } from '../editor/blockTypes';
import type { Obj } from '../app/json';
import { valueAt } from './model';
import type { Property } from './props.gen';

export interface Scope {
  /** Keeps text typed in different panels apart. */
  id: string;
  value: Obj;
  /** The block type, or '' if the value is not a block. */
  type: string;
  /** Errors and warnings, with JSON Pointers into the value. */
  errors: readonly Detail[];
  warnings: readonly Detail[];
  /** Reports whether the host offers a property. If undefined, it offers everything. */
  offered?(path: string): boolean;
  row(path: string): Property | undefined;
  /** Sets values by path. undefined removes a value. */
  set(changes: Obj): void;
}

export const ScopeContext = createContext<Scope>(undefined as unknown as Scope);

export const pointerOf = (path: string): string => '/' + path.replaceAll('.', '/');

export const messagesAt = (list: readonly Detail[], pointers: readonly string[], within: boolean): string | undefined =>
  list.filter((d) => pointers.some((p) => d.path === p || (within && d.path.startsWith(p + '/')))).map((d) => d.message).join(' ') || undefined;

/** Returns a property with its errors and warnings, including the ones for other paths that its control sets. */
export function useProperty(path: string, otherPaths: readonly string[] = [], within = false) {
  const scope = useContext(ScopeContext);
  const pointers = [path, ...otherPaths].map(pointerOf);
  return {
    scope,
    value: valueAt(scope.value, path),
    row: scope.row(path),
    error: messagesAt(scope.errors, pointers, within),
    warning: messagesAt(scope.warnings, pointers, within),
    pointers: pointers.join(' '),
  };
}

const hasWord = (key: string): boolean => config.words['props.' + key] !== undefined;

/** Returns the word key for a property: specific to the block type, to its group, or for all types. */
function wordKey(path: string, type: string): string {
  const name = path.replace(/^properties\./, '').replace('colors.dark.', 'colors.').replaceAll('.', '_');
  const group = groups.find((g) => g.types.includes(type))?.name ?? '';
  return [`${name}_${type}`, `${name}_in_${group}`].find((key) => type !== '' && hasWord(key)) ?? name;
}

export const labelOf = (path: string, type: string): string => t('props.' + wordKey(path, type));

export function hintOf(path: string, type: string): string | undefined {
  const key = [wordKey(path, type) + '_hint', path.replace(/^properties\./, '').replaceAll('.', '_') + '_hint'].find(hasWord);
  return key && t('props.' + key);
}
