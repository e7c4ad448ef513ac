import { Fragment } from 'preact';
import type { Detail } from '../app/api';
import { offers } from '../app/config';
import { shownText } from '../app/text';
import { t } from '../app/words';
import { Select } from '../ui/Field';
import type { Obj } from '../app/json';
import { allBlocks, type Block } from '../app/records';
import { patchFromPaths } from './model';
import { settings as table, types } from './props.gen';
import { ScopeContext, hintOf, labelOf, useProperty } from './scope';
import { PropertyFields, OtherMessages, Section, shownPaths } from './Section';

/** The settings by section. Other settings are in the section "More". */
export const settingsSections: Record<string, readonly string[]> = {
  display: ['showTitle', 'progressBar', 'navigation', 'numberedQuestions', 'singlePage', 'inlineFields', 'darkMode', 'branding'],
  submission: ['submitLabel', 'redirectUrl', 'editable', 'anonymous'],
  closing: ['closed', 'openAt', 'closeAt', 'responseLimit', 'closedMessage', 'onePerRespondent'],
  cover: ['cover.image', 'cover.color', 'cover.position.x', 'cover.position.y'],
  utm: Object.keys(table).filter((path) => path.startsWith('utm.')),
};
const listed = [...Object.values(settingsSections).flat(), 'duplicateField'];
export const otherSettings = Object.keys(table).filter((path) => !listed.includes(path));

interface Props {
  settings: Obj;
  /** The form's blocks, for the duplicate field. */
  blocks: readonly Block[];
  /** Receives a merge patch for the settings. */
  onPatch(patch: Obj): void;
  /** Errors and warnings, with JSON Pointers into the settings. */
  errors?: readonly Detail[];
  warnings?: readonly Detail[];
}

/** Edits a form's settings. */
export function FormSettings({ settings, blocks, onPatch, errors = [], warnings = [] }: Props) {
  const offered = (path: string) => offers('settings', path.split('.')[0]!);
  const scope = { offered, id: 'settings', value: settings, type: '', errors, warnings, row: (path: string) => table[path], set: (changes: Obj) => onPatch(patchFromPaths(changes)) };
  return (
    <ScopeContext.Provider value={scope}>
      <div class="props">
        <OtherMessages shown={Object.keys(table)} />
        {['display', 'submission', 'closing'].filter((name) => shownPaths(scope, settingsSections[name]!).length > 0).map((name) => (
          <Fragment key={name}>
            <h3>{t('props.settings_' + name)}</h3>
            <PropertyFields paths={settingsSections[name]!} />
          </Fragment>
        ))}
        {shownPaths(scope, ['duplicateField']).length > 0 && <fieldset class="props-fixed" disabled={!offered('duplicateField')}><DuplicateField blocks={blocks} /></fieldset>}
        <Section title={t('props.settings_cover')} paths={settingsSections.cover!} />
        <Section title={t('props.settings_utm')} paths={settingsSections.utm!} hint={t('props.utm_hint')} />
        <Section title={t('props.more')} paths={otherSettings} closed />
      </div>
    </ScopeContext.Provider>
  );
}

/** Selects the question whose answers must be unique. */
function DuplicateField({ blocks }: { blocks: readonly Block[] }) {
  const { scope, value, error, warning, pointers } = useProperty('duplicateField');
  const options = allBlocks(blocks).filter((b) => types[b.type]?.unique).map((b) => [b.id, shownText(b.label) || t('props.type_' + b.type)] as const);
  const now = typeof value === 'string' ? value : '';
  const isRemoved = now !== '' && !options.some(([id]) => id === now);
  return (
    <div class="prop" data-path={pointers}>
      <Select
        label={labelOf('duplicateField', '')} hint={warning ?? hintOf('duplicateField', '')} error={error} value={now}
        options={[['', t('props.no_question')], ...options, ...(isRemoved ? [[now, now] as const] : [])]} onChange={(v) => scope.set({ duplicateField: v || undefined })}
      />
    </div>
  );
}
