export function Versions({ form }: { form: string; view: string }) {
  return <p>{form}</p>;
}
