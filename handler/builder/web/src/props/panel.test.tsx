import './dom.test';
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { options, render, type VNode } from 'preact';
import { useState } from 'preact/hooks';
import en from '../../../words/en.json';
import { config } from '../app/config';
import { BlockProperties } from './BlockProperties';
import { invalidFields } from './DraftField';
import { FormSettings } from './FormSettings';
import { isObject, type Obj } from '../app/json';
import type { Block } from '../app/records';
import { newBlock, propertiesOf, valueAt } from './model';
import { choiceMembers, imageMembers, members, partMembers, parts, properties, settings, theme, types, type Property } from './props.gen';
import { sampleOf } from './samples.test';
import { Node } from './dom.test';
import { ThemeEditor } from './ThemeEditor';
import { timeToInput } from './values';
import { VariablesEditor } from './VariablesEditor';
import written from './testdata/written.json';

config.words = Object.fromEntries(Object.entries(en).flatMap(([area, words]) => Object.entries(words).map(([key, text]) => [`${area}.${key}`, text])));

options.debounceRendering = (draw) => draw();
const later = (): Promise<void> => new Promise((done) => setTimeout(done, 0));

function merge(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const made: Obj = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete made[name];
    else made[name] = merge(made[name], value);
  }
  return made;
}

/** A panel over a value, which its patches change. */
class Panel {
  readonly root = new Node('div');
  readonly patches: Obj[] = [];
  show = (): void => {};
  constructor(public value: Obj, draw: (value: Obj, onPatch: (patch: Obj) => void) => VNode) {
    const Host = () => {
      const [, turn] = useState({});
      this.show = () => turn({});
      return draw(this.value, (patch) => (this.patches.push(patch), (this.value = merge(this.value, patch) as Obj), this.show()));
    };
    render(<Host />, this.root as never);
  }
  get pointers(): string[] {
    return this.root.find((n) => n.attributes['data-path'] !== undefined).flatMap((n) => n.attributes['data-path']!.split(' '));
  }
  /** The elements of a kind in the control of a member. */
  of(pointer: string, ...names: string[]): Node[] {
    const place = this.root.find((n) => (n.attributes['data-path'] ?? '').split(' ').includes(pointer)).at(-1);
    assert.ok(place, `nothing sets ${pointer}`);
    return place.find((n) => names.includes(n.localName));
  }
  type(input: Node, text: string): void {
    input.value = text;
    input.fire('input');
    if (Object.keys(input.listeners).includes('blur')) input.fire('blur');
  }
  choose(select: Node, value: string): void {
    assert.ok(select.find((n) => n.localName === 'option').some((o) => o.value === value || o.attributes.value === value), `there is no ${value} to choose`);
    select.value = value;
    select.fire('change');
  }
  press(within: string, label: string): void {
    const button = this.of(within, 'button').find((b) => b.attributes['aria-label'] === label || b.textContent === label);
    assert.ok(button, `there is no button ${label}`);
    button.fire('click');
  }

  /** Sets a member as a person does. */
  async set(pointer: string, row: Property, sample: unknown): Promise<void> {
    const name = pointer.split('/').at(-1)!;
    const inputs = this.of(pointer, 'input', 'textarea');
    const select = this.of(pointer, 'select')[0];
    const text = inputs.find((n) => n.attributes.type !== 'color' && n.attributes.type !== 'file');
    const [marked] = this.of(pointer, 'div').filter((n) => n.attributes.role === 'textbox');
    if (marked) {
      marked.textContent = String(sample);
      return marked.fire('input');
    }
    if (name === 'disabledDays') return this.press(pointer, 'Sat'), this.press(pointer, 'Sun');
    if (name === 'horizontalAlign' || name === 'verticalAlign') return this.choose(select!, name === 'verticalAlign' ? 'column' : 'row');
    if (row.type === 'parts') {
      const box = this.of(pointer + '/email/required', 'input')[0]!;
      box.checked = true;
      return box.fire('change');
    }
    if (row.type === 'boolean') {
      text!.checked = true;
      return text!.fire('change');
    }
    if (row.type === 'dates') {
      this.type(text!, '2026-03-01');
      await later();
      return this.press(pointer, 'Add');
    }
    if (select && !select.find((n) => n.localName === 'option').some((o) => o.attributes.value === String(sample) || o.value === String(sample))) {
      this.choose(select, '\u0000'); // a value of one's own
      await later();
      return this.type(this.of(pointer, 'input')[0]!, String(sample));
    }
    if (select) return this.choose(select, String(sample));
    const image = row.type === 'image' || name === 'image';
    this.type(text!, image ? String((sample as Obj).url) : row.type === 'date' ? (/^(open|close)At$/.test(name) ? timeToInput(sample) : '2026-03-01') : Array.isArray(sample) ? sample.join(', ') : String(sample));
  }
}

const ofBlock = (block: Block): Panel =>
  new Panel(block as unknown as Obj, (value, onPatch) => <BlockProperties block={value as unknown as Block} onPatch={onPatch} rules={<p>rules</p>} />);
const blocks = Object.keys(types).map((type) => newBlock(type, 'b_' + type));
const ofSettings = (): Panel => new Panel({}, (value, onPatch) => <FormSettings settings={value} blocks={blocks} onPatch={onPatch} />);
const ofTheme = (): Panel => new Panel({}, (value, onPatch) => <ThemeEditor theme={value} settings={{ darkMode: true }} onPatch={onPatch} />);

/** Switches that the field of a member turns on. */
const pairs: Record<string, string> = { minVal: 'min', maxVal: 'max', leftLabel: 'firstLabel', centerLabel: 'secondLabel', rightLabel: 'thirdLabel' };

// The service is asked for all of this by a test in Go.
const record: { blocks: Block[]; patches: { type: string; patch: Obj }[]; settings: Obj[]; theme: Obj[]; data: Obj[] } = { blocks: [], patches: [], settings: [], theme: [], data: [] };

test('every property of every type can be set in its panel', async () => {
  for (const type of Object.keys(types)) {
    const block = newBlock(type, 'b');
    // Ids of choices are random.
    for (const list of [block.choices, block.matrix_rows, block.matrix_columns]) list?.forEach((c, i) => (c.id = 'c' + i));
    record.blocks.push({ ...structuredClone(block), id: 'b_' + type });
    for (const name of propertiesOf(type)) {
      if (name === 'rule') continue;
      const start = structuredClone(block);
      if (name === 'otherText') (start.properties ??= {}).otherOption = true;
      if (name !== 'addressOrContact' && start.properties) delete start.properties[name];
      const panel = ofBlock(start);
      const row = properties[name]!;
      const pair = pairs[name];
      const sample = pair ? sampleOf(pair, properties[pair]!) : sampleOf(name, row);
      await panel.set('/properties/' + name, pair ? properties[pair]! : row, sample);
      const got = valueAt(panel.value, 'properties.' + name);
      if (name === 'addressOrContact') assert.equal(valueAt(got, 'email.required'), true);
      else assert.deepEqual(got, pair ? true : sample, `${name} of ${type}`);
      if (row.of || type === 'text') record.patches.push(...panel.patches.map((patch) => ({ type, patch })));
    }
    for (const name of ['label', 'description', 'part_of', 'row_id', ...(types[type]!.answer ? ['required'] : [])]) {
      const panel = ofBlock(newBlock(type, 'b'));
      await panel.set('/' + name, members[name]!, name === 'required' ? true : 'Some text');
      assert.equal(panel.value[name], name === 'required' ? true : 'Some text', `${name} of ${type}`);
      if (type === 'date') record.patches.push(...panel.patches.map((patch) => ({ type, patch })));
    }
  }
});

test('every member of the API that a block can have has its place', () => {
  const elsewhere = ['id', 'children']; // the outline has them
  const shown = new Set(blocks.flatMap((b) => ofBlock(b).pointers));
  for (const name of Object.keys(members)) if (!elsewhere.includes(name) && name !== 'properties') assert.ok(shown.has('/' + name), name);
  for (const part of Object.keys(parts)) for (const member of Object.keys(partMembers)) assert.ok(shown.has(`/properties/addressOrContact/${part}/${member}`), part);
});

test('no word is missing, and no name of a member is shown', () => {
  for (const panel of [...blocks.map(ofBlock), ofSettings(), ofTheme()]) {
    const texts = panel.root.all().flatMap((n) => [n.nodeType === 3 ? n.data : '', n.attributes['aria-label'] ?? '', n.attributes.placeholder ?? '']);
    assert.deepEqual(texts.filter((text) => /(props|app)\.\w/.test(text)), []);
  }
});

test('every setting and every member of a theme can be set', async () => {
  for (const [table, make, patches] of [[settings, ofSettings, record.settings], [theme, ofTheme, record.theme]] as const) {
    const panel = make();
    for (const [path, row] of Object.entries(table)) {
      panel.value = {};
      panel.show();
      const sample = path === 'layout.pageWidth' ? '700px' : path.startsWith('alignment') ? 1 : sampleOf(path, row);
      await panel.set('/' + path.replaceAll('.', '/'), row, sample);
      assert.deepEqual(valueAt(panel.value, path), sample, path);
    }
    patches.push(...panel.patches);
  }
});

test('everything of a choice and of its picture can be set', async () => {
  const panel = ofBlock({ ...newBlock('picture_choice', 'b'), choices: [{ id: 'c0', label: 'One' }, { id: 'c1', label: 'Two' }] });
  panel.press('/choices', 'More options for “One”');
  await later();
  const field = (label: string): Node => {
    const found = panel.of('/choices', 'label').find((n) => n.textContent === label);
    assert.ok(found, `there is no field ${label}`);
    return panel.root.find((n) => n.attributes.id === found.attributes.for)[0]!;
  };
  panel.type(field('Choice 1'), 'First');
  panel.type(field('Image URL'), 'example.com/a.png');
  panel.type(field('Alt text'), 'A tree');
  panel.type(field('Color'), 'teal');
  panel.type(field('Row ID'), 'r1');
  await later();
  panel.type(field('Width (px)'), '20');
  panel.type(field('Height (px)'), '10');
  panel.type(field('ID'), 'i');
  const [choice] = panel.value.choices as Obj[];
  assert.deepEqual(choice, {
    id: 'c0', label: 'First', alt: 'A tree', color: 'teal', row_id: 'r1', image: { url: 'https://example.com/a.png', width: 20, height: 10, id: 'i' },
  });
  assert.deepEqual(Object.keys(choiceMembers).toSorted(), Object.keys(choice!).toSorted());
  assert.deepEqual([...Object.keys(choice!.image as Obj), 'base64'].toSorted(), Object.keys(imageMembers).toSorted());
  record.patches.push(...panel.patches.map((patch) => ({ type: 'picture_choice', patch })));
});

test('choices are added, pasted, moved and removed', async () => {
  const removed: string[] = [];
  const labels = (panel: Panel): unknown[] => (panel.value.choices as Obj[]).map((c) => c.label);
  const panel = new Panel({ id: 'b', type: 'single_choice', choices: [{ id: 'a', label: 'A' }, { id: 'b', label: 'B' }] }, (value, onPatch) => (
    <BlockProperties block={value as unknown as Block} onPatch={onPatch} onRemoved={(label) => removed.push(label)} />
  ));
  const line = (i: number): Node => panel.of('/choices', 'input')[i]!;
  panel.press('/choices', 'Add choice');
  assert.deepEqual(labels(panel), ['A', 'B', 'Choice 3']);
  Object.assign(line(1), { selectionStart: 1, selectionEnd: 1 });
  line(1).fire('paste', { clipboardData: { getData: () => 'x\r\n\n Y \nZ\n' } });
  assert.deepEqual(labels(panel), ['A', 'Bx', 'Y', 'Z', 'Choice 3']);
  line(3).fire('keydown', { altKey: true, key: 'ArrowUp' });
  assert.deepEqual(labels(panel), ['A', 'Bx', 'Z', 'Y', 'Choice 3']);
  line(0).fire('keydown', { altKey: true, key: 'ArrowUp' }); // it is the first
  panel.press('/choices', 'Move “A” down');
  panel.press('/choices', 'Remove “Y”');
  assert.deepEqual(labels(panel), ['Bx', 'A', 'Z', 'Choice 3']);
  assert.deepEqual(removed, ['Y']);
  line(1).fire('keydown', { key: 'Enter' });
  assert.deepEqual(labels(panel), ['Bx', 'A', 'Choice 5', 'Z', 'Choice 3']);
  panel.press('/choices', 'Add multiple');
  await later();
  panel.type(panel.of('/choices', 'textarea')[0]!, 'one\r\ntwo\tcolumns\r\n"a ""b""\nc"\t\r\n"red, green"\r\n\u00a0two columns\t\r\n');
  await later();
  panel.press('/choices', 'Add');
  assert.deepEqual(labels(panel).slice(-5), ['one', 'two columns', 'a "b" c', '"red, green"', 'two columns']);
  const ids = (panel.value.choices as Obj[]).map((c) => c.id);
  assert.equal(new Set(ids).size, ids.length);
  assert.deepEqual(ids.slice(0, 2), ['b', 'a']); // their ids stay, which answers name
  const fresh = newBlock('dropdown', 'fresh') as unknown as Obj;
  const other = new Panel(fresh, (value, onPatch) => <BlockProperties block={value as unknown as Block} onPatch={onPatch} />);
  const first = other.of('/choices', 'input')[0]!;
  Object.assign(first, { value: '', selectionStart: 0, selectionEnd: 0 });
  first.fire('paste', { clipboardData: { getData: () => 'Cat\nDog\nNone' } });
  assert.deepEqual(labels(other), ['Cat', 'Dog', 'None']); // without the second sample
  first.fire('paste', { clipboardData: { getData: () => '\tx\ty' } });
  assert.match(labels(other).join(), /x y/);
});

test('what cannot be a value stays in the field with its fault, and changes nothing', async () => {
  const panel = ofBlock({ id: 'faulty', type: 'ending', properties: { buttonLink: 'https://example.com' } });
  const input = (): Node => panel.of('/properties/buttonLink', 'input')[0]!;
  const shows = (text: string): boolean => panel.of('/properties/buttonLink', 'p').some((p) => p.textContent.includes(text));
  for (const bad of ['javascript:alert(1)', 'https://', 'https://ann@example.com', 'https://example.com/%zz', 'http:example.com', 'https://a b.example', 'ftp://example.com', 'mailto:']) {
    panel.type(input(), bad);
    await later();
    assert.equal(input().value, bad);
    assert.ok(shows('Enter a link that starts with'), bad);
    assert.deepEqual(panel.patches, [], bad);
  }
  // Closed and opened again, it is still there.
  panel.root.childNodes.length = 0;
  const again = ofBlock(panel.value as unknown as Block);
  assert.equal(again.of('/properties/buttonLink', 'input')[0]!.value, 'mailto:');
  again.type(again.of('/properties/buttonLink', 'input')[0]!, 'tel:+491234');
  assert.deepEqual(again.patches, [{ properties: { buttonLink: 'tel:+491234' } }]);
  // A change from elsewhere, such as undo, comes first.
  again.type(again.of('/properties/buttonLink', 'input')[0]!, 'tel:');
  again.value = merge(again.value, { properties: { buttonLink: 'https://example.org' } }) as Obj;
  again.show();
  await later();
  assert.equal(again.of('/properties/buttonLink', 'input')[0]!.value, 'https://example.org');

  // The page knows of it while it is shown: it is not saved.
  const others = invalidFields.value;
  const number = ofBlock({ id: 'n', type: 'short_text' });
  const type = (text: string): void => number.type(number.of('/properties/maxChars', 'input')[0]!, text);
  for (const bad of ['0', '2.5', 'x', '1e3']) {
    type(bad);
    assert.deepEqual(number.patches, [], bad);
    assert.equal(invalidFields.value, others + 1, bad);
  }
  type('');
  assert.equal(invalidFields.value, others);
  type('x');
  render(null, number.root as never);
  assert.equal(invalidFields.value, others);
});

test('clearing a bound turns it off, and a comma is a point', () => {
  const panel = ofBlock({ id: 'b', type: 'number', properties: { min: 3, minVal: true, max: 9 } });
  assert.equal(panel.of('/properties/max', 'input')[0]!.value, ''); // its switch is off
  panel.type(panel.of('/properties/min', 'input')[0]!, '');
  panel.type(panel.of('/properties/max', 'input')[0]!, '2,5');
  assert.deepEqual(panel.patches, [{ properties: { min: null, minVal: null } }, { properties: { max: 2.5, maxVal: true } }]);
});

test('faults and warnings stand at their fields, others at the top', () => {
  const detail = (path: string, message: string) => ({ path, code: 'X', message });
  const root = new Node('div');
  render(<BlockProperties
    block={{ ...newBlock('picture_choice', 'b') }} onPatch={() => assert.fail()}
    errors={[detail('/properties/image/url', 'bad image'), detail('/choices/1/label', 'too long'), detail('/properties/hide', 'not so'), detail('/colour', 'unknown')]} warnings={[detail('/properties/max', 'no effect'), detail('/choices/0/label', 'no text'), detail('/choices', 'too few'), detail('/properties/image', 'no picture'), detail('', 'unreachable')]}
  />, root as never);
  const at = (path: string): string => root.find((n) => (n.attributes['data-path'] ?? '').split(' ').includes(path))[0]!.textContent;
  assert.match(at('/properties/image'), /bad image/);
  assert.match(at('/properties/image'), /no picture/);
  assert.match(at('/choices'), /no text.*too long.*too few/);
  assert.match(at('/properties/max'), /no effect/);
  assert.equal(root.find((n) => n.attributes.role === 'alert').map((n) => n.textContent).join(), 'unknown');
  assert.equal(root.find((n) => n.attributes.class === 'notice rule-note').map((n) => n.textContent.trim()).join(), 'unreachable');
});

test('a change of type is one patch', () => {
  const panel = ofBlock({ id: 'b', type: 'number', label: 'L', required: true, properties: { min: 1, minVal: true, hide: true } });
  panel.choose(panel.of('/type', 'select')[0]!, 'statement');
  assert.deepEqual(panel.patches, [{ type: 'statement', required: null, properties: { min: null, minVal: null } }]);
  const keys = ofBlock({ id: 'k', type: 'single_choice', choices: [{ id: 'a', label: 'A' }, { id: 'b', label: 'B' }] });
  const list = (): Node => keys.of('/type', 'select')[0]!;
  for (const type of ['yes_no', 'matrix', 'divider', 'ranking']) keys.choose(list(), type);
  assert.deepEqual(keys.value, { id: 'k', type: 'ranking', choices: [{ id: 'a', label: 'A' }, { id: 'b', label: 'B' }] });
  keys.choose(list(), 'short_text');
  keys.value = merge(keys.value, { label: 'L' }) as Obj; // something else
  keys.show();
  keys.choose(list(), 'ranking');
  assert.equal(keys.value.label, 'L');
  assert.equal((keys.value.choices as Obj[])[0]!.label, 'Choice 1');
  const full = ofBlock({ id: 'g', type: 'group', children: [{ id: 'c', type: 'text' }] });
  assert.equal(full.of('/type', 'select')[0]!.disabled, true);
});

test('variables and hidden fields', async () => {
  const renamed: string[][] = [];
  const panel = new Panel({ variables: { score: 0 }, hidden_fields: ['customer'] }, (value, onPatch) => (
    <VariablesEditor variables={value.variables as Obj} hiddenFields={value.hidden_fields as string[]} blocks={[{ id: 'name', type: 'short_text' }]} onPatch={onPatch}
      onRename={(kind, from, to) => (renamed.push([kind, from, to]), kind === 'variables' && onPatch({ variables: { [from]: null, [to]: (value.variables as Obj)[from] } }))}
    />
  ));
  const last = (pointer: string): Node => panel.of(pointer, 'input').at(-1)!;
  for (const [pointer, names] of [['/variables', ['plan', 'score', '']], ['/hidden_fields', ['name', 'customer', 'campaign']]] as const) {
    for (const name of names) {
      panel.type(last(pointer), name);
      await later();
      panel.press(pointer, 'Add');
      await later();
    }
  }
  assert.deepEqual(panel.value, { variables: { score: 0, plan: 0 }, hidden_fields: ['customer', 'campaign'] });
  panel.choose(panel.of('/variables', 'select')[1]!, 'text');
  panel.type(panel.of('/variables', 'input')[3]!, '');
  panel.type(panel.of('/variables', 'input')[0]!, 'points');
  panel.type(panel.of('/hidden_fields', 'input')[0]!, 'campaign'); // there is one
  assert.deepEqual(panel.value, { variables: { plan: '', points: 0 }, hidden_fields: ['customer', 'campaign'] });
  panel.type(panel.of('/hidden_fields', 'input')[1]!, 'source');
  assert.deepEqual(renamed, [['variables', 'score', 'points'], ['hidden', 'campaign', 'source']]);
  panel.press('/hidden_fields', 'Remove “customer”');
  assert.deepEqual(panel.value.hidden_fields, ['campaign']);
  record.data.push(...panel.patches);
});

test('what is written is what the service is asked about', () => {
  const lists = Object.entries(record).map(([name, list]) => `"${name}": [\n${list.map((item) => JSON.stringify(item)).join(',\n')}\n]`);
  const made = `{${lists.join(',\n')}}\n`;
  if (process.env.UPDATE) writeFileSync('src/props/testdata/written.json', made);
  else assert.deepEqual(JSON.parse(made), written, 'UPDATE=1 go run -C handler/builder/web . -test props');
});
