import { signal } from '@preact/signals';

/** The script of the pages of a form, once it is loaded. */
export const loaded = signal<typeof import('../form') | undefined>(undefined);
export const failed = signal(false);

export function load(): void {
  failed.value = false;
  import('../form').then(
    (form) => (loaded.value = form),
    () => (failed.value = true), // no connection, or the server has another version by now
  );
}
