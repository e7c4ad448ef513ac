import type { Detail } from '../app/api';
import { config } from '../app/config';
import { formatNumber, t } from '../app/words';
import { Icon } from '../ui/Icon';
import { parseHex, contrastPairs, presets, type Pair } from './contrast';
import { ColorField } from './PropertyField';
import type { Obj } from '../app/json';
import { patchFromPaths, valueAt } from './model';
import { theme as table } from './props.gen';
import { ScopeContext, hintOf, labelOf, useProperty } from './scope';
import { OtherMessages, Section } from './Section';

const mainColors = ['background', 'text', 'primary', 'primaryForeground'];
/** Colors that the form page does not use. */
const ownAppColors = /^(chart|sidebar|popover)/;
const colors = Object.keys(table).filter((path) => /^colors\.\w+$/.test(path)).map((path) => path.slice(7));
const moreColors = colors.filter((name) => !mainColors.includes(name) && !ownAppColors.test(name));
const otherColors = colors.filter((name) => ownAppColors.test(name));

const pathsUnder = (...starts: string[]): string[] => Object.keys(table).filter((path) => starts.some((s) => path === s || path.startsWith(s + '.')));

/** The theme properties by section. Colors have their own sections. */
export const themeSections: Record<string, readonly string[]> = {
  type: ['font', 'layout.baseFontSize', 'layout.pageWidth', 'corners', ...pathsUnder('size', 'alignment')],
  logo: pathsUnder('logo', 'logoPlacement', 'logoSize'),
  background: pathsUnder('background'),
  inputs: pathsUnder('inputs'),
  buttons: pathsUnder('buttons'),
};
const listed = Object.values(themeSections).flat();
export const otherTheme = Object.keys(table).filter((path) => !listed.includes(path) && !path.startsWith('colors.'));

interface Props {
  theme: Obj;
  /** The form's settings. darkMode enables dark mode. */
  settings: Obj;
  /** Receives a merge patch for the theme. */
  onPatch(patch: Obj): void;
  /** Errors, with JSON Pointers into the theme. */
  errors?: readonly Detail[];
}

/** Edits a form's theme, and shows how the form page adjusts colors for contrast. */
export function ThemeEditor({ theme, settings, onPatch, errors = [] }: Props) {
  const offered = (path: string) => path !== 'customCss' || !config.offer?.no_custom_css;
  const scope = { offered, id: 'theme', value: theme, type: '', errors, warnings: [], row: (path: string) => table[path], set: (changes: Obj) => onPatch(patchFromPaths(changes)) };
  const dark = (names: readonly string[]): string[] => names.map((name) => 'colors.dark.' + name);
  const light = (names: readonly string[]): string[] => names.map((name) => 'colors.' + name);
  return (
    <ScopeContext.Provider value={scope}>
      <div class="props">
        <OtherMessages shown={Object.keys(table)} />
        <h3>{t('props.theme_colors')}</h3>
        <Colors look="light" names={mainColors} />
        <ContrastReport list={contrastPairs(theme, 'light')} />
        <Section title={t('props.theme_more_colors')} paths={light(moreColors)} closed><Colors look="light" names={moreColors} /></Section>
        <Section title={t('props.theme_dark')} paths={dark([...mainColors, ...moreColors])} hint={settings.darkMode === true ? undefined : t('props.theme_no_dark')} closed>
          <Colors look="dark" names={[...mainColors, ...moreColors]} />
          {settings.darkMode === true && <ContrastReport list={contrastPairs(theme, 'dark')} />}
        </Section>
        <Section title={t('props.theme_text')} paths={themeSections.type!} />
        {['logo', 'background', 'inputs', 'buttons'].map((part) => <Section key={part} title={t('props.theme_' + part)} paths={themeSections[part]!} closed />)}
        <Section title={t('props.more')} paths={otherTheme} closed />
        <Section title={t('props.developer')} paths={[]} hint={t('props.developer_colors_hint')} closed>
          <Colors look="light" names={otherColors} />
          <h4>{t('props.theme_dark')}</h4>
          <Colors look="dark" names={otherColors} />
        </Section>
      </div>
    </ScopeContext.Provider>
  );
}

const Colors = ({ look, names }: { look: 'light' | 'dark'; names: readonly string[] }) => (
  <div class="props-colors">{names.map((name) => <ThemeColor key={name} look={look} name={name} />)}</div>
);

function ThemeColor({ look, name }: { look: 'light' | 'dark'; name: string }) {
  const path = look === 'dark' ? 'colors.dark.' + name : 'colors.' + name;
  const { scope, value, error, pointers } = useProperty(path);
  const preset = presets[look][name === 'text' ? 'foreground' : name];
  const inherited = name === 'text' || name === 'foreground' ? valueAt(scope.value, path.replace(name, name === 'text' ? 'foreground' : 'text')) : undefined;
  return (
    <div class="prop" data-path={pointers}>
      <ColorField
        at={`theme:${path}`} label={labelOf(path, '')} hint={hintOf(path, '')} error={error} value={typeof value === 'string' ? value : undefined}
        hexOnly fallback={parseHex(inherited) ?? preset ?? (name === 'primaryForeground' ? '#ffffff' : undefined)} set={(v) => scope.set({ [path]: v })}
      />
    </div>
  );
}

const colorSample = (color: string, on: string) => (
  <span class="props-sample" aria-hidden="true" ref={(el) => void (el && ((el.style.color = color), (el.style.background = on)))} />
);

/** Shows the contrast of each color pair and the adjusted color. */
function ContrastReport({ list }: { list: readonly Pair[] }) {
  const poor = list.filter((p) => p.ratio < p.min);
  return (
    <div class="props-contrast" role="status">
      <p class={poor.length > 0 ? 'props-verdict poor' : 'props-verdict'}>
        <Icon name={poor.length > 0 ? 'triangle-alert' : 'circle-check'} />
        {poor.length > 0 ? t('props.contrast_poor', { n: poor.length }) : t('props.contrast_good')}
      </p>
      <ul>
        {list.map((p) => (
          <li key={p.name} class={p.ratio < p.min ? 'poor' : undefined}>
            {colorSample(p.original, p.on)}
            <span>
              {t('props.pair_' + p.name)} <b>{formatNumber(Math.floor(p.ratio * 10) / 10)} : 1</b>
              {p.ratio < p.min && (
                <span class="hint">
                  {p.used === p.original ? t('props.contrast_unchanged', { minimum: p.min }) : t('props.contrast_corrected', { minimum: p.min, color: p.used })}
                </span>
              )}
            </span>
            {p.ratio < p.min && p.used !== p.original && colorSample(p.used, p.on)}
          </li>
        ))}
      </ul>
    </div>
  );
}
