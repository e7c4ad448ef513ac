// What the controls of a panel share: where values are, what is wrong with them, how they change.
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Detail } from '../app/api';
import { config } from '../app/config';
import { t } from '../app/words';
import type { Obj } from '../app/json';
import { valueAt } from './model';
import { types, type Property } from './props.gen';

export interface Scope {
  /** Tells what is typed into one panel from what is typed into another. */
  id: string;
  value: Obj;
  /** The type of the block, '' where it is none. */
  type: string;
  /** Faults and warnings, by JSON Pointer into the value. */
  faults: readonly Detail[];
  notes: readonly Detail[];
  row(path: string): Property | undefined;
  /** Changes members by their paths; undefined removes. */
  set(changes: Obj): void;
}

export const Here = createContext<Scope>(undefined as unknown as Scope);

export const pointer = (path: string): string => '/' + path.replaceAll('.', '/');

const at = (list: readonly Detail[], pointers: readonly string[], within: boolean): string | undefined =>
  list.filter((d) => pointers.some((p) => d.path === p || (within && d.path.startsWith(p + '/')))).map((d) => d.message).join(' ') || undefined;

/** A member by its path, with what is said of it and of others that its control sets too. */
export function useMember(path: string, also: readonly string[] = [], within = false) {
  const scope = useContext(Here);
  const pointers = [path, ...also].map(pointer);
  return {
    scope,
    value: valueAt(scope.value, path),
    row: scope.row(path),
    fault: at(scope.faults, pointers, within),
    note: at(scope.notes, pointers, within),
    pointers: pointers.join(' '),
  };
}

const known = (key: string): boolean => config.words['props.' + key] !== undefined;

/** The key of a member's words: those of the type, of its group, or of all. */
function wordOf(path: string, type: string): string {
  const name = path.replace(/^properties\./, '').replace('colors.dark.', 'colors.').replaceAll('.', '_');
  const group = types[type]?.group ?? '';
  return [`${name}_${type}`, `${name}_in_${group}`].find((key) => type !== '' && known(key)) ?? name;
}

export const labelOf = (path: string, type: string): string => t('props.' + wordOf(path, type));

export function hintOf(path: string, type: string): string | undefined {
  const key = [wordOf(path, type) + '_hint', path.replace(/^properties\./, '').replaceAll('.', '_') + '_hint'].find(known);
  return key && t('props.' + key);
}
