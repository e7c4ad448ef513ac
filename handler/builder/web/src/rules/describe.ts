// Describes conditions and changes in sentences. A condition follows "when". In German, its verb comes last.

import { config, type NamedItem } from '../app/config';
import { isObject } from '../app/json';
import { shownText } from '../app/text';
import { pathOf, type Field, type Fields, type Json, type Kind, type Op } from './fields';
import { comparedField, isHostCheck, isRef, parseChecks, parseCondition, parseNext, parseVariable, type Condition, type Jump, type Leaf, type Operand, type Term, type Value } from './parse';

export type Translate = (key: string, params?: { [name: string]: string | number }) => string;

/** Returns the name of a field. */
export function fieldName(f: Field, t: Translate): string {
  const base = f.kind === 'unknown' ? t('rules.missing', { name: pathOf(f.ref) }) : f.label;
  if (!f.part || f.kind === 'unknown') return base;
  return t('rules.part', { name: base, part: 'label' in f.part ? f.part.label : t('rules.part.' + f.part.word, { n: f.part.n ?? 0 }) });
}

/** Reports whether a kind is a date or time. Its operators are then called "before" and "after". */
export const isTimeKind = (kind: Kind): boolean => kind === 'date' || kind === 'datetime' || kind === 'time';

/** Returns an operator's word key for a kind, without the prefix. */
export function opKey(op: Op, kind: Kind): string {
  if (op === 'has' && kind !== 'list') return 'contains';
  if (kind === 'list' && (op === 'shorter' || op === 'longer')) return op === 'shorter' ? 'fewer' : 'more';
  const sameKey: { [op in Op]?: string } = { yes: 'is', notYes: 'isNot' };
  return isTimeKind(kind) && ['below', 'atMost', 'above', 'atLeast'].includes(op) ? op + 'Time' : (sameKey[op] ?? op);
}

/** Returns the text for a compared value. */
export function valueName(value: Json, f: Field, t: Translate): string {
  if (typeof value === 'boolean') return t(value ? 'rules.yes' : 'rules.no');
  if (typeof value === 'number') return String(value);
  const choice = f.choices.find((c) => c.id === value);
  if (choice) return t('rules.quoted', { text: choice.label || choice.id });
  if (f.kind === 'choice' || f.kind === 'list' || f.kind === 'order') return t('rules.missingChoice', { name: String(value) });
  return isTimeKind(f.kind) || f.kind === 'country' ? String(value).replace(/T(.*):00Z$/, ' $1 UTC') : t('rules.quoted', { text: String(value) });
}

function joinList(parts: string[], t: Translate, last: 'and' | 'or'): string {
  const end = parts[parts.length - 1] ?? '';
  return parts.length < 2 ? end : t('rules.list.' + last, { first: parts.slice(0, -1).join(', '), last: end });
}

function describeLeaf(l: Leaf, fields: Fields, t: Translate, not: boolean): string {
  const f = fields.get(l.ref);
  const value = l.op === 'yes' || l.op === 'notYes' ? true : (l.value ?? null);
  const other = comparedField(l, fields);
  const names = other ? [t(other.ref.from === 'answers' ? 'rules.compared.answer' : 'rules.compared.value', { q: t('rules.quoted', { text: fieldName(other, t) }) })] : (Array.isArray(value) ? value : value === null ? [] : [value]).map((v) => valueName(v, f, t));
  const params = {
    q: t('rules.quoted', { text: fieldName(f, t) }),
    v: joinList(names, t, l.op === 'oneOf' ? 'or' : 'and'), a: names[0] ?? '', b: names[1] ?? '',
  };
  const word = other && l.op === 'is' ? 'same' : other && l.op === 'isNot' ? 'notSame' : opKey(l.op, f.kind);
  return t((not ? 'rules.not.' : 'rules.when.') + word, params);
}

/** Describes a condition. */
export function describeCondition(c: Condition, fields: Fields, t: Translate): string {
  switch (c.op) {
    case 'always': case 'never': return t('rules.' + c.op);
    case 'not': return describeLeaf(c.of, fields, t, true);
    case 'all': case 'any': {
      const parts = c.of.map((d) => (d.op === 'all' || d.op === 'any' ? t('rules.grouped', { text: describeCondition(d, fields, t) }) : describeCondition(d, fields, t)));
      return parts.join(t(c.op === 'all' ? 'rules.and' : 'rules.or'));
    }
  }
  return describeLeaf(c, fields, t, false);
}

/** Returns a text for logic that sentences cannot express. key is the word key for "this is JSON". */
export type DescribeJSON = (logic: Json, key: 'rules.json' | 'rules.nextJSON') => string;

/** Describes a condition, or uses describeJSON if it cannot be parsed. */
function describeLogic(logic: Json, fields: Fields, t: Translate, describeJSON: DescribeJSON): string {
  const c = parseCondition(logic, fields);
  return c ? describeCondition(c, fields, t) : describeJSON(logic, 'rules.json');
}

function operandName(o: Operand, fields: Fields, t: Translate): string {
  if (!isRef(o)) return typeof o === 'number' ? String(o) : t('rules.quoted', { text: o });
  return t(o.from === 'variables' ? 'rules.value' : 'rules.answer', { q: t('rules.quoted', { text: fieldName(fields.get(o), t) }) });
}

const verbs = {
  '+': { verb: 'add', sign: ' + ' }, '-': { verb: 'subtract', sign: ' − ' }, '*': { verb: 'times', sign: ' × ' }, '/': { verb: 'divide', sign: ' ÷ ' },
} as const;

/** Describes a change to a variable, with a sentence for each case. */
export function describeChange(name: string, v: Value, fields: Fields, t: Translate): string[] {
  const own = (r: Operand): boolean => isRef(r) && r.from === 'variables' && r.id === name;
  const describeCase = (verb: string, o: Operand, when?: Condition): string => {
    const done = { x: t('rules.quoted', { text: name }), v: operandName(o, fields, t) };
    return when ? t('rules.do.' + verb + 'When', { ...done, c: describeCondition(when, fields, t) }) : t('rules.do.' + verb, done);
  };
  if (v.op === 'set') {
    const lines = v.cases.map((c) => describeCase('set', c.value, c.when));
    if (v.cases.length > 0 && own(v.value)) return lines;
    return [...lines, describeCase(v.cases.length > 0 ? 'setElse' : 'set', v.value)];
  }
  const line = (term: Term) => describeCase(verbs[v.op].verb, term.by, term.when);
  if (own(v.of)) return v.terms.map(line);
  // If the change starts from another field, it is shown as a formula.
  const formula = [v.of, ...v.terms.filter((term) => !term.when).map((term) => term.by)].map((o) => operandName(o, fields, t)).join(verbs[v.op].sign);
  return [t('rules.do.set', { x: t('rules.quoted', { text: name }), v: formula }), ...v.terms.filter((term) => term.when).map(line)];
}

/** Returns the name of the block that a jump leads to. */
export function targetLabel(to: string, fields: Fields, t: Translate): string {
  const block = fields.content.blocks[fields.step(to)];
  return block ? fields.labelOf(block) : t('rules.missing', { name: to });
}

function targetName(to: string, fields: Fields, t: Translate): string {
  return to === 'end' ? t('rules.end') : t('rules.to', { name: t('rules.quoted', { text: targetLabel(to, fields, t) }) });
}

/** Describes the jumps of a rule. */
export function describeJumps(jumps: Jump[], fields: Fields, t: Translate, describeJSON: DescribeJSON = (_, key) => t(key)): string {
  return jumps.map((j, i) => {
    const to = targetName(j.to, fields, t);
    if (j.if === undefined) return t(i === 0 ? 'rules.go' : 'rules.goElse', { to });
    return t('rules.goWhen', { to, c: describeLogic(j.if, fields, t, describeJSON) });
  }).join('; ');
}

/** Returns the title of a list or check of the host, or its name if the host does not have it. */
const titleOf = (items: readonly NamedItem[], name: string): string => items.find((i) => i.name === name)?.title ?? name;

/** Describes a rule, with a line for each effect. */
export function describeRule(rule: Json | undefined, fields: Fields, t: Translate, describeJSON: DescribeJSON = (_, key) => t(key)): string[] {
  if (rule === null || typeof rule !== 'object' || Array.isArray(rule)) return [];
  const lines: string[] = [];
  const list = isObject(rule.choices) && rule.choices.list;
  if (typeof list === 'string') lines.push(t('rules.choices_from', { name: t('rules.quoted', { text: titleOf(config.lists, list) }) }));
  if (rule.show !== undefined) lines.push(t('rules.shown', { c: describeLogic(rule.show, fields, t, describeJSON) }));
  if (rule.require !== undefined) lines.push(t('rules.required', { c: describeLogic(rule.require, fields, t, describeJSON) }));
  if (rule.check !== undefined) {
    const checks = parseChecks(rule.check)?.map((check) => {
      if (isHostCheck(check)) return t('rules.checked_by_host', { name: t('rules.quoted', { text: titleOf(config.checks, check.host) }) });
      const c = parseCondition(check.if, fields);
      const say = t('rules.quoted', { text: shownText(check.say) });
      if (c?.op === 'not') return t('rules.accepted', { c: describeCondition(c.of, fields, t), say });
      return t('rules.refused', { c: describeLogic(check.if, fields, t, describeJSON), say });
    });
    lines.push(...(checks ?? [describeJSON(rule.check, 'rules.json')]));
  }
  if (rule.set !== null && typeof rule.set === 'object' && !Array.isArray(rule.set)) {
    for (const [name, logic] of Object.entries(rule.set)) {
      const value = parseVariable(logic, fields);
      lines.push(...(value ? describeChange(name, value, fields, t) : [t('rules.do.set', { x: t('rules.quoted', { text: name }), v: describeJSON(logic, 'rules.json') })]));
    }
  }
  if (rule.next !== undefined) {
    const jumps = parseNext(rule.next);
    lines.push(jumps ? describeJumps(jumps, fields, t, describeJSON) : describeJSON(rule.next, 'rules.nextJSON'));
  }
  return lines;
}
