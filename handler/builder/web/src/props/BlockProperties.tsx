import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import type { Detail } from '../app/api';
import { t } from '../app/words';
import { Field } from '../ui/Field';
import { Icon } from '../ui/Icon';
import { Choices } from './Choices';
import { covered } from './Member';
import type { Obj } from '../app/json';
import type { Block } from '../app/records';
import { changeType, fits, groups, listsOf, patchFor, patchOf, propertiesOf } from './model';
import { members, properties, types } from './props.gen';
import { Here } from './scope';
import { Members, Rest, Section } from './Section';

/** What most people set, in this order. Everything else is under "More". */
const first = [
  'buttonText', 'buttonLink', 'videoLink', 'pdfLink', 'embedLink', 'captchaType', 'addressOrContact', 'defaultCountry', 'amount', 'currency', 'paymentGateway',
  'otherOption', 'otherText', 'multiSelection', 'showLabels', 'legalText', 'legalType', 'legalStopFurther', 'from', 'to', 'scaleStep', 'icon', 'firstLabel', 'secondLabel',
  'thirdLabel', 'min', 'max', 'placeholderText', 'maxChars', 'afterDate', 'beforeDate', 'showTimePicker', 'showSeconds', 'allowedFiles', 'multipleFiles', 'maxFileSize',
  'quotationMarks', 'shareButtons', 'randomize',
];
const picture = ['image', 'imageAlt', 'imageAlign', 'imageWidth', 'altText'];
/** What the pages of package formpage leave to other programs. */
const elsewhere = ['numberFormat', 'weekStartsOn', 'showActions', 'showFields', 'altText', 'part_of', 'row_id'];
/** Blocks that show no text. */
const textless = ['divider', 'page_break'];

interface Props {
  block: Block;
  /** Takes a merge patch of the block; null removes a member. */
  onPatch(patch: Obj): void;
  /** What is wrong, and what is of no effect, by JSON Pointer into the block. */
  faults?: readonly Detail[];
  notes?: readonly Detail[];
  /** Something was removed from a list: a moment to offer to undo it. */
  onRemoved?(label: string, choice?: string, list?: string): void;
  /** The editor of properties.rule. */
  rules?: ComponentChildren;
}

/** The members of a panel for a type of blocks, by the part that they are in. */
export function layout(type: string): Record<'top' | 'first' | 'picture' | 'more' | 'elsewhere', string[]> {
  const all = propertiesOf(type).filter((name) => name !== 'rule');
  const path = (name: string): string => (name in members ? name : 'properties.' + name);
  const texts = ['label', 'description'];
  const bare = textless.includes(type);
  const used = (names: readonly string[]): string[] => names.filter((name) => !(name in properties) || all.includes(name)).map(path);
  const other = type === 'multiple_choice' ? [...elsewhere, 'multiSelection'] : elsewhere;
  const parts = {
    top: [...(bare ? [] : texts), ...(fits(type, 'required') ? ['required'] : [])],
    first: used(first.filter((name) => !other.includes(name))).filter((p) => !covered.has(p)),
    picture: used(picture.filter((name) => !elsewhere.includes(name))),
    elsewhere: used(other),
  };
  const taken = new Set(Object.values(parts).flat());
  const more = [...(bare ? texts : []), ...all.filter((name) => name !== 'hide'), 'hide'].map(path);
  return { ...parts, more: more.filter((p) => !taken.has(p) && !covered.has(p)) };
}

/** All that can be set of a block, but for its children. */
export function BlockProperties({ block, onPatch, faults = [], notes = [], onRemoved, rules }: Props) {
  const { type } = block;
  const parts = layout(type);
  const lists = listsOf(type);
  const value = block as unknown as Obj;
  const otherless = block.properties?.otherOption !== true && block.properties?.otherText === undefined;
  const shown = parts.first.filter((p) => p !== 'properties.otherText' || !otherless);
  const scope = {
    id: block.id, value, type, faults, notes,
    row: (path: string) => (path.startsWith('properties.') ? properties[path.slice(11)] : members[path]),
    set: (changes: Obj) => onPatch(patchFor(changes)),
  };
  const row = types[type];
  // Arrow keys in a list pass through the types between. Until something else changes, each type is made
  // of the block as it was at first, so none of them takes anything away for good.
  const passing = useRef<{ from: Block; made: Block } | undefined>(undefined);
  const change = (to: string): void => {
    const was = passing.current;
    const from = was && Object.keys(patchOf(value, { ...was.made })).length === 0 ? was.from : block;
    passing.current = { from, made: changeType(from, to) };
    onPatch(patchOf(value, { ...passing.current.made }));
  };
  const full = type === 'group' && (block.children?.length ?? 0) > 0;
  return (
    <Here.Provider value={scope}>
      <div class="props" key={block.id}>
        <div class="prop" data-path="/type">
          <Field label={t('props.type')} hint={full ? t('props.type_locked') : row ? t(`props.about_${type}`) : undefined}>
            {(ids) => (
              <span class="props-type">
                <Icon name={row?.icon ?? 'circle-help'} />
                <select {...ids} class="input" value={type} disabled={full} onChange={(e) => change(e.currentTarget.value)}>
                  {!row && <option value={type}>{type}</option>}
                  {groups.map(([group, list]) => (
                    <optgroup key={group} label={t('props.group_' + group)}>
                      {list.map((name) => <option key={name} value={name}>{t('props.type_' + name)}</option>)}
                    </optgroup>
                  ))}
                </select>
              </span>
            )}
          </Field>
        </div>
        <Rest shown={[...Object.values(parts).flat(), ...covered, ...lists, 'properties.rule', 'children']} />
        <Members paths={parts.top} />
        {lists.map((member) => (
          <Choices key={member} member={member} pictures={type === 'picture_choice'} colors={block.properties?.colorOption === true || !fits(type, 'colorOption')} onRemoved={onRemoved} />
        ))}
        <Members paths={shown} />
        {rules && <div data-path="/properties/rule">{rules}</div>}
        {type === 'image' ? <Members paths={parts.picture} /> : <Section title={t('props.picture')} paths={parts.picture} />}
        <Section title={t('props.more')} paths={parts.more} closed />
        <Section title={t('props.own_apps')} paths={parts.elsewhere} hint={t('props.own_apps_hint')} closed />
      </div>
    </Here.Provider>
  );
}
