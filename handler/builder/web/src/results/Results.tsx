export function Results({ form }: { form: string; view: string }) {
  return <p>{form}</p>;
}
