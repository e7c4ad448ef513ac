import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import type { Detail } from '../app/api';
import { offers } from '../app/config';
import { t } from '../app/words';
import { Field } from '../ui/Field';
import { Icon } from '../ui/Icon';
import { Choices } from './Choices';
import { coveredPaths } from './PropertyField';
import { groups, iconOf, typeName } from '../editor/blockTypes';
import { isObject, type Obj } from '../app/json';
import type { Block } from '../app/records';
import { changeType, supports, listsOf, patchFromPaths, patchOf, propertiesOf } from './model';
import { members, properties, types } from './props.gen';
import { ScopeContext } from './scope';
import { PropertyFields, OtherMessages, Section } from './Section';

/** Common properties, in the order in which the panel shows them. Other properties are in the section "More". */
const commonProperties = [
  'buttonText', 'buttonLink', 'videoLink', 'pdfLink', 'embedLink', 'captchaType', 'addressOrContact', 'defaultCountry', 'amount', 'currency', 'paymentGateway',
  'otherOption', 'otherText', 'multiSelection', 'showLabels', 'legalText', 'legalType', 'legalStopFurther', 'from', 'to', 'scaleStep', 'icon', 'firstLabel', 'secondLabel',
  'thirdLabel', 'min', 'max', 'placeholderText', 'maxChars', 'afterDate', 'beforeDate', 'showTimePicker', 'showSeconds', 'allowedFiles', 'multipleFiles', 'maxFileSize',
  'quotationMarks', 'shareButtons', 'randomize',
];
const imageProperties = ['image', 'imageAlt', 'imageAlign', 'imageWidth', 'altText'];
/** Properties that the form page does not use. They are for other programs. */
const ownAppProperties = ['numberFormat', 'weekStartsOn', 'showActions', 'showFields', 'altText', 'part_of', 'row_id'];
/** Block types that show no text. */
const textless = ['divider', 'page_break'];

interface Props {
  block: Block;
  /** Receives a merge patch for the block. null removes a field. */
  onPatch(patch: Obj): void;
  /** Errors and warnings, with JSON Pointers into the block. */
  errors?: readonly Detail[];
  warnings?: readonly Detail[];
  /** Called after an item was removed from a list, to offer an undo. */
  onRemoved?(label: string, choice?: string, list?: string): void;
  rules?: ComponentChildren;
}

/** Returns the paths of the properties that the panel shows for a block type, by section. */
export function sectionsOf(type: string): Record<'top' | 'first' | 'picture' | 'more' | 'elsewhere', string[]> {
  const all = propertiesOf(type).filter((name) => name !== 'rule');
  const path = (name: string): string => (name in members ? name : 'properties.' + name);
  const texts = ['label', 'description'];
  const isTextless = textless.includes(type);
  const supported = (names: readonly string[]): string[] => names.filter((name) => !(name in properties) || all.includes(name)).map(path);
  const other = type === 'multiple_choice' ? [...ownAppProperties, 'multiSelection'] : ownAppProperties;
  const sections = {
    top: [...(isTextless ? [] : texts), ...(supports(type, 'required') ? ['required'] : [])],
    first: supported(commonProperties.filter((name) => !other.includes(name))).filter((p) => !coveredPaths.has(p)),
    picture: supported(imageProperties.filter((name) => !ownAppProperties.includes(name))),
    elsewhere: supported(other),
  };
  const shown = new Set(Object.values(sections).flat());
  const more = [...(isTextless ? texts : []), ...all.filter((name) => name !== 'hide'), 'hide'].map(path);
  return { ...sections, more: more.filter((p) => !shown.has(p) && !coveredPaths.has(p)) };
}

/** A block's properties, except for its children. */
export function BlockProperties({ block, onPatch, errors = [], warnings = [], onRemoved, rules }: Props) {
  const { type } = block;
  const sections = sectionsOf(type);
  const lists = listsOf(type);
  const value = block as unknown as Obj;
  const hasNoOther = block.properties?.otherOption !== true && block.properties?.otherText === undefined;
  const shown = sections.first.filter((p) => p !== 'properties.otherText' || !hasNoOther);
  const scope = {
    id: block.id, value, type, errors, warnings,
    row: (path: string) => (path.startsWith('properties.') ? properties[path.slice(11)] : members[path]),
    set: (changes: Obj) => onPatch(patchFromPaths(changes)),
  };
  const isKnown = type in types;
  // Arrow keys pass through every block type on the way. Each change starts from the original block, so that nothing
  // is lost.
  const lastTypeChange = useRef<{ from: Block; result: Block } | undefined>(undefined);
  const setType = (to: string): void => {
    const was = lastTypeChange.current;
    const from = was && Object.keys(patchOf(value, { ...was.result })).length === 0 ? was.from : block;
    lastTypeChange.current = { from, result: changeType(from, to) };
    onPatch(patchOf(value, { ...lastTypeChange.current.result }));
  };
  const isOffered = (name: string): boolean => name === type || offers('block_types', name);
  const isTypeLocked = type === 'group' && (block.children?.length ?? 0) > 0;
  return (
    <ScopeContext.Provider value={scope}>
      <div class="props" key={block.id}>
        <div class="prop" data-path="/type">
          <Field label={t('props.type')} hint={isTypeLocked ? t('props.type_locked') : isKnown ? t(`props.type_hint_${type}`) : undefined}>
            {(ids) => (
              <span class="props-type">
                <Icon name={iconOf(type)} />
                <select {...ids} class="input" value={type} disabled={isTypeLocked} onChange={(e) => setType(e.currentTarget.value)}>
                  {!isKnown && <option value={type}>{type}</option>}
                  {groups.filter((g) => g.types.some(isOffered)).map((g) => (
                    <optgroup key={g.name} label={t('props.group_' + g.name)}>
                      {g.types.filter(isOffered).map((name) => <option key={name} value={name}>{typeName(name)}</option>)}
                    </optgroup>
                  ))}
                </select>
              </span>
            )}
          </Field>
        </div>
        <OtherMessages shown={[...Object.values(sections).flat(), ...coveredPaths, ...lists, 'properties.rule']} />
        <PropertyFields paths={sections.top} />
        {isObject(block.properties?.rule) && isObject(block.properties.rule.choices) ? <p class="hint">{t('props.choices_from_list')}</p> : lists.map((member) => (
          <Choices key={member} field={member} pictures={type === 'picture_choice'} colors={block.properties?.colorOption === true || !supports(type, 'colorOption')} onRemoved={onRemoved} />
        ))}
        <PropertyFields paths={shown} />
        {rules && <div data-path="/properties/rule">{rules}</div>}
        {type === 'image' ? <PropertyFields paths={sections.picture} /> : <Section title={t('props.image_section')} paths={sections.picture} />}
        <Section title={t('props.more')} paths={sections.more} closed />
        <Section title={t('props.developer')} paths={sections.elsewhere} hint={t('props.developer_hint')} closed />
      </div>
    </ScopeContext.Provider>
  );
}
