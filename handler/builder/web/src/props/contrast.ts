// The color adjustments that the form page makes for WCAG 2.2 AA contrast. The code matches package formpage's
// internal/theme. testdata/contrast.json tests both.
import { isObject, type Obj } from '../app/json';
import { valueAt } from './model';

type RGB = readonly [number, number, number];

const white: RGB = [255, 255, 255];
const black: RGB = [0, 0, 0];

const named: Record<string, RGB> = {
  white, black, red: [255, 0, 0], green: [0, 128, 0], blue: [0, 0, 255], yellow: [255, 255, 0], orange: [255, 165, 0], purple: [128, 0, 128],
  pink: [255, 192, 203], gray: [128, 128, 128], grey: [128, 128, 128], teal: [0, 128, 128], navy: [0, 0, 128], maroon: [128, 0, 0],
  olive: [128, 128, 0], lime: [0, 255, 0], aqua: [0, 255, 255], cyan: [0, 255, 255], fuchsia: [255, 0, 255], magenta: [255, 0, 255],
  silver: [192, 192, 192], brown: [165, 42, 42], gold: [255, 215, 0], beige: [245, 245, 220], tan: [210, 180, 140], coral: [255, 127, 80],
  indigo: [75, 0, 130], violet: [238, 130, 238], turquoise: [64, 224, 208], salmon: [250, 128, 114],
};

function parseColor(value: unknown): RGB | undefined {
  if (typeof value !== 'string') return undefined;
  const text = value.trim().toLowerCase();
  let hex = /^#([0-9a-f]{3,8})$/.exec(text)?.[1] ?? '';
  if (hex.length === 3 || hex.length === 4) hex = [...hex.slice(0, 3)].map((d) => d + d).join('');
  if (hex.length === 6 || hex.length === 8) return [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)) as unknown as RGB;
  const plain = /^rgb\([ ,]*(\d+)[ ,]+(\d+)[ ,]+(\d+)[ ,]*\)$/.exec(text)?.slice(1).map(Number);
  if (plain?.every((n) => n <= 255)) return plain as unknown as RGB;
  return Object.hasOwn(named, text) ? named[text] : undefined;
}

/** Returns a color as #rrggbb, or undefined if it is invalid. */
export const parseHex = (value: unknown): string | undefined => {
  const color = parseColor(value);
  return color && toHex(color);
};

const toHex = (c: RGB): string => '#' + c.map((n) => n.toString(16).padStart(2, '0')).join('');

function luminance(c: RGB): number {
  const [r, g, b] = c.map((n) => (n / 255 <= 0.04045 ? n / 255 / 12.92 : ((n / 255 + 0.055) / 1.055) ** 2.4)) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a: RGB, b: RGB): number {
  const [x, y] = [luminance(a), luminance(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

const blend = (a: RGB, b: RGB, share: number): RGB => a.map((n, i) => Math.round(n * share + b[i]! * (1 - share))) as unknown as RGB;

function adjustContrast(c: RGB, on: RGB, ratio: number): RGB {
  if (contrast(c, on) >= ratio) return c;
  const target = contrast(white, on) > contrast(black, on) ? white : black;
  for (let share = 0.95; share > 0; share -= 0.05) {
    const moved = blend(c, target, share);
    if (contrast(moved, on) >= ratio) return moved;
  }
  return target;
}

function blackOrWhite(c: RGB, on: RGB): RGB {
  if (contrast(c, on) >= 4.5) return c;
  return contrast(white, on) >= 4.5 ? white : black;
}

const firstColor = (...values: unknown[]): RGB => {
  for (const value of values) {
    const color = parseColor(value);
    if (color) return color;
  }
  return white;
};

/** The default colors. */
export const presets: Record<'light' | 'dark', Record<string, string>> = {
  light: {
    background: '#ffffff', foreground: '#1b1d22', primary: '#2447c5', secondary: '#eef0f4', muted: '#f4f5f8', mutedForeground: '#5a6070',
    accent: '#eef2ff', destructive: '#b42318', border: '#dfe2e8', input: '#8a91a0',
  },
  dark: {
    background: '#14161a', foreground: '#f1f2f5', primary: '#9db2ff', secondary: '#262a32', muted: '#1d2026', mutedForeground: '#a9b0bf',
    accent: '#20294a', destructive: '#ff9b8f', border: '#333843', input: '#747c8c',
  },
};

/** A foreground and a background color in the theme, and the adjusted color. */
export interface Pair {
  /** The word key is props.pair_{name}. */
  name: string;
  ratio: number;
  min: number;
  original: string;
  on: string;
  used: string;
}

/** Returns the color pairs that the theme may make hard to read. */
export function contrastPairs(theme: Obj, look: 'light' | 'dark'): Pair[] {
  const all = isObject(theme.colors) ? theme.colors : {};
  const dark = isObject(all.dark) ? all.dark : {};
  const p: Obj = look === 'light' ? all : { ...dark, primary: dark.primary || all.primary };
  const preset = presets[look];
  const list: Pair[] = [];
  const addPair = (name: string, original: RGB, on: RGB, minimum: number, correct: typeof adjustContrast): RGB => {
    const used = correct(original, on, minimum);
    list.push({ name, ratio: contrast(original, on), min: minimum, original: toHex(original), on: toHex(on), used: toHex(used) });
    return used;
  };
  const background = firstColor(p.background, preset.background);
  addPair('text', firstColor(p.text, p.foreground, preset.foreground), background, 4.5, adjustContrast);
  const card = firstColor(p.card, p.background, preset.background);
  addPair('card', firstColor(p.cardForeground, p.text, p.foreground, preset.foreground), card, 4.5, adjustContrast);
  const primary = addPair('primary', firstColor(p.primary, preset.primary), background, 4.5, adjustContrast);
  const button = parseColor(valueAt(theme, 'buttons.background'));
  if (button) addPair('button', firstColor(valueAt(theme, 'buttons.text')), button, 4.5, blackOrWhite);
  else addPair('button', firstColor(p.primaryForeground, '#ffffff'), primary, 4.5, blackOrWhite);
  const plain = !p.background && !p.foreground && !p.text;
  const shade = (value: unknown, fallback: unknown, share: number): RGB =>
    plain ? firstColor(value, fallback) : firstColor(value, toHex(blend(firstColor(p.text, p.foreground, preset.foreground), background, share)));
  addPair('muted', shade(p.mutedForeground, preset.mutedForeground, 0.65), background, 4.5, adjustContrast);
  const accent = firstColor(p.accent, toHex(blend(primary, background, 0.1)));
  addPair('accent', firstColor(p.accentForeground, p.foreground, preset.foreground), accent, 4.5, adjustContrast);
  addPair('error', firstColor(p.destructive, preset.destructive), background, 4.5, adjustContrast);
  const field = parseColor(valueAt(theme, 'inputs.background'));
  const [hint, line] = [parseColor(valueAt(theme, 'inputs.placeholder')), parseColor(valueAt(theme, 'inputs.border'))];
  const correct = field ? adjustContrast : (c: RGB): RGB => c; // if the background is not set, the colors are not adjusted
  if (field) addPair('answer', black, field, 4.5, adjustContrast);
  if (field || hint) addPair('placeholder', hint ?? firstColor('#666666'), field ?? card, 4.5, correct);
  if (field || line) addPair('border', line ?? firstColor('#808080'), field ?? card, 3, correct);
  else addPair('border', shade(p.input, preset.input, 0.5), card, 3, adjustContrast);
  return list;
}
