import { signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { ApiError, type Page } from '../app/api';
import { t } from '../app/words';
import { Button } from './Button';
import { Icon, type IconName } from './Icon';

/** Shown while loading. CSS briefly delays it. */
export function Loading({ label = t('app.loading') }: { label?: string }) {
  return (
    <p class="loading" role="status">
      <Icon name="loader-circle" /> {label}
    </p>
  );
}

export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** Returns a text for an error in the page's language. */
export function errorText(error: unknown): string {
  if (!(error instanceof ApiError)) return t('app.error');
  if (error.status === 0) return t('app.offline');
  if (error.status === 401) return t('app.signed_out');
  if (error.status === 404) return t('app.not_found');
  if (error.status === 429) return t('app.rate_limited');
  if (error.status >= 500) return t('app.unavailable');
  return error.details.length > 0 ? error.details.map((d) => d.message).join(' ') : error.message;
}

/** Reports whether an error means that something does not exist, or that the user has no access to it. */
export const isMissing = (error: unknown): boolean => error instanceof ApiError && error.status === 404;

/** Shows an error. The button retry is omitted if trying again cannot help. */
export function ErrorNotice({ error, retry }: { error: unknown; retry?: () => void }) {
  return (
    <div class="notice bad" role="alert">
      <Icon name="circle-alert" />
      <span>{errorText(error)}</span>
      {retry && !isMissing(error) && <Button onClick={retry}>{t('app.try_again')}</Button>}
    </div>
  );
}

/** The state of a read. value is undefined until the read succeeds. */
export interface Loaded<T> {
  value?: T;
  error?: unknown;
  loading: boolean;
  reload(): void;
}

/** Calls run for each document event of the given type. */
export function useDocumentEvent<K extends keyof DocumentEventMap>(type: K, run: (e: DocumentEventMap[K]) => void): void {
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    const listener = (e: DocumentEventMap[K]) => latest.current(e);
    document.addEventListener(type, listener);
    return () => document.removeEventListener(type, listener);
  }, [type]);
}

/** Calls run when the user returns to the page. The result stops this. */
export function onReturn(run: () => void): () => void {
  const listener = () => document.visibilityState === 'visible' && run();
  addEventListener('focus', listener);
  document.addEventListener('visibilitychange', listener);
  return () => {
    removeEventListener('focus', listener);
    document.removeEventListener('visibilitychange', listener);
  };
}

/** Moves the focus to the page if new content removed the focused element. */
export function useKeepFocus(shown: unknown): void {
  const before = useRef<unknown>(undefined);
  useEffect(() => {
    if (before.current !== undefined && document.activeElement === document.body) document.getElementById('main')?.focus({ preventScroll: true });
    before.current = shown;
  }, [shown]);
}

/** Reads when the component is first rendered and when an input changes. Late responses are ignored. */
export function useLoaded<T>(read: () => Promise<T>, inputs: readonly unknown[]): Loaded<T> {
  const state = useSignal<{ value?: T; error?: unknown; loading: boolean }>({ loading: true });
  const reloads = useSignal(0);
  useEffect(() => {
    let isCurrent = true;
    state.value = { ...state.peek(), loading: true };
    read().then(
      (value) => isCurrent && (state.value = { value, loading: false }),
      (error: unknown) => isCurrent && (state.value = { error, loading: false }),
    );
    return () => void (isCurrent = false);
  }, [...inputs, reloads.value]);
  useKeepFocus(state.value.value);
  return { ...state.value, reload: () => ((state.value = { ...state.peek(), loading: true }), void reloads.value++) };
}

/** The loaded part of a list. */
export interface Pages<T> {
  items: T[];
  more: boolean;
  loading: boolean;
  error?: unknown;
  /** Reads the next page, or retries after an error. */
  next(): void;
  reload(): void;
  remove(id: unknown): void;
}

/** Reads the first page of a list, and again when the key changes. Items that are on two pages are shown once. */
export function usePages<T>(read: (cursor: string | null) => Promise<Page<T>>, key: string, idOf: (item: T) => unknown): Pages<T> {
  type State = { items: T[]; cursor: string | null; loading: boolean; error?: unknown };
  const empty: State = { items: [], cursor: null, loading: true };
  const state = useSignal(empty);
  const lastRequest = useRef(0);
  const loadPage = async (from: State) => {
    const request = ++lastRequest.current;
    const isCurrent = () => lastRequest.current === request;
    state.value = { items: from.items, cursor: from.cursor, loading: true };
    try {
      const found = await read(from.cursor);
      if (!isCurrent()) return;
      const { items } = state.peek(); // items may have been removed in the meantime
      const known = new Set(items.map(idOf));
      state.value = { items: [...items, ...found.items.filter((item) => !known.has(idOf(item)))], cursor: found.page.next_cursor, loading: false };
    } catch (error) {
      if (isCurrent()) state.value = { ...state.peek(), loading: false, error };
    }
  };
  useEffect(() => void loadPage(empty), [key]);
  const { cursor, ...now } = state.value;
  useKeepFocus(now.items.length > 0 ? now.items : undefined);
  return {
    ...now, more: cursor !== null,
    next: () => void (state.peek().loading || loadPage(state.peek())),
    reload: () => void loadPage(empty),
    remove: (id) => void (state.value = { ...state.peek(), items: state.peek().items.filter((item) => idOf(item) !== id) }),
  };
}

interface Toast {
  text: string;
  undo?: (() => void) | undefined;
}

const toast = signal<Toast | undefined>();
let toastTimer: ReturnType<typeof setTimeout> | undefined;

/** Shows a message for eight seconds, with an undo button if undo is set. */
export function showToast(text: string, undo?: () => void): void {
  clearTimeout(toastTimer);
  toast.value = { text, undo };
  toastTimer = setTimeout(() => (toast.value = undefined), 8000);
}

/** Waits for an action. If it fails, a message says why. */
export const attempt = (action: Promise<unknown>): Promise<void> => action.then(() => undefined, (error: unknown) => showToast(errorText(error)));

/** Hides a message with an undo button, because the undo no longer works. */
export function dismissUndo(): void {
  if (toast.peek()?.undo) toast.value = undefined;
}

export function Toasts() {
  const now = toast.value;
  return (
    <div class="toasts" role="status">
      {now && (
        <div class="toast">
          <span>{now.text}</span>
          {now.undo && <Button kind="quiet" icon="undo-2" onClick={() => ((toast.value = undefined), now.undo!())}>{t('app.undo')}</Button>}
        </div>
      )}
    </div>
  );
}
