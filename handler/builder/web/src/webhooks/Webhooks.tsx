export function Webhooks({ form }: { form: string; view: string }) {
  return <p>{form}</p>;
}
