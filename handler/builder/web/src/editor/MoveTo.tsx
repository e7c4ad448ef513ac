import { useMemo } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import type { Block } from '../app/records';
import { t } from '../app/words';
import { Ask } from '../ui/Dialog';
import { Select } from '../ui/Field';
import type { Place } from './edits';
import { typeName } from './kinds';
import { afterwards, nameOf, placesFor, rowsOf } from './places';

/** Asks where a block shall go: before which other one, or at which end. */
export function MoveTo({ blocks, id, onChoose, onClose }: { blocks: readonly Block[]; id: string; onChoose(to: Place): void; onClose(): void }) {
  const rows = useMemo(() => rowsOf(blocks), [blocks]);
  const places = useMemo(() => placesFor(rows, id), [rows, id]);
  const at = useSignal('0');
  const name = (parentOrBlock: string | undefined) => {
    const row = rows.find((r) => r.block.id === parentOrBlock);
    return row ? nameOf(row.block, typeName) : '';
  };
  const text = ({ parent, index }: Place): string => {
    const next = rows.find((r) => r.place.parent === parent && r.place.index === index);
    if (next) return t('editor.before', { name: nameOf(next.block, typeName) });
    return parent === undefined ? t('editor.at_end') : t('editor.at_end_of', { name: name(parent) });
  };
  return (
    <Ask title={t('editor.move_title', { name: name(id) })} action={t('editor.move')} run={() => onChoose(afterwards(rows, id, places[Number(at.value)]!))} onClose={onClose}>
      <Select label={t('editor.move_position')} value={at.value} options={places.map((p, i) => [String(i), text(p)] as const)} onChange={(v) => (at.value = v)} />
    </Ask>
  );
}
