// The checks of a block: conditions that refuse its answer, each with a message for the respondent.

import { useEffect, useState } from 'preact/hooks';
import { builderApi } from '../app/api';
import { config } from '../app/config';
import { allBlocks, type Block } from '../app/records';
import { t } from '../app/words';
import { IconButton } from '../ui/Button';
import { MarkedField } from '../props/MarkedField';
import { NumberField, Select, TextField } from '../ui/Field';
import { Menu } from '../ui/Menu';
import { Icon } from '../ui/Icon';
import { compareWith, nameOf, namesFor, newCheck, requirements, usualMessage, type CheckName } from './checks';
import { opKey } from './describe';
import { addCondition, newCondition, type Comparison } from './edit';
import { fieldsOf, ops, type Content, type Field, type Fields, type Json, type Op } from './fields';
import { JSONBox, OtherField } from './inputs';
import { comparedField, conditionLogic, parseChecks, parseCondition, isHostCheck, type Check, type HostCheck, type Condition, type Leaf } from './parse';
import { ConditionEditor, ItemHead, problemsAt, useRowFocus, WarningList, type Problem } from './RuleEditor';

interface Props {
  content: Content;
  at: Block;
  value: Json | undefined;
  errors: readonly Problem[];
  warnings: readonly Problem[];
  onChange(value: Json | undefined): void;
}

export function ChecksEditor({ content, at, value, errors, warnings, onChange }: Props) {
  const fields = fieldsOf(content);
  const known = fields.knownToChecks(at);
  const inside = allBlocks([at]).map((b) => b.id);
  const first = known.find((f) => f.ref.from === 'answers' && inside.includes(f.ref.id));
  const own = at.type === 'group' ? undefined : first;
  const checks = value === undefined ? [] : parseChecks(value);
  const box = useRowFocus(checks?.length ?? 0);
  const isShownHere = ({ path }: Problem) => !checks || path === '/check';
  const problems = <><WarningList bad list={problemsAt(errors, '/check').filter(isShownHere)} /><WarningList list={problemsAt(warnings, '/check').filter(isShownHere)} /></>;
  if (!checks) return <>{problems}<JSONBox label={t('rules.check')} value={value ?? null} onChange={onChange} /></>;
  const put = (list: (Check | HostCheck)[]) => onChange(list.length > 0 ? (list as unknown as Json) : undefined);
  const messageFor = (logic: Json) => usualMessage(parseCondition(logic, fields), own, fields, t);
  const add = (name: CheckName) => {
    const logic = conditionLogic(newCheck(name, first!, known));
    put([...checks, { if: logic, say: messageFor(logic) }]);
  };
  return (
    <div ref={box} class="rule-next answer-checks">
      {problems}
      <ol>
        {checks.map((check, i) => {
          const place = `/check/${i}`;
          const head = { list: checks, i, put, removeLabel: t('rules.remove_check') };
          if (isHostCheck(check)) {
            return (
              <li key={i} class="rule-card">
                <ItemHead {...head} title={config.checks.find((c) => c.name === check.host)?.title ?? check.host} />
                <WarningList bad list={problemsAt(errors, place)} />
                <WarningList list={problemsAt(warnings, place)} />
              </li>
            );
          }
          const condition = parseCondition(check.if, fields);
          const named = nameOf(condition, own, fields);
          const name = namesFor(at, own, known).includes(named.name) ? named.name : 'custom';
          const errorAt = (part: string) => problemsAt(errors, place + part).map((e) => e.message).join(' ') || undefined;
          const replace = (now: Partial<Check>) => put(checks.map((c, j) => (i === j ? { ...c, ...now } : c)));
          // A message that was not edited follows the condition.
          const change = (logic: Json | undefined) => (logic === undefined ? put(checks.toSpliced(i, 1)) : replace({ if: logic, ...(check.say === messageFor(check.if) && { say: messageFor(logic) }) }));
          const input = { own: own!, leaf: named.leaf!, fields, known, put: (c: Condition) => change(conditionLogic(c)) };
          const setValue = (value: Json) => {
            const leaf: Leaf = { ...named.leaf!, value };
            input.put(condition!.op === 'not' ? { op: 'not', of: leaf } : leaf);
          };
          return (
            <li key={i} class="rule-card">
              <ItemHead {...head} title={t('rules.check.' + name)}>
                {name !== 'custom' && <IconButton icon="plus" label={t('rules.add_condition')} onClick={() => change(conditionLogic(addCondition(condition!, newCondition(first!))))} />}
              </ItemHead>
              {name !== 'pattern' && <WarningList bad list={problemsAt(errors, place + '/if')} />}
              <WarningList list={problemsAt(warnings, place)} />
              {name === 'custom' && <ConditionEditor fields={fields} known={known} label={t('rules.check_when')} value={check.if} onChange={change} />}
              {(name === 'minLength' || name === 'maxLength') && <NumberField label={t('rules.characters')} min={1} step={1} value={named.leaf!.value as number} onInput={(n) => n !== undefined && setValue(n)} />}
              {name === 'pattern' && <PatternField value={named.leaf!.value as string} error={errorAt('/if')} put={setValue} />}
              {name === 'compare' && <CompareFields {...input} op={named.op!} />}
              <MarkedField label={t('rules.say')} value={check.say} error={errorAt('/say')} values="withOwnAnswer" onInput={(say) => replace({ say })} />
            </li>
          );
        })}
      </ol>
      <div class="row">
        <Menu icon="plus" kind="quiet" items={[...namesFor(at, own, known).map((name) => ({ label: t('rules.check.' + name), run: () => add(name) })), ...config.checks.map((c) => ({ label: c.title, run: () => put([...checks, { host: c.name }]) }))]}>{t('rules.add_check')}</Menu>
      </div>
    </div>
  );
}

function CompareFields({ own, leaf, op, fields, known, put }: { own: Field; leaf: Leaf; op: Comparison; fields: Fields; known: Field[]; put(c: Condition): void }) {
  const other = comparedField(leaf, fields)!;
  const options = (Object.keys(requirements) as Comparison[]).filter((o) => ops[own.kind].includes(requirements[o] as Op));
  return (
    <div class="rule-pair">
      <Select label={t('rules.check_requires')} hideLabel value={op} options={options.map((o) => [o, t('rules.op.' + opKey(requirements[o] as Op, own.kind))])} onChange={(o) => put(compareWith(own, o as Comparison, other))} />
      <OtherField field={own} other={other} fields={fields} known={known} put={(o) => put(compareWith(own, op, o))} />
    </div>
  );
}

/** A pattern, and an example that the service tests with it. */
function PatternField({ value, error, put }: { value: string; error: string | undefined; put(pattern: string): void }) {
  const [example, setExample] = useState('');
  const [result, setResult] = useState('');
  useEffect(() => {
    setResult('');
    if (example === '') return;
    let outdated = false;
    const test = () => builderApi<{ result: string }>('/pattern', { body: { pattern: value, example } }).then((is) => outdated || setResult(is.result), () => undefined);
    const timer = setTimeout(() => void test(), 250);
    return () => {
      outdated = true;
      clearTimeout(timer);
    };
  }, [value, example]);
  return (
    <>
      <TextField label={t('rules.pattern')} hint={t('rules.pattern_hint')} error={error} value={value} onInput={put} />
      <TextField label={t('rules.example')} maxLength={1000} value={example} onInput={setExample} />
      <p class="hint rule-example" role="status">{result && <><Icon name={result === 'accepted' ? 'circle-check' : 'circle-alert'} /> {t('rules.example_' + result)}</>}</p>
    </>
  );
}
