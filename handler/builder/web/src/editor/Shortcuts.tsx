import { t } from '../app/words';

const shortcuts: readonly (readonly [keys: string, word: string])[] = [
  ['↑ ↓', 'select'], ['Enter', 'edit'], ['Enter', 'next'], ['Shift Enter', 'line'], ['/', 'add'], ['Alt ↑ ↓', 'move'], ['Ctrl D', 'duplicate'], ['Ctrl C', 'copy'], ['Ctrl X', 'cut'], ['Ctrl V', 'paste'], ['Del', 'remove'],
  ['Esc', 'back'], ['F6', 'pane'], ['Ctrl Z', 'undo'], ['Ctrl Shift Z', 'redo'], ['Ctrl S', 'save'], ['?', 'help'],
];

/** Lists the editor's keyboard shortcuts. */
export function Shortcuts() {
  return (
    <dl class="keys">
      {shortcuts.map(([key, word]) => (
        <div key={key}>
          <dt>{key.split(' ').map((k) => <kbd key={k}>{k}</kbd>)}</dt>
          <dd>{t('editor.shortcut_' + word)}</dd>
        </div>
      ))}
    </dl>
  );
}
