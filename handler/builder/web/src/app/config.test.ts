import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readConfig } from './config';

test('addresses begin where the browser is, whatever a proxy has taken away', () => {
  for (const [said, address, base] of [
    ['./', 'https://host.example/forms/', '/forms'],
    ['./', 'https://host.example/pub/forms/?x=/a/b#c', '/pub/forms'],
    ['../', 'https://host.example/pub/a%20caf%C3%A9/0123/results?from=1', '/pub/a%20caf%C3%A9'],
    ['./', 'https://forms.example/', ''],
  ] as const) {
    const config = readConfig(JSON.stringify({ base: said, home: '' }), address);
    assert.deepEqual([config.base, config.home], [base, base + '/'], address);
  }
  assert.equal(readConfig('{"base":"./","home":"https://host.example/"}', 'https://host.example/forms/').home, 'https://host.example/');
});
