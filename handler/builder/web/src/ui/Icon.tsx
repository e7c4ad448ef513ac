import { icons, type IconName } from './icons.gen';

export type { IconName };

/** An icon. Without a label, screen readers ignore it. */
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
