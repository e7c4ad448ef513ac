import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { config } from '../app/config';
import { textMarks } from '../app/text';
import { t } from '../app/words';
import { Select, Switch } from '../ui/Field';
import { parseHex } from './contrast';
import { DateList } from './DateList';
import { DraftField, plainText } from './DraftField';
import { FileTypes } from './FileTypes';
import { isObject } from '../app/json';
import { AddressParts } from './AddressParts';
import { ImageField } from './ImageField';
import { MarkedField } from './MarkedField';
import { types } from './props.gen';
import { hintOf, labelOf, useProperty } from './scope';
import {
  completeURL, countries, ValueError, parseAmount, parseCurrency, timeToDay, parseHexColor, inputToTime, parseNumber, parseURL, timeToInput, formatNumberInput, dayToTime, type Bounds,
} from './values';

/** Properties that take effect only if a switch is on. One control sets both. */
const switches: Record<string, string> = { min: 'minVal', max: 'maxVal', firstLabel: 'leftLabel', secondLabel: 'centerLabel', thirdLabel: 'rightLabel' };

/** Properties that another property's control sets. */
export const coveredPaths = new Set(['properties.verticalAlign', ...Object.values(switches).map((name) => 'properties.' + name)]);

/** Limits that the API description lacks but that useful values need. */
const extraBounds: Record<string, Bounds> = {
  maxChars: { min: 1 }, limit: { min: 1 }, perRow: { min: 1, max: 12 }, scaleStep: { above: 0 }, imageWidth: { min: 1 }, responseLimit: { min: 1 },
  to_rating: { min: 1 }, background_brightness: { min: 0 },
};

/** Common values for text properties, each with a word key. Other values can be typed. */
const commonValues: Record<string, readonly (readonly [value: string, key: string])[]> = {
  font: [['serif', 'serif'], ['rounded', 'rounded'], ['mono', 'mono']],
  'layout.pageWidth': [['narrow', 'narrow'], ['medium', 'medium'], ['wide', 'wide'], ['full', 'full']],
  'layout.baseFontSize': [['14px', 'small'], ['16px', 'default'], ['18px', 'large'], ['20px', 'larger']],
  'background.layout': [['cover', 'cover'], ['contain', 'contain'], ['repeat', 'repeat']],
  'logoPlacement.align': [['left', 'left'], ['center', 'center'], ['right', 'right']],
  'logoPlacement.vertical': [['top', 'top'], ['bottom', 'bottom']],
  'buttons.alignment': [['left', 'left'], ['center', 'center'], ['right', 'right'], ['full', 'full']],
  coverHeight: [['120px', 'small'], ['240px', 'default'], ['360px', 'large']],
};
const sides = [['0', 'left'], ['1', 'center'], ['2', 'right']] as const;
const sizes = [['0', 'small'], ['1', 'default'], ['2', 'large'], ['3', 'larger']] as const;

const word = (key: string): string => t('props.' + key);

/** A selection of common values, with a text field for other values. */
export function CommonValueField({ path, options, at, value, label, hint, error, set, parse = plainText.parse }: {
  path: string; options: readonly (readonly [string, string])[]; at: string; value: string; label: string; hint: string | undefined; error: string | undefined;
  set(value: string | undefined): void; parse?: typeof parseCurrency;
}) {
  const [custom, setCustom] = useState(false);
  const isCustom = custom || (value !== '' && !options.some(([v]) => v === value));
  const choose = (v: string): void => {
    setCustom(v === '\u0000');
    if (v !== '\u0000') set(v || undefined);
  };
  return (
    <div class="props-preset">
      <Select label={label} hint={hint} error={isCustom ? undefined : error} value={isCustom ? '\u0000' : value} options={[['', word('automatic')], ...options, ['\u0000', word('custom')]]} onChange={choose} />
      {isCustom && <DraftField at={at} label={`${label}: ${word('custom')}`} hideLabel hint={path in commonValues ? word('custom_hint') : undefined} error={error} value={value || undefined} format={plainText.format} parse={parse} set={set} />}
    </div>
  );
}

/** The control for a property, based on the API description. */
export function PropertyField({ path }: { path: string }) {
  const name = path.split('.').at(-1)!;
  const switchName = path.startsWith('properties.') ? switches[name] : undefined;
  const { scope, value, row, error, warning, pointers } = useProperty(
    path,
    switchName ? ['properties.' + switchName] : name === 'horizontalAlign' ? ['properties.verticalAlign'] : [],
    showsInnerErrors(path),
  );
  const { type } = scope;
  const label = labelOf(path, type);
  const hintText = hintOf(path, type);
  const hint: ComponentChildren = warning ? <>{hintText} <span class="props-note">{warning}</span></> : hintText;
  const fieldProps = { label, hint, error };
  const at = `${scope.id}:${path}`;
  const set = (v: unknown): void => scope.set({ [path]: v });
  const string = typeof value === 'string' ? value : '';
  const isHalfWidth = !hintText && !row?.words && /number|integer|^date$/.test(row?.type ?? '') && !/^(size|alignment)|(disabledDays|weekStartsOn|openAt|closeAt)$/.test(path);
  const wrap = (control: ComponentChildren) => <div class={isHalfWidth ? 'prop half' : 'prop'} data-path={pointers}>{control}</div>;
  if (!row) return null;

  const isOn = (v: unknown): boolean => (scope.value.properties as Record<string, unknown> | undefined)?.[switchName!] === true && v !== undefined;
  const shared = { ...fieldProps, at };
  const numberField = (bounds: Bounds, v: unknown, put: (n: number | undefined) => void, placeholder?: string) => (
    <DraftField {...shared} decimal value={typeof v === 'number' ? v : undefined} format={formatNumberInput} parse={(s) => parseNumber(s, bounds)} set={put} placeholder={placeholder} />
  );
  const urlField = (link: boolean) => <DraftField {...shared} type="text" value={string || undefined} format={plainText.format} parse={(s) => parseURL(s, link)} set={set} complete={completeURL} placeholder="https://" />;
  const selectField = (options: readonly (readonly [string, string])[], current: string, put: (v: string) => void) => wrap(
    <Select {...fieldProps} value={current} onChange={put} options={options.some(([v]) => v === current) ? options : [...options, [current, current]]} />,
  );
  const commonValueField = (options: readonly (readonly [string, string])[], isNumber: boolean) => wrap(
    <CommonValueField
      {...fieldProps} hint={hintText} path={path} at={at} options={options} value={isNumber ? formatNumberInput(value as number | undefined) : string}
      set={(v) => set(isNumber ? parseNumber(v ?? '') : v)}
      parse={(s) => (isNumber && parseNumber(s) instanceof ValueError ? (parseNumber(s) as ValueError) : s || undefined)}
    />,
  );

  // One control sets two properties.
  if (switchName && row.type === 'number') {
    return wrap(numberField({}, isOn(value) ? value : undefined, (n) => scope.set({ [path]: n, ['properties.' + switchName]: n === undefined ? undefined : true }), word('no_limit')));
  }
  if (switchName) {
    const isAlwaysOn = type === 'nps' && name !== 'secondLabel';
    return wrap(
      <DraftField {...shared} value={isOn(value) || isAlwaysOn ? string || undefined : undefined} {...plainText} set={(v) => scope.set({ [path]: v, ['properties.' + switchName]: v === undefined ? undefined : true })} />,
    );
  }
  if (name === 'horizontalAlign') {
    const properties = (scope.value.properties ?? {}) as Record<string, unknown>;
    const now = properties.horizontalAlign ? 'row' : properties.verticalAlign ? 'column' : '';
    return selectField([['', word('automatic')], ['row', word('in_row')], ['column', word('in_column')]], now, (v) =>
      scope.set({ 'properties.horizontalAlign': v === 'row' || undefined, 'properties.verticalAlign': v === 'column' || undefined }));
  }
  // Numbers and text with a fixed set of values.
  if (path === 'properties.weekStartsOn') {
    const days = [1, 2, 3, 4, 5, 6, 0].map((d) => [String(d), weekdayName(d, 'long')] as const);
    return selectField([['', word('automatic')], ...days], typeof value === 'number' ? String(value) : '', (v) => set(v === '' ? undefined : Number(v)));
  }
  if (path === 'properties.disabledDays') return wrap(<Weekdays label={label} hint={hint} error={error} value={typeof value === 'number' ? value : 0} set={(v) => set(v || undefined)} />);
  if (path.startsWith('alignment.') || path.startsWith('size.')) return commonValueField((path.startsWith('size.') ? sizes : sides).map(([v, key]) => [v, word('preset_' + key)]), true);
  if (path in commonValues) return commonValueField(commonValues[path]!.map(([v, key]) => [v, word('preset_' + key)]), false);
  if (path === 'properties.currency') {
    const codes = ['EUR', 'USD', 'GBP', 'CHF', 'CAD', 'AUD', 'JPY', 'SEK', 'NOK', 'DKK', 'PLN', 'CZK'];
    const name = new Intl.DisplayNames(config.language, { type: 'currency' });
    return wrap(<CommonValueField {...fieldProps} hint={hintText} path={path} at={at} options={codes.map((c) => [c, `${c} – ${name.of(c)}`])} value={string} set={set} parse={parseCurrency} />);
  }
  if (path === 'properties.amount') return wrap(<DraftField {...shared} decimal value={string || undefined} format={plainText.format} parse={parseAmount} set={set} placeholder="10.00" />);
  if (path === 'openAt' || path === 'closeAt') return wrap(<DraftField {...shared} type="datetime-local" value={string || undefined} format={timeToInput} parse={inputToTime} set={set} />);
  if (row.type === 'integer' || row.type === 'number') {
    if (row.words) return selectField([['', word('automatic')], ...row.words.map((w) => [w, word(`${name}_${w}`)] as const)], typeof value === 'number' ? String(value) : '', (v) => set(v === '' ? undefined : Number(v)));
    const bounds = { min: row.min, max: row.max, ...extraBounds[`${name}_${type}`], ...extraBounds[path.replace('properties.', '').replaceAll('.', '_')] };
    return wrap(numberField({ integer: row.type === 'integer', ...bounds }, value, set, scaleDefault(name, type) ?? (/^(maxChars|limit|responseLimit)$/.test(name) ? word('no_limit') : undefined)));
  }
  switch (row.type) {
    case 'boolean':
      return wrap(<Switch {...fieldProps} value={value === true} onChange={(on) => set(on || undefined)} />);
    case 'word':
      return selectField([...(row.default ? [] : [['', word('automatic')] as const]), ...row.words!.map((w) => [w, word(`${name}_${w}`)] as const)], string || row.default || '', (v) => set(v === '' || v === row.default ? undefined : v));
    case 'country':
      return selectField([['', word('no_country')], ...countries()], string.toUpperCase(), (v) => set(v || undefined));
    case 'url': case 'link':
      return wrap(urlField(row.type === 'link'));
    case 'date':
      return wrap(<DraftField {...shared} type="date" value={string || undefined} format={timeToDay} parse={(s) => (s ? dayToTime(s) : undefined)} set={set} />);
    case 'dates':
      return wrap(<DateList {...fieldProps} value={Array.isArray(value) ? value : []} set={set} />);
    case 'texts':
      return wrap(<FileTypes {...fieldProps} at={at} value={Array.isArray(value) ? (value as string[]) : []} set={set} />);
    case 'color':
      return wrap(<ColorField {...shared} hexOnly={row.hex ?? false} value={string || undefined} set={set} fallback={undefined} />);
    case 'parts':
      return wrap(<AddressParts path={path} label={label} hint={hint} error={error} value={isObject(value) ? value : {}} set={scope.set} />);
    case 'object': case 'image':
      return wrap(<ImageField {...shared} hideLabel={path === 'logo' || path === 'properties.image'} value={value} maxLength={150_000} set={set} />);
  }
  const marks = textMarks[path];
  if (marks) {
    const values = path === 'closedMessage' ? 'variables' : 'all'; // a closed form has no answers
    return wrap(<MarkedField {...fieldProps} key={at} value={string} onInput={(v) => set(v || undefined)} marks={marks} multiline={marks.formatting !== false} values={values} />);
  }
  return wrap(<DraftField {...shared} rows={path === 'customCss' ? 10 : 0} code={path === 'customCss'} value={string || undefined} {...plainText} set={set} placeholder={name === 'otherText' ? word('other') : undefined} />);
}

/** Reports whether errors inside a property are shown next to its control. */
const showsInnerErrors = (path: string): boolean => /(specificDates|allowedFiles|addressOrContact|mage|logo)$/.test(path);

/** Returns a scale's default. */
function scaleDefault(name: string, type: string): string | undefined {
  const n = types[type]?.scale?.[['from', 'to', 'scaleStep'].indexOf(name)];
  return n === undefined ? undefined : String(n);
}

export function ColorField({ at, label, hint, error, value, hexOnly, fallback, set }: {
  at: string; label: string; hint?: ComponentChildren; error?: string | undefined; value: string | undefined; hexOnly: boolean; fallback: string | undefined; set(v: string | undefined): void;
}) {
  return (
    <DraftField
      at={at} label={label} hint={hint} error={error} value={value} format={plainText.format} parse={hexOnly ? parseHexColor : plainText.parse} set={set} placeholder={fallback ?? '#rrggbb'}
      prefix={<input type="color" aria-label={label} value={parseHex(value) ?? fallback ?? '#ffffff'} class={value ? undefined : 'unset'} onInput={(e) => set(e.currentTarget.value)} />}
    />
  );
}

// January 1, 2023 was a Sunday.
export const weekdayName = (day: number, width: 'long' | 'short'): string =>
  new Intl.DateTimeFormat(config.language, { weekday: width, timeZone: 'UTC' }).format(new Date(Date.UTC(2023, 0, 1 + day)));

/** Selects the available weekdays. The value's bits are the disabled days. */
function Weekdays({ label, hint, error, value, set }: { label: string; hint: ComponentChildren; error: string | undefined; value: number; set(v: number): void }) {
  return (
    <fieldset class="props-set">
      <legend>{label}</legend>
      <div class="props-week">
        {[1, 2, 3, 4, 5, 6, 0].map((d) => (
          <button key={d} type="button" class="button small" title={weekdayName(d, 'long')} aria-pressed={(value >> d) % 2 === 0} onClick={() => set(value ^ (1 << d))}>{weekdayName(d, 'short')}</button>
        ))}
      </div>
      {value === 127 && <p class="props-note">{word('no_weekday')}</p>}
      {hint && <p class="hint">{hint}</p>}
      {error && <p class="fault">{error}</p>}
    </fieldset>
  );
}
