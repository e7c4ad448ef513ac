import assert from 'node:assert/strict';
import { test } from 'node:test';
import de from '../../../words/de.json';
import en from '../../../words/en.json';
import { ApiError, request } from './api';
import { config } from './config';
import { localizeMessage } from './words';

const speak = (faults: Record<string, string>) => (config.words = Object.fromEntries(Object.entries(faults).map(([code, text]) => ['errors.' + code, text])));

test('what the service says is told in the page\'s language, by its code', async () => {
  const said = { path: '/name', code: 'TOO_LONG', message: 'must have at most 200 characters' };
  const fresh = { path: '', code: 'OF_LATER', message: 'something else' };
  speak(en.errors);
  assert.deepEqual([said, fresh].map(localizeMessage), [said, fresh]);
  speak({ ...de.errors, BAD_FORMAT: 'Falsch ({message})' });
  assert.deepEqual(localizeMessage(said), { ...said, message: 'Das ist zu lang.' });
  assert.equal(localizeMessage({ code: 'BAD_FORMAT', message: 'x' }).message, 'Falsch (x)');
  globalThis.fetch = (async () => new Response(JSON.stringify({ code: 'VALIDATION_FAILED', message: 'rules', details: [said, fresh] }), { status: 422 })) as typeof fetch;
  const error = await request('/').catch((e: unknown) => e as ApiError) as ApiError;
  assert.deepEqual([error.message, error.details], ['Etwas an diesen Angaben stimmt nicht.', [{ ...said, message: 'Das ist zu lang.' }, fresh]]);
});
