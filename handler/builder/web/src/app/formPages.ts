import { signal } from '@preact/signals';

/** The script of the pages of a form, once it is loaded. */
export const formPages = signal<typeof import('../form') | undefined>(undefined);
export const formPagesFailed = signal(false);

export function loadFormPages(): void {
  formPagesFailed.value = false;
  import('../form').then(
    (form) => (formPages.value = form),
    () => (formPagesFailed.value = true), // no connection, or the server has another version by now
  );
}
