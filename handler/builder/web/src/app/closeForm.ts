import { api, ApiError } from './api';
import type { Form, JsonObject } from './records';

/** Closes or reopens a form immediately, without publishing. Returns whether the form is closed. */
export async function setClosed(form: string, closed: boolean): Promise<boolean> {
  for (let attempt = 0; ; attempt++) {
    const { body, etag } = await api<Form>('/forms/' + form);
    const settings: JsonObject = { ...body.definition.settings, closed };
    if (!closed && settings.openAt !== undefined && new Date(String(settings.openAt)) > new Date()) delete settings.openAt;
    if (!closed && settings.closeAt !== undefined && new Date(String(settings.closeAt)) <= new Date()) delete settings.closeAt;
    try {
      return (await api<Form>('/forms/' + form, { method: 'PATCH', ifMatch: etag, body: { definition: { settings } } })).body.is_closed;
    } catch (e) {
      if (!(e instanceof ApiError && e.status === 412 && attempt < 5)) throw e;
    }
  }
}
