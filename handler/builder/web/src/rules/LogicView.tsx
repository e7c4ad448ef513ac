// All rules of a form as sentences, in the order of the form.

import { allBlocks, hasLogic, type Block, type Json } from '../app/records';
import { capitalize, t } from '../app/words';
import { iconOf, typeName } from '../editor/blockTypes';
import { blockLabel } from '../editor/positions';
import { Icon } from '../ui/Icon';
import { describeRule } from './describe';
import { fieldsOf, type Content } from './fields';

export function LogicView({ content, onChoose }: { content: Content; onChoose(id: string): void }) {
  const blocks = allBlocks(content.blocks).filter(hasLogic);
  if (blocks.length === 0) return <p class="muted">{t('rules.view_empty')}</p>;
  return (
    <ol class="logic-view">
      {blocks.map((b) => <BlockLogic key={b.id} block={b} content={content} onChoose={() => onChoose(b.id)} />)}
    </ol>
  );
}

function BlockLogic({ block, content, onChoose }: { block: Block; content: Content; onChoose(): void }) {
  const lines = describeRule(block.properties?.rule as Json, fieldsOf(content), t);
  return (
    <li>
      <button type="button" class="logic-block" onClick={onChoose}><Icon name={iconOf(block.type)} /> <span dir="auto">{blockLabel(block, typeName)}</span></button>
      <ul>{(lines.length > 0 ? lines : [t('rules.json')]).map((line, i) => <li key={i} dir="auto">{capitalize(line)}</li>)}</ul>
    </li>
  );
}
