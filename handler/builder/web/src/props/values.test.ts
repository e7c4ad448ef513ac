import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { contrastPairs } from './contrast';
import type { Obj } from '../app/json';
import { completeURL, countries, ValueError, parseAmount, parseCurrency, timeToDay, parseHexColor, inputToTime, parseNumber, parseList, parseURL, timeToInput, dayToTime } from './values';
import cases from './testdata/contrast.json';

test('days are those of the service', () => {
  assert.equal(timeToDay('2026-02-28T23:00:00Z', 'Europe/Berlin'), '2026-03-01');
  assert.equal(timeToDay('2026-03-01T05:00:00Z', 'America/New_York'), '2026-03-01');
  assert.equal(timeToDay('2026-03-29T22:00:00Z', 'Europe/Berlin'), '2026-03-30'); // summer time
  assert.equal(timeToDay('2026-03-01T23:59:00-11:00', 'Europe/Berlin'), '2026-03-01'); // as it is written
  assert.equal(timeToDay(dayToTime('2026-03-01'), 'Pacific/Kiritimati'), '2026-03-01');
  assert.equal(timeToDay('0099-03-01T12:00:00Z', 'UTC'), '0099-03-01');
  assert.equal(timeToDay('no day', 'UTC'), '');
  assert.match(timeToDay('2026-03-01T12:00:00Z', 'Local'), /^2026-0/); // a zone that no browser knows
  const at = '2026-05-01T10:30:00Z';
  assert.equal(inputToTime(timeToInput(at)), at);
});

test('texts that are no values', () => {
  const wrong = (v: unknown): boolean => v instanceof ValueError;
  for (const text of ['', ' ']) assert.equal(parseNumber(text), undefined);
  assert.deepEqual([parseNumber('-2,5'), parseNumber('+3'), parseNumber('.5'), parseNumber(' 7 ')], [-2.5, 3, 0.5, 7]);
  for (const text of ['1.2.3', 'x', '1e5', '0x10', '--1', '9'.repeat(400)]) assert.ok(wrong(parseNumber(text)), text);
  assert.ok(wrong(parseNumber('9007199254740993', { integer: true })));
  assert.ok(wrong(parseNumber('0', { above: 0 })));
  for (const text of ['https://example.com', 'http://[::1]:8080/x?y#z', 'HTTPS://EXAMPLE.COM', 'https://exämple.com/ä']) assert.equal(parseURL(text), text);
  for (const text of ['example.com', '//example.com', 'https:///x', 'https://a:b@example.com', 'https://example.com\\x', 'https://example.com:99999', 'javascript:alert(1)', 'mailto:a@example.com', 'https://example.com/"x']) assert.ok(wrong(parseURL(text)), text);
  assert.equal(parseURL('mailto:a@example.com', true), 'mailto:a@example.com');
  assert.ok(wrong(parseURL('javascript:alert(1)', true)));
  assert.deepEqual(['example.com/a?b', 'ann@example.com', 'https://x', 'word'].map(completeURL), ['https://example.com/a?b', 'mailto:ann@example.com', 'https://x', 'word']);
  assert.ok(wrong(parseHexColor('red')) && wrong(parseHexColor('#12345')) && parseHexColor('#aBc') === '#aBc');
  assert.ok(wrong(parseAmount('1.')) && wrong(parseAmount('-1')) && parseAmount('10,50') === '10.50');
  assert.ok(wrong(parseCurrency('euro')) && parseCurrency('eur') === 'EUR');
  assert.deepEqual(parseList(' .pdf, image/* ;png'), ['.pdf', 'image/*', 'png']);
  assert.equal(parseList(' , '), undefined);
});

test('the countries are those of ISO 3166-1, and Kosovo', () => {
  const codes = countries().map(([code]) => code);
  assert.equal(codes.length, 250);
  for (const code of ['NL', 'XK', 'GB', 'ZW']) assert.ok(codes.includes(code), code);
  for (const code of ['EU', 'UK', 'DD', 'ZZ', 'SU']) assert.ok(!codes.includes(code), code);
});

// The page's own program, in Go, is held to the same cases.
test('contrast is what the page makes of it', () => {
  const made = (cases as { theme: Obj }[]).map(({ theme }) => {
    const used = (look: 'light' | 'dark') => Object.fromEntries(contrastPairs(theme, look).map((p) => [p.name, p.used]));
    return { theme, light: used('light'), dark: used('dark') };
  });
  if (process.env.UPDATE) writeFileSync('src/props/testdata/contrast.json', `[\n${made.map((c) => JSON.stringify(c)).join(',\n')}\n]\n`);
  else assert.deepEqual(made, cases);
  const plain = contrastPairs({}, 'light');
  assert.ok(plain.every((p) => p.ratio >= p.min && p.used === p.original));
  assert.equal(contrastPairs({ colors: { background: '#ffffff', text: '#777777' } }, 'light').find((p) => p.name === 'text')!.ratio.toFixed(2), '4.48');
});
