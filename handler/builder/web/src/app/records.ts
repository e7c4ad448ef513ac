/** API records that several modules use. */

import { isObject, type Obj } from './json';

export interface Workspace {
  id: string;
  name: string;
  /** The user's scopes in the workspace. Undefined means all scopes. */
  scopes?: string[];
}

export type Status = 'draft' | 'published';

export interface FormSummary {
  id: string;
  public_id: string;
  workspace_id: string;
  name: string;
  type: 'SINGLE' | 'MULTI';
  status: Status;
  is_closed: boolean;
  updated_at: string;
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export interface Choice {
  id?: string;
  label?: string;
  image?: unknown;
  color?: string;
  row_id?: string;
  alt?: string;
}

export interface Block {
  id: string;
  type: string;
  label?: string;
  description?: string;
  required?: boolean;
  properties?: Obj;
  part_of?: string;
  row_id?: string;
  choices?: Choice[];
  children?: Block[];
  matrix_columns?: Choice[];
  matrix_rows?: Choice[];
}

/** Returns all blocks, including those in groups. */
export const allBlocks = (blocks: readonly Block[]): Block[] => blocks.flatMap((b) => [b, ...allBlocks(b.children ?? [])]);

/** Reports whether a block has a rule. */
export const hasLogic = (block: Block): boolean => isObject(block.properties?.rule) && Object.keys(block.properties.rule).length > 0;

export interface Definition {
  blocks: Block[];
  settings: Obj;
  theme: Obj;
  variables: Record<string, string | number>;
  hidden_fields: string[];
}

export interface Form extends FormSummary {
  definition: Definition;
}
