import { useMemo } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import type { Block } from '../app/records';
import { t } from '../app/words';
import { FormDialog } from '../ui/Dialog';
import { Select } from '../ui/Field';
import type { Position } from './edits';
import { typeName } from './blockTypes';
import { positionAfterMove, blockLabel, positionsFor, rowsOf } from './positions';

/** Asks for the new position of a block: before another block, or at the end. */
export function MoveDialog({ blocks, id, onChoose, onClose }: { blocks: readonly Block[]; id: string; onChoose(to: Position): void; onClose(): void }) {
  const rows = useMemo(() => rowsOf(blocks), [blocks]);
  const positions = useMemo(() => positionsFor(rows, id), [rows, id]);
  const selected = useSignal('0');
  const blockName = (parentOrBlock: string | undefined) => {
    const row = rows.find((r) => r.block.id === parentOrBlock);
    return row ? blockLabel(row.block, typeName) : '';
  };
  const positionText = ({ parent, index }: Position): string => {
    const next = rows.find((r) => r.place.parent === parent && r.place.index === index);
    if (next) return t('editor.before', { name: blockLabel(next.block, typeName) });
    return parent === undefined ? t('editor.at_end') : t('editor.at_end_of', { name: blockName(parent) });
  };
  return (
    <FormDialog title={t('editor.move_title', { name: blockName(id) })} action={t('editor.move')} run={() => onChoose(positionAfterMove(rows, id, positions[Number(selected.value)]!))} onClose={onClose}>
      <Select label={t('editor.move_position')} value={selected.value} options={positions.map((p, i) => [String(i), positionText(p)] as const)} onChange={(v) => (selected.value = v)} />
    </FormDialog>
  );
}
