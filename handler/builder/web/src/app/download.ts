import type { Definition } from './records';

/** Returns a form as JSON that the dialog for a new form can import. */
export const formToJSON = ({ name, type, definition }: { name: string; type: string; definition: Definition }): string => JSON.stringify({ name, type, definition }, undefined, 2);

export function downloadForm(form: Parameters<typeof formToJSON>[0]): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([formToJSON(form)], { type: 'application/json' }));
  link.download = form.name + '.json'; // browsers replace characters that the system does not allow
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // Safari reads the file later
}
