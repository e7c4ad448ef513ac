import { t } from '../app/words';
import { types } from '../props/props.gen';
import type { IconName } from '../ui/icons.gen';

/** The block types with their icons, by group and in menu order. */
const iconsByGroup: Record<string, Record<string, IconName>> = {
  basic: { short_text: 'type', long_text: 'align-left', number: 'hash', date: 'calendar', time: 'clock' },
  choice: {
    yes_no: 'toggle-left', single_choice: 'circle-dot', multiple_choice: 'square-check', picture_choice: 'images', dropdown: 'square-chevron-down', ranking: 'list-ordered', matrix: 'grid-3x3',
  },
  scale: { rating: 'star', opinion_scale: 'gauge', nps: 'smile' },
  contact: { email: 'mail', phone: 'phone', website: 'globe', address: 'map-pin', contact_info: 'contact', country: 'flag' },
  content: { statement: 'message-square', heading: 'heading', text: 'pilcrow', image: 'image', video: 'video', pdf: 'file-text', embed: 'code' },
  layout: { group: 'group', welcome: 'hand', ending: 'circle-check', divider: 'minus', page_break: 'separator-horizontal' },
  more: { legal: 'scale', file_upload: 'paperclip', signature: 'signature', payment: 'credit-card', captcha: 'shield-check' },
};

/** The block types by group, in menu order. */
export const groups = Object.entries(iconsByGroup).map(([name, icons]) => ({ name, types: Object.keys(icons) }));

const icons: Record<string, IconName> = Object.assign({}, ...Object.values(iconsByGroup));

export const iconOf = (type: string): IconName => icons[type] ?? 'circle-help';

/** Returns the name of a block type in the page's language. */
export const typeName = (type: string): string => (types[type] ? t('props.type_' + type) : type);
