import { draggable, dropTargetForElements } from '@atlaskit/pragmatic-drag-and-drop/element/adapter';
import { combine } from '@atlaskit/pragmatic-drag-and-drop/combine';
import { attachClosestEdge, extractClosestEdge } from '@atlaskit/pragmatic-drag-and-drop-hitbox/closest-edge';
import { type Signal, useSignal } from '@preact/signals';
import { Component } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { hasLogic, type Block } from '../app/records';
import { t } from '../app/words';
import { IconButton } from '../ui/Button';
import { Icon } from '../ui/Icon';
import { Menu } from '../ui/Menu';
import type { Position } from './edits';
import { iconOf, typeName } from './blockTypes';
import { sameItems } from './content';
import { positionAfterMove, blockLabel, type Row, rowsOf, stepPosition } from './positions';

/** Actions on blocks. The editor implements them. */
export interface Actions {
  add(after: string | undefined): void;
  edit(id: string): void;
  select(id: string): void;
  move(id: string, to: Position): void;
  moveTo(id: string): void;
  duplicate(id: string): void;
  copy(id: string): void;
  cut(id: string): void;
  /** Pastes the blocks on the clipboard below a block. */
  paste(id: string): void;
  remove(id: string): void;
}

interface Props {
  blocks: readonly Block[];
  selected: Signal<string>;
  /** Error messages by block. */
  errors: ReadonlyMap<string, string>;
  warnings: ReadonlyMap<string, string>;
  readOnly: boolean;
  actions: Actions;
}

/** The list of all blocks. Blocks can be selected, moved and added with the keyboard, buttons and the mouse. */
export function Outline({ blocks, selected, errors, warnings, readOnly, actions }: Props) {
  const rows = useMemo(() => rowsOf(blocks), [blocks]);
  const list = useRef<HTMLOListElement>(null);
  const selectedIndex = rows.findIndex((r) => r.block.id === selected.value);
  const announcement = useSignal('');

  const focus = (id: string) => {
    selected.value = id;
    requestAnimationFrame(() => list.current?.querySelector<HTMLElement>(`[data-id="${CSS.escape(id)}"]`)?.focus());
  };
  const moveBy = (row: Row, by: -1 | 1) => {
    const to = stepPosition(rows, row.block.id, by);
    if (!to) return;
    actions.move(row.block.id, to);
    announcement.value = t('editor.moved', { name: blockLabel(row.block, typeName), n: to.index + 1 });
    focus(row.block.id);
  };
  const remove = (row: Row) => {
    const i = rows.findIndex((r) => r.block.id === row.block.id);
    const next = rows.slice(i + 1).find((r) => r.depth <= row.depth) ?? rows[i - 1];
    actions.remove(row.block.id);
    if (next) focus(next.block.id);
    else document.querySelector<HTMLElement>('#outline button')?.focus(); // the button that adds a block
  };

  const latest = useRef({ rows, moveBy, remove });
  latest.current = { rows, moveBy, remove };

  const handleKey = (e: KeyboardEvent) => {
    const target = e.target as HTMLElement;
    if (target.closest('[role=menu]')) return;
    // The focus may be on a row that is not selected.
    const current = target.dataset.id === undefined ? selectedIndex : rows.findIndex((r) => r.block.id === target.dataset.id);
    const row = rows[current];
    const to = { ArrowDown: current + 1, ArrowUp: current - 1, Home: 0, End: rows.length - 1 }[e.key];
    if (e.altKey && row && !readOnly && (e.key === 'ArrowUp' || e.key === 'ArrowDown')) moveBy(row, e.key === 'ArrowUp' ? -1 : 1);
    else if (e.altKey || ((e.ctrlKey || e.metaKey) && e.key !== 'd')) return;
    else if (to !== undefined) rows[to] && focus(rows[to]!.block.id);
    else if (e.key === '/' && !readOnly) actions.add(row?.block.id);
    else if (e.key === 'Enter' && row && target.dataset.id) actions.edit(row.block.id);
    else if (e.key === 'd' && (e.ctrlKey || e.metaKey) && row && !readOnly) actions.duplicate(row.block.id);
    else if (e.key === 'Delete' && row && !readOnly) remove(row);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };

  return (
    <>
      <ol class="outline" ref={list} aria-label={t('editor.pane_outline')} onKeyDown={handleKey as never}>
        {rows.map((row, i) => {
          const { id } = row.block;
          return (
            <OutlineRow
              key={id}
              row={row}
              isFirst={i === 0}
              isLast={rows.length - 1 === i}
              selected={i === selectedIndex}
              tabStop={i === selectedIndex || (selectedIndex < 0 && i === 0)}
              error={errors.get(id)}
              warning={warnings.get(id)}
              readOnly={readOnly}
              onSelect={() => actions.select(id)}
              onMove={(by) => latest.current.moveBy(row, by)}
              onRemove={() => latest.current.remove(row)}
              onDrop={(dropped, to) => actions.move(dropped, positionAfterMove(latest.current.rows, dropped, to))}
              actions={actions}
            />
          );
        })}
      </ol>
      <p class="unseen" role="status">{announcement.value}</p>
    </>
  );
}

interface RowProps {
  row: Row;
  isFirst: boolean;
  isLast: boolean;
  selected: boolean;
  tabStop: boolean;
  error: string | undefined;
  warning: string | undefined;
  readOnly: boolean;
  onSelect(): void;
  onMove(by: -1 | 1): void;
  onRemove(): void;
  onDrop(id: string, to: Position): void;
  actions: Actions;
}

/**
 * A row in the outline. There may be hundreds of rows, so unchanged rows are not rendered again. Caching their
 * elements would take too much memory.
 */
class OutlineRow extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    const shownValues = ({ row: { block, number, depth, place }, isFirst, isLast, selected, tabStop, error, warning, readOnly }: RowProps) =>
      [block, number, depth, place.parent, place.index, isFirst, isLast, selected, tabStop, error, warning, readOnly];
    return !sameItems(shownValues(this.props), shownValues(next));
  }

  override render() {
    return <RowView {...this.props} />;
  }
}

function RowView({ row, isFirst, isLast, selected, tabStop, error, warning, readOnly, onSelect, onMove, onRemove, onDrop, actions }: RowProps) {
  const { block, place } = row;
  const ref = useRef<HTMLLIElement>(null);
  const edge = useSignal<'top' | 'bottom' | undefined>(undefined);
  const latest = useRef({ id: block.id, place, onDrop });
  latest.current = { id: block.id, place, onDrop };

  useEffect(() => {
    const element = ref.current!;
    if (readOnly) return;
    return combine(
      draggable({ element, getInitialData: () => ({ block: latest.current.id }) }),
      dropTargetForElements({
        element,
        canDrop: ({ source }) => typeof source.data.block === 'string' && source.data.block !== latest.current.id,
        getData: ({ input }) => attachClosestEdge({}, { element, input, allowedEdges: ['top', 'bottom'] }),
        onDrag: ({ self }) => (edge.value = extractClosestEdge(self.data) as 'top' | 'bottom'),
        onDragLeave: () => (edge.value = undefined),
        onDrop: ({ self, source }) => {
          edge.value = undefined;
          const { place: there, onDrop: drop } = latest.current;
          drop(source.data.block as string, { parent: there.parent, index: there.index + (extractClosestEdge(self.data) === 'bottom' ? 1 : 0) });
        },
      }),
    );
  }, [readOnly]);

  const name = blockLabel(block, typeName);
  return (
    <li ref={ref} class={`outline-row${selected ? ' chosen' : ''}${block.type === 'page_break' ? ' page' : ''}${edge.value ? ' drop-' + edge.value : ''} depth-${Math.min(row.depth, 4)}`}>
      <button
        type="button"
        class="outline-block"
        data-id={block.id}
        tabIndex={tabStop ? 0 : -1}
        aria-current={selected ? 'true' : undefined}
        title={error ?? warning}
        onClick={() => (onSelect(), selected && actions.edit(block.id))}
      >
        <Icon name={iconOf(block.type)} />
        <span class="outline-name" dir="auto">
          {row.number > 0 && <span class="outline-number">{row.number}</span>}
          {name}
          {block.required && <span class="outline-required" title={t('editor.required')}>{'\u2060'}*</span>}
        </span>
        {hasLogic(block) && <span class="outline-logic" title={t('editor.has_logic')}><Icon name="split" label={t('editor.has_logic')} /></span>}
        {error && <Icon name="circle-alert" label={t('editor.not_saved', { error })} />}
        {!error && warning && <Icon name="triangle-alert" label={t('editor.has_warning', { warning })} />}
      </button>
      {selected && !readOnly && (
        <span class="outline-tools">
          <IconButton icon="arrow-up" label={t('editor.up')} disabled={isFirst} onClick={() => onMove(-1)} />
          <IconButton icon="arrow-down" label={t('editor.down')} disabled={isLast && place.parent === undefined} onClick={() => onMove(1)} />
          <Menu
            icon="ellipsis"
            kind="quiet"
            label={t('editor.actions_of', { name })}
            items={[
              { label: t('editor.add_below'), icon: 'plus', run: () => actions.add(block.id) },
              { label: t('editor.duplicate'), icon: 'copy-plus', run: () => actions.duplicate(block.id) },
              { label: t('editor.copy'), icon: 'copy', separated: true, run: () => actions.copy(block.id) },
              { label: t('editor.cut'), icon: 'scissors', run: () => actions.cut(block.id) },
              { label: t('editor.paste_below'), icon: 'clipboard-paste', run: () => actions.paste(block.id) },
              { label: t('editor.move_to'), icon: 'arrow-right', separated: true, run: () => actions.moveTo(block.id) },
              { label: t('editor.remove'), icon: 'trash-2', danger: true, separated: true, run: onRemove },
            ]}
          />
        </span>
      )}
    </li>
  );
}
