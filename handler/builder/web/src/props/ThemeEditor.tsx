import type { Detail } from '../app/api';
import { number, t } from '../app/words';
import { Icon } from '../ui/Icon';
import { hex, pairs, presets, type Pair } from './contrast';
import { Color } from './Member';
import type { Obj } from '../app/json';
import { patchFor, valueAt } from './model';
import { theme as table } from './props.gen';
import { Here, hintOf, labelOf, useMember } from './scope';
import { Rest, Section } from './Section';

const main = ['background', 'text', 'primary', 'primaryForeground'];
/** Colours that the pages of package formpage do not use. */
const elsewhere = /^(chart|sidebar|popover)/;
const colors = Object.keys(table).filter((path) => /^colors\.\w+$/.test(path)).map((path) => path.slice(7));
const further = colors.filter((name) => !main.includes(name) && !elsewhere.test(name));
const others = colors.filter((name) => elsewhere.test(name));

const begins = (...starts: string[]): string[] => Object.keys(table).filter((path) => starts.some((s) => path === s || path.startsWith(s + '.')));

/** The members of a theme by the part of the editor that they are in; the colours are in their own. */
export const themeParts: Record<string, readonly string[]> = {
  type: ['font', 'layout.baseFontSize', 'layout.pageWidth', 'corners', ...begins('size', 'alignment')],
  logo: begins('logo', 'logoPlacement', 'logoSize'),
  background: begins('background'),
  inputs: begins('inputs'),
  buttons: begins('buttons'),
};
const placed = Object.values(themeParts).flat();
export const otherTheme = Object.keys(table).filter((path) => !placed.includes(path) && !path.startsWith('colors.'));

interface Props {
  theme: Obj;
  /** The form's, whose darkMode says whether there is a dark look. */
  settings: Obj;
  /** Takes a merge patch of the theme. */
  onPatch(patch: Obj): void;
  /** By JSON Pointer into the theme. */
  faults?: readonly Detail[];
}

/** How a form looks, and what its page will correct so that it can be read. */
export function ThemeEditor({ theme, settings, onPatch, faults = [] }: Props) {
  const scope = { id: 'theme', value: theme, type: '', faults, notes: [], row: (path: string) => table[path], set: (changes: Obj) => onPatch(patchFor(changes)) };
  const dark = (names: readonly string[]): string[] => names.map((name) => 'colors.dark.' + name);
  const light = (names: readonly string[]): string[] => names.map((name) => 'colors.' + name);
  return (
    <Here.Provider value={scope}>
      <div class="props">
        <Rest shown={Object.keys(table)} />
        <h3>{t('props.theme_colors')}</h3>
        <Colors look="light" names={main} />
        <Contrast list={pairs(theme, 'light')} />
        <Section title={t('props.theme_more_colors')} paths={light(further)} closed><Colors look="light" names={further} /></Section>
        <Section title={t('props.theme_dark')} paths={dark([...main, ...further])} hint={settings.darkMode === true ? undefined : t('props.theme_no_dark')} closed>
          <Colors look="dark" names={[...main, ...further]} />
          {settings.darkMode === true && <Contrast list={pairs(theme, 'dark')} />}
        </Section>
        <Section title={t('props.theme_text')} paths={themeParts.type!} />
        {['logo', 'background', 'inputs', 'buttons'].map((part) => <Section key={part} title={t('props.theme_' + part)} paths={themeParts[part]!} closed />)}
        <Section title={t('props.more')} paths={otherTheme} closed />
        <Section title={t('props.own_apps')} paths={[]} hint={t('props.theme_own_apps')} closed>
          <Colors look="light" names={others} />
          <h4>{t('props.theme_dark')}</h4>
          <Colors look="dark" names={others} />
        </Section>
      </div>
    </Here.Provider>
  );
}

const Colors = ({ look, names }: { look: 'light' | 'dark'; names: readonly string[] }) => (
  <div class="props-colors">{names.map((name) => <OneColor key={name} look={look} name={name} />)}</div>
);

function OneColor({ look, name }: { look: 'light' | 'dark'; name: string }) {
  const path = look === 'dark' ? 'colors.dark.' + name : 'colors.' + name;
  const { scope, value, fault, pointers } = useMember(path);
  const preset = presets[look][name === 'text' ? 'foreground' : name];
  const inherited = name === 'text' || name === 'foreground' ? valueAt(scope.value, path.replace(name, name === 'text' ? 'foreground' : 'text')) : undefined;
  return (
    <div class="prop" data-path={pointers}>
      <Color
        at={`theme:${path}`} label={labelOf(path, '')} hint={hintOf(path, '')} fault={fault} value={typeof value === 'string' ? value : undefined}
        hexOnly fallback={hex(inherited) ?? preset ?? (name === 'primaryForeground' ? '#ffffff' : undefined)} set={(v) => scope.set({ [path]: v })}
      />
    </div>
  );
}

const sample = (color: string, on: string) => (
  <span class="props-sample" aria-hidden="true" ref={(el) => void (el && ((el.style.color = color), (el.style.background = on)))} />
);

/** What can be read, what cannot, and what the page makes of it. */
function Contrast({ list }: { list: readonly Pair[] }) {
  const poor = list.filter((p) => p.ratio < p.least);
  return (
    <div class="props-contrast" role="status">
      <p class={poor.length > 0 ? 'props-verdict poor' : 'props-verdict'}>
        <Icon name={poor.length > 0 ? 'triangle-alert' : 'circle-check'} />
        {poor.length > 0 ? t('props.contrast_poor', { n: poor.length }) : t('props.contrast_good')}
      </p>
      <ul>
        {list.map((p) => (
          <li key={p.name} class={p.ratio < p.least ? 'poor' : undefined}>
            {sample(p.wanted, p.on)}
            <span>
              {t('props.pair_' + p.name)} <b>{number(Math.floor(p.ratio * 10) / 10)} : 1</b>
              {p.ratio < p.least && (
                <span class="hint">
                  {p.used === p.wanted ? t('props.contrast_unchanged', { least: p.least }) : t('props.contrast_corrected', { least: p.least, color: p.used })}
                </span>
              )}
            </span>
            {p.ratio < p.least && p.used !== p.wanted && sample(p.used, p.on)}
          </li>
        ))}
      </ul>
    </div>
  );
}
