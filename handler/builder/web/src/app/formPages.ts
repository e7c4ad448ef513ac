import { signal } from '@preact/signals';

/** The script for a form's pages. It is undefined until it is loaded. */
export const formPages = signal<typeof import('../form') | undefined>(undefined);
export const formPagesFailed = signal(false);

export function loadFormPages(): void {
  formPagesFailed.value = false;
  import('../form').then(
    (form) => (formPages.value = form),
    () => (formPagesFailed.value = true), // offline, or the server has been updated
  );
}
