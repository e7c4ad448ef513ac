import '../props/dom.test';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Node } from '../props/dom.test';
import { editMarkedText, sourceOf } from './markedText';

const labels: Record<string, string> = { 'answers.a': 'Name', today: 'Today' };

function edit(value: string, multiline = true) {
  const element = new Node('div');
  const written: string[] = [];
  const editor = editMarkedText(element as never, { value, multiline, labelOf: (name) => labels[name.trim()], onInput: (source) => written.push(source) });
  const change = (inputType: string, data?: string): void => element.fire('beforeinput', { inputType, getTargetRanges: () => [], dataTransfer: { getData: () => data } });
  return { element, editor, written, change, chips: () => element.childNodes.filter((n) => n.dataset.source !== undefined).map((n) => n.textContent) };
}

test('an element shows exactly its source, with insertions as chips', () => {
  for (const [source, chips] of [
    ['', []], ['a', []], ['a\n', []], ['\n\n', []], ['a\u00a0 b\u200b', []], ['**a** [b](https://example.com) <i>', []],
    ['{{answers.a}}', ['Name']], ['{{ today }}{{answers.a}}\n', ['Today', 'Name']], ['a {{answers.b}}', ['{{answers.b}}']],
    ['{{other}} \\{{today}} {{}} {{today', []], ['{{{today}}}', ['Today']],
  ] as const) {
    const { element, written, ...is } = edit(source);
    assert.equal(sourceOf(element as never), source);
    assert.deepEqual([is.chips(), written], [chips, []], source);
  }
});

test('a typed insertion becomes a chip, and other elements become text', () => {
  const { element, written, ...is } = edit('Dear ');
  const type = (...nodes: Node[]): void => (element.replaceChildren(...nodes), element.fire('input', { inputType: 'insertText', data: 'x' }));
  const text = (data: string): Node => Object.assign(new Node('#text', 3), { data });
  type(text('Dear {{today}}'));
  assert.deepEqual([is.chips(), written.at(-1), element.childNodes.at(-1)!.localName], [['Today'], 'Dear {{today}}', 'br']);
  const line = new Node('div');
  line.appendChild(text('b'));
  type(text('a'), line, new Node('br'), text('c'), new Node('br'));
  assert.equal(written.at(-1), 'a\nb\nc');
  assert.deepEqual(element.childNodes.map((n) => n.localName), ['#text', 'br']);
});

test('pasted text and line breaks depend on the property', () => {
  for (const [multiline, pasted] of [[true, 'ab\nc\n'], [false, 'ab c']] as const) {
    const { change, written } = edit('a', multiline);
    change('insertFromPaste', 'b\r\nc');
    change('insertParagraph');
    change('formatBold');
    assert.equal(written.at(-1), pasted);
  }
});

test('a chip is deleted as a whole, marks are toggled, and changes are undone', () => {
  const { change, editor, element, written } = edit('a {{today}}');
  change('deleteContentBackward');
  assert.equal(written.at(-1), 'a ');
  editor.insert('{{answers.a}}');
  editor.wrap('**');
  editor.insert('b');
  editor.wrap('_');
  assert.equal(written.at(-1), 'a {{answers.a}}**b__**');
  editor.wrap('_');
  assert.equal(written.at(-1), 'a {{answers.a}}**b**');
  const press = (key: string, shiftKey = false): void => element.fire('keydown', { key, shiftKey, ctrlKey: true });
  for (let i = 0; i < 4; i++) press('z');
  assert.equal(written.at(-1), 'a {{answers.a}}');
  press('z', true);
  press('z');
  press('z');
  press('z');
  assert.equal(written.at(-1), 'a {{today}}');
  editor.set('new');
  assert.equal(sourceOf(element as never), 'new');
  press('z');
  assert.equal(written.at(-1), 'a {{today}}'); // nothing is left to undo
});
