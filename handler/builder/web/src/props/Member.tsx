import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { config } from '../app/config';
import { t } from '../app/words';
import { Select, Switch } from '../ui/Field';
import { hex } from './contrast';
import { Dates } from './Dates';
import { Draft, plain } from './Draft';
import { Files } from './Files';
import { isObject } from '../app/json';
import { Parts } from './Parts';
import { Picture } from './Picture';
import { types } from './props.gen';
import { hintOf, labelOf, useMember } from './scope';
import {
  completeURL, countries, Fault, readAmount, readCurrency, readDay, readHex, readMoment, readNumber, readURL, showMoment, showNumber, writeDay, type Bounds,
} from './values';

/** Members that a switch turns on where they have a value: one control sets both. */
const switches: Record<string, string> = { min: 'minVal', max: 'maxVal', firstLabel: 'leftLabel', secondLabel: 'centerLabel', thirdLabel: 'rightLabel' };

/** Members that the control of another one sets. */
export const covered = new Set(['properties.verticalAlign', ...Object.values(switches).map((name) => 'properties.' + name)]);

/** Bounds that a value has to make sense, where the description has none. */
const sensible: Record<string, Bounds> = {
  maxChars: { min: 1 }, limit: { min: 1 }, perRow: { min: 1, max: 12 }, scaleStep: { above: 0 }, imageWidth: { min: 1 }, responseLimit: { min: 1 },
  to_rating: { min: 1 }, background_brightness: { min: 0 },
};

/** Texts with a few usual values: key of a word and value. Others can be typed. */
const usual: Record<string, readonly (readonly [value: string, key: string])[]> = {
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

const text = (key: string): string => t('props.' + key);

/** Usual values to choose from, and any other one typed. */
export function Usual({ path, options, at, value, label, hint, fault, set, read = plain.read }: {
  path: string; options: readonly (readonly [string, string])[]; at: string; value: string; label: string; hint: string | undefined; fault: string | undefined;
  set(value: string | undefined): void; read?: typeof readCurrency;
}) {
  const [own, setOwn] = useState(false);
  const isOwn = own || (value !== '' && !options.some(([v]) => v === value));
  const choose = (v: string): void => {
    setOwn(v === '\u0000');
    if (v !== '\u0000') set(v || undefined);
  };
  return (
    <div class="props-usual">
      <Select label={label} hint={hint} fault={isOwn ? undefined : fault} value={isOwn ? '\u0000' : value} options={[['', text('automatic')], ...options, ['\u0000', text('custom')]]} onChange={choose} />
      {isOwn && <Draft at={at} label={`${label}: ${text('custom')}`} bare hint={path in usual ? text('custom_hint') : undefined} fault={fault} value={value || undefined} show={plain.show} read={read} set={set} />}
    </div>
  );
}

/** The control of one member, by what the description says of it. */
export function Member({ path, label: given, bare }: { path: string; label?: string; bare?: boolean }) {
  const name = path.split('.').at(-1)!;
  const partner = path.startsWith('properties.') ? switches[name] : undefined;
  const { scope, value, row, fault, note, pointers } = useMember(
    path,
    partner ? ['properties.' + partner] : name === 'horizontalAlign' ? ['properties.verticalAlign'] : [],
    hasInside(path),
  );
  const { type } = scope;
  const label = given ?? labelOf(path, type);
  const said = hintOf(path, type);
  const hint: ComponentChildren = note ? <>{said} <span class="props-note">{note}</span></> : said;
  const around = { label, bare: bare ?? false, hint, fault };
  const at = `${scope.id}:${path}`;
  const set = (v: unknown): void => scope.set({ [path]: v });
  const string = typeof value === 'string' ? value : '';
  const half = !said && !row?.words && /number|integer|^date$/.test(row?.type ?? '') && !/^(size|alignment)|(disabledDays|weekStartsOn|closeAt)$/.test(path);
  const wrap = (control: ComponentChildren) => <div class={half ? 'prop half' : 'prop'} data-path={pointers}>{control}</div>;
  if (!row) return null;

  const isOn = (v: unknown): boolean => (scope.value.properties as Record<string, unknown> | undefined)?.[partner!] === true && v !== undefined;
  const shared = { ...around, at };
  const number = (bounds: Bounds, v: unknown, put: (n: number | undefined) => void, placeholder?: string) => (
    <Draft {...shared} decimal value={typeof v === 'number' ? v : undefined} show={showNumber} read={(s) => readNumber(s, bounds)} set={put} placeholder={placeholder} />
  );
  const url = (link: boolean) => <Draft {...shared} type="text" value={string || undefined} show={plain.show} read={(s) => readURL(s, link)} set={set} tidy={completeURL} placeholder="https://" />;
  const choose = (options: readonly (readonly [string, string])[], current: string, put: (v: string) => void) => wrap(
    <Select {...around} value={current} onChange={put} options={options.some(([v]) => v === current) ? options : [...options, [current, current]]} />,
  );
  const usually = (options: readonly (readonly [string, string])[], isNumber: boolean) => wrap(
    <Usual
      {...around} hint={said} path={path} at={at} options={options} value={isNumber ? showNumber(value as number | undefined) : string}
      set={(v) => set(isNumber ? readNumber(v ?? '') : v)}
      read={(s) => (isNumber && readNumber(s) instanceof Fault ? (readNumber(s) as Fault) : s || undefined)}
    />,
  );

  // One control for two members.
  if (partner && row.type === 'number') {
    return wrap(number({}, isOn(value) ? value : undefined, (n) => scope.set({ [path]: n, ['properties.' + partner]: n === undefined ? undefined : true }), text('no_limit')));
  }
  if (partner) {
    const always = type === 'nps' && name !== 'secondLabel';
    return wrap(
      <Draft {...shared} value={isOn(value) || always ? string || undefined : undefined} {...plain} set={(v) => scope.set({ [path]: v, ['properties.' + partner]: v === undefined ? undefined : true })} />,
    );
  }
  if (name === 'horizontalAlign') {
    const properties = (scope.value.properties ?? {}) as Record<string, unknown>;
    const now = properties.horizontalAlign ? 'row' : properties.verticalAlign ? 'column' : '';
    return choose([['', text('automatic')], ['row', text('in_row')], ['column', text('in_column')]], now, (v) =>
      scope.set({ 'properties.horizontalAlign': v === 'row' || undefined, 'properties.verticalAlign': v === 'column' || undefined }));
  }
  // Numbers and texts that mean one of a few things.
  if (path === 'properties.weekStartsOn') {
    const days = [1, 2, 3, 4, 5, 6, 0].map((d) => [String(d), weekday(d, 'long')] as const);
    return choose([['', text('automatic')], ...days], typeof value === 'number' ? String(value) : '', (v) => set(v === '' ? undefined : Number(v)));
  }
  if (path === 'properties.disabledDays') return wrap(<Weekdays label={label} hint={hint} fault={fault} value={typeof value === 'number' ? value : 0} set={(v) => set(v || undefined)} />);
  if (path.startsWith('alignment.') || path.startsWith('size.')) return usually((path.startsWith('size.') ? sizes : sides).map(([v, key]) => [v, text('usual_' + key)]), true);
  if (path in usual) return usually(usual[path]!.map(([v, key]) => [v, text('usual_' + key)]), false);
  if (path === 'properties.currency') {
    const codes = ['EUR', 'USD', 'GBP', 'CHF', 'CAD', 'AUD', 'JPY', 'SEK', 'NOK', 'DKK', 'PLN', 'CZK'];
    const name = new Intl.DisplayNames(config.language, { type: 'currency' });
    return wrap(<Usual {...around} hint={said} path={path} at={at} options={codes.map((c) => [c, `${c} – ${name.of(c)}`])} value={string} set={set} read={readCurrency} />);
  }
  if (path === 'properties.amount') return wrap(<Draft {...shared} decimal value={string || undefined} show={plain.show} read={readAmount} set={set} placeholder="10.00" />);
  if (path === 'closeAt') return wrap(<Draft {...shared} type="datetime-local" value={string || undefined} show={showMoment} read={readMoment} set={set} />);
  if (row.type === 'integer' || row.type === 'number') {
    if (row.words) return choose([['', text('automatic')], ...row.words.map((w) => [w, text(`${name}_${w}`)] as const)], typeof value === 'number' ? String(value) : '', (v) => set(v === '' ? undefined : Number(v)));
    const bounds = { min: row.min, max: row.max, ...sensible[`${name}_${type}`], ...sensible[path.replace('properties.', '').replaceAll('.', '_')] };
    return wrap(number({ integer: row.type === 'integer', ...bounds }, value, set, scalePart(name, type) ?? (/^(maxChars|limit|responseLimit)$/.test(name) ? text('no_limit') : undefined)));
  }
  switch (row.type) {
    case 'boolean':
      return wrap(<Switch {...around} value={value === true} onChange={(on) => set(on || undefined)} />);
    case 'word':
      return choose([...(row.default ? [] : [['', text('automatic')] as const]), ...row.words!.map((w) => [w, text(`${name}_${w}`)] as const)], string || row.default || '', (v) => set(v === '' || v === row.default ? undefined : v));
    case 'country':
      return choose([['', text('no_country')], ...countries()], string.toUpperCase(), (v) => set(v || undefined));
    case 'url': case 'link':
      return wrap(url(row.type === 'link'));
    case 'date':
      return wrap(<Draft {...shared} type="date" value={string || undefined} show={readDay} read={(s) => (s ? writeDay(s) : undefined)} set={set} />);
    case 'dates':
      return wrap(<Dates {...around} at={at} value={Array.isArray(value) ? value : []} set={set} />);
    case 'texts':
      return wrap(<Files {...around} at={at} value={Array.isArray(value) ? (value as string[]) : []} set={set} />);
    case 'color':
      return wrap(<Color {...shared} hexOnly={row.hex ?? false} value={string || undefined} set={set} fallback={undefined} />);
    case 'parts':
      return wrap(<Parts path={path} label={label} hint={hint} fault={fault} value={isObject(value) ? value : {}} set={scope.set} />);
    case 'object': case 'image':
      return wrap(<Picture at={at} label={label} bare={path === 'logo' || path === 'properties.image'} value={value} fault={fault} most={150_000} set={set} />);
  }
  const rows = path === 'customCss' ? 10 : ['label', 'description', 'properties.legalText', 'closedMessage'].includes(path) ? 1 : 0;
  return wrap(<Draft {...shared} rows={rows} code={path === 'customCss'} value={string || undefined} {...plain} set={set} placeholder={name === 'otherText' ? text('other') : undefined} />);
}

/** Whether faults inside of a member are shown at its control. */
const hasInside = (path: string): boolean => /(specificDates|allowedFiles|addressOrContact|mage|logo)$/.test(path);

/** What counts where a scale says nothing else. */
function scalePart(name: string, type: string): string | undefined {
  const n = types[type]?.scale?.[['from', 'to', 'scaleStep'].indexOf(name)];
  return n === undefined ? undefined : String(n);
}

export function Color({ at, label, bare, hint, fault, value, hexOnly, fallback, set }: {
  at: string; label: string; bare?: boolean; hint?: ComponentChildren; fault?: string | undefined; value: string | undefined; hexOnly: boolean; fallback: string | undefined; set(v: string | undefined): void;
}) {
  return (
    <Draft
      at={at} label={label} bare={bare ?? false} hint={hint} fault={fault} value={value} show={plain.show} read={hexOnly ? readHex : plain.read} set={set} placeholder={fallback ?? '#rrggbb'}
      before={<input type="color" aria-label={label} value={hex(value) ?? fallback ?? '#ffffff'} class={value ? undefined : 'unset'} onInput={(e) => set(e.currentTarget.value)} />}
    />
  );
}

// 2023 began on a Sunday.
export const weekday = (day: number, width: 'long' | 'short'): string =>
  new Intl.DateTimeFormat(config.language, { weekday: width, timeZone: 'UTC' }).format(new Date(Date.UTC(2023, 0, 1 + day)));

/** The days of the week that can be chosen; in the value are the bits of the others. */
function Weekdays({ label, hint, fault, value, set }: { label: string; hint: ComponentChildren; fault: string | undefined; value: number; set(v: number): void }) {
  return (
    <fieldset class="props-set">
      <legend>{label}</legend>
      <div class="props-week">
        {[1, 2, 3, 4, 5, 6, 0].map((d) => (
          <button key={d} type="button" class="button small" title={weekday(d, 'long')} aria-pressed={(value >> d) % 2 === 0} onClick={() => set(value ^ (1 << d))}>{weekday(d, 'short')}</button>
        ))}
      </div>
      {value === 127 && <p class="props-note">{text('no_weekday')}</p>}
      {hint && <p class="hint">{hint}</p>}
      {fault && <p class="fault">{fault}</p>}
    </fieldset>
  );
}
