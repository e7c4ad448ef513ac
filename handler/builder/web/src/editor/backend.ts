import { ApiError, type Answer, request } from '../app/api';
import type { Obj } from './merge';
import type { Backend, Reply } from './store';

/**
 * The form behind the API: a draft itself, else its working copy. A draft that has a working copy, because it
 * was published before, is edited as the copy.
 */
export function formBackend(form: string): Backend {
  const own = '/-/v1/forms/' + form;
  const copy = `/-/copy/${form}/forms/${form}`;
  let target = copy;
  const asked = async (ask: () => Promise<Answer<Obj>>): Promise<Reply> => {
    try {
      const { body, etag } = await ask();
      return { status: 200, etag, body, code: '', message: '', details: [], retryAfter: 0 };
    } catch (e) {
      if (!(e instanceof ApiError)) throw e;
      return { status: e.status, etag: '', body: null, code: e.code, message: e.message, details: e.details, retryAfter: e.retryAfter };
    }
  };
  return {
    async read() {
      const found = await asked(() => request<Obj>(copy));
      // A storage that keeps no working copies answers that there is none.
      if (found.status !== 404 && (found.status !== 200 || (found.body as Obj).status === 'published')) {
        target = copy;
        return found;
      }
      const itself = await asked(() => request<Obj>(own));
      if (itself.status !== 200 || itself.etag === found.etag || found.status === 404) {
        target = own;
        return itself;
      }
      target = copy;
      return found;
    },
    write: (write, etag, keepalive) =>
      asked(() => request<Obj>(target + write.path, { method: write.method, ...(write.body && { body: write.body }), ifMatch: etag, keepalive })),
  };
}
