export function Editor({ form }: { form: string; view: string }) {
  return <p>{form}</p>;
}
