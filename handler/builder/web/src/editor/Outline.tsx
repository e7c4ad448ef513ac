import { draggable, dropTargetForElements } from '@atlaskit/pragmatic-drag-and-drop/element/adapter';
import { combine } from '@atlaskit/pragmatic-drag-and-drop/combine';
import { attachClosestEdge, extractClosestEdge } from '@atlaskit/pragmatic-drag-and-drop-hitbox/closest-edge';
import { type Signal, useSignal } from '@preact/signals';
import { Component } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Block } from '../app/records';
import { t } from '../app/words';
import { IconButton } from '../ui/Button';
import { Icon } from '../ui/Icon';
import { Menu } from '../ui/Menu';
import type { Place } from './edits';
import { iconOf, typeName } from './kinds';
import { sameItems } from './content';
import { afterwards, nameOf, type Row, rowsOf, step } from './places';

/** What is done to blocks. The editor does it. */
export interface Actions {
  add(after: string | undefined): void;
  edit(id: string): void;
  /** Selects a block and shows its properties. */
  choose(id: string): void;
  move(id: string, to: Place): void;
  moveTo(id: string): void;
  duplicate(id: string): void;
  remove(id: string): void;
}

interface Props {
  blocks: readonly Block[];
  selected: Signal<string>;
  /** Blocks with something wrong, and what. */
  faults: ReadonlyMap<string, string>;
  warnings: ReadonlyMap<string, string>;
  readOnly: boolean;
  actions: Actions;
}

/** The list of all blocks: chosen, moved and added by keys, by buttons and by the mouse. */
export function Outline({ blocks, selected, faults, warnings, readOnly, actions }: Props) {
  const rows = useMemo(() => rowsOf(blocks), [blocks]);
  const list = useRef<HTMLOListElement>(null);
  const at = rows.findIndex((r) => r.block.id === selected.value);
  const said = useSignal('');

  const focus = (id: string) => {
    selected.value = id;
    requestAnimationFrame(() => list.current?.querySelector<HTMLElement>(`[data-id="${CSS.escape(id)}"]`)?.focus());
  };
  const moveBy = (row: Row, by: -1 | 1) => {
    const to = step(rows, row.block.id, by);
    if (!to) return;
    actions.move(row.block.id, to);
    said.value = t('editor.moved', { name: nameOf(row.block, typeName), n: to.index + 1 });
    focus(row.block.id);
  };
  const remove = (row: Row) => {
    const i = rows.findIndex((r) => r.block.id === row.block.id);
    const near = rows.slice(i + 1).find((r) => r.depth <= row.depth) ?? rows[i - 1];
    actions.remove(row.block.id);
    if (near) focus(near.block.id);
    else document.querySelector<HTMLElement>('#outline button')?.focus(); // the one that adds
  };

  const latest = useRef({ rows, moveBy, remove });
  latest.current = { rows, moveBy, remove };

  const key = (e: KeyboardEvent) => {
    const target = e.target as HTMLElement;
    if (target.closest('[role=menu]')) return;
    // The focus may be on a row that is not chosen, before the first one is.
    const here = target.dataset.id === undefined ? at : rows.findIndex((r) => r.block.id === target.dataset.id);
    const row = rows[here];
    const to = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: rows.length - 1 }[e.key];
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
      <ol class="outline" ref={list} aria-label={t('editor.outline')} onKeyDown={key as never}>
        {rows.map((row, i) => {
          const { id } = row.block;
          return (
            <OutlineRow
              key={id}
              row={row}
              first={i === 0}
              last={rows.length - 1 === i}
              chosen={i === at}
              reachable={i === at || (at < 0 && i === 0)}
              fault={faults.get(id)}
              warning={warnings.get(id)}
              readOnly={readOnly}
              onChoose={() => actions.choose(id)}
              onMove={(by) => latest.current.moveBy(row, by)}
              onRemove={() => latest.current.remove(row)}
              onDrop={(dropped, to) => actions.move(dropped, afterwards(latest.current.rows, dropped, to))}
              actions={actions}
            />
          );
        })}
      </ol>
      <p class="unseen" role="status">{said.value}</p>
    </>
  );
}

interface RowProps {
  row: Row;
  first: boolean;
  last: boolean;
  chosen: boolean;
  reachable: boolean;
  fault: string | undefined;
  warning: string | undefined;
  readOnly: boolean;
  onChoose(): void;
  onMove(by: -1 | 1): void;
  onRemove(): void;
  onDrop(id: string, to: Place): void;
  actions: Actions;
}

/** A row, which is not drawn anew when it is as it was: there may be hundreds. Elements are not kept for that: each holds the whole page of its time. */
class OutlineRow extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    const shown = ({ row: { block, number, depth, place }, first, last, chosen, reachable, fault, warning, readOnly }: RowProps) =>
      [block, number, depth, place.parent, place.index, first, last, chosen, reachable, fault, warning, readOnly];
    return !sameItems(shown(this.props), shown(next));
  }

  override render() {
    return <DrawnRow {...this.props} />;
  }
}

function DrawnRow({ row, first, last, chosen, reachable, fault, warning, readOnly, onChoose, onMove, onRemove, onDrop, actions }: RowProps) {
  const { block, place } = row;
  const ref = useRef<HTMLLIElement>(null);
  const edge = useSignal<'top' | 'bottom' | undefined>(undefined);
  const now = useRef({ id: block.id, place, onDrop });
  now.current = { id: block.id, place, onDrop };

  useEffect(() => {
    const element = ref.current!;
    if (readOnly) return;
    return combine(
      draggable({ element, getInitialData: () => ({ block: now.current.id }) }),
      dropTargetForElements({
        element,
        canDrop: ({ source }) => typeof source.data.block === 'string' && source.data.block !== now.current.id,
        getData: ({ input }) => attachClosestEdge({}, { element, input, allowedEdges: ['top', 'bottom'] }),
        onDrag: ({ self }) => (edge.value = extractClosestEdge(self.data) as 'top' | 'bottom'),
        onDragLeave: () => (edge.value = undefined),
        onDrop: ({ self, source }) => {
          edge.value = undefined;
          const { place: there, onDrop: drop } = now.current;
          drop(source.data.block as string, { parent: there.parent, index: there.index + (extractClosestEdge(self.data) === 'bottom' ? 1 : 0) });
        },
      }),
    );
  }, [readOnly]);

  const name = nameOf(block, typeName);
  return (
    <li ref={ref} class={`outline-row${chosen ? ' chosen' : ''}${block.type === 'page_break' ? ' page' : ''}${edge.value ? ' drop-' + edge.value : ''} depth-${Math.min(row.depth, 4)}`}>
      <button
        type="button"
        class="outline-block"
        data-id={block.id}
        tabIndex={reachable ? 0 : -1}
        aria-current={chosen ? 'true' : undefined}
        title={fault ?? warning}
        onClick={() => (onChoose(), chosen && actions.edit(block.id))}
      >
        <Icon name={iconOf(block.type)} />
        <span class="outline-name" dir="auto">
          {row.number > 0 && <span class="outline-number">{row.number}</span>}
          {name}
          {block.required && <span class="outline-required" title={t('editor.required')}>{'\u2060'}*</span>}
        </span>
        {fault && <Icon name="circle-alert" label={t('editor.not_saved', { fault })} />}
        {!fault && warning && <Icon name="triangle-alert" label={t('editor.has_warning', { warning })} />}
      </button>
      {chosen && !readOnly && (
        <span class="outline-tools">
          <IconButton icon="arrow-up" label={t('editor.up')} disabled={first} onClick={() => onMove(-1)} />
          <IconButton icon="arrow-down" label={t('editor.down')} disabled={last && place.parent === undefined} onClick={() => onMove(1)} />
          <Menu
            icon="ellipsis"
            kind="quiet"
            label={t('editor.actions_of', { name })}
            items={[
              { label: t('editor.add_below'), icon: 'plus', run: () => actions.add(block.id) },
              { label: t('editor.duplicate'), icon: 'copy', run: () => actions.duplicate(block.id) },
              { label: t('editor.move_to'), icon: 'arrow-right', run: () => actions.moveTo(block.id) },
              { label: t('editor.remove'), icon: 'trash-2', danger: true, apart: true, run: onRemove },
            ]}
          />
        </span>
      )}
    </li>
  );
}
