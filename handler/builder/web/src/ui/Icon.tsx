import { icons, type IconName } from './icons.gen';

export type { IconName };

/** An icon beside a text, or with a label of its own. */
export function Icon({ name, label }: { name: IconName; label?: string }) {
  return (
    <svg
      class={name === 'loader-circle' ? 'icon spin' : 'icon'}
      viewBox="0 0 24 24"
      aria-hidden={label ? undefined : true}
      aria-label={label}
      role={label ? 'img' : undefined}
      dangerouslySetInnerHTML={{ __html: icons[name] }}
    />
  );
}
