import { t } from '../app/words';
import { types } from '../props/props.gen';
import type { IconName } from '../ui/icons.gen';

/** All types of blocks by their groups, in the order of the palette. */
export const kindGroups: readonly { name: string; types: string[] }[] = Object.entries(types).reduce<{ name: string; types: string[] }[]>((groups, [type, about]) => {
  const group = groups.find((g) => g.name === about.group);
  if (group) group.types.push(type);
  else groups.push({ name: about.group, types: [type] });
  return groups;
}, []);

export const iconOf = (type: string): IconName => types[type]?.icon ?? 'circle-help';

/** The name of a type of blocks in the page's language. */
export const typeName = (type: string): string => (types[type] ? t('props.type_' + type) : type);
