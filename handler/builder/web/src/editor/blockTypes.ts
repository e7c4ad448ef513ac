import { t } from '../app/words';
import { groups } from '../props/model';
import { types } from '../props/props.gen';
import type { IconName } from '../ui/icons.gen';

/** All block types by group, in menu order. */
export const blockTypeGroups = groups.map(([name, list]) => ({ name, types: list }));

export const iconOf = (type: string): IconName => types[type]?.icon ?? 'circle-help';

/** Returns the name of a block type in the page's language. */
export const typeName = (type: string): string => (types[type] ? t('props.type_' + type) : type);
