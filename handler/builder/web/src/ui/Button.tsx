import type { ButtonHTMLAttributes, ComponentChildren, Ref } from 'preact';
import { Icon, type IconName } from './Icon';

export interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'icon' | 'label' | 'ref'> {
  icon?: IconName;
  kind?: 'plain' | 'primary' | 'quiet' | 'danger';
  /** Whether the action is in progress. The button ignores clicks in the meantime. */
  busy?: boolean;
  buttonRef?: Ref<HTMLButtonElement>;
  children?: ComponentChildren;
}

export function Button({ icon, kind = 'plain', busy, buttonRef, children, class: extraClass, onClick, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      ref={buttonRef}
      class={`button ${kind} ${extraClass ?? ''}`}
      aria-busy={busy || undefined}
      aria-disabled={busy || undefined}
      onClick={busy ? undefined : onClick}
    >
      {(busy || icon) && <Icon name={busy ? 'loader-circle' : icon!} />}
      {children}
    </button>
  );
}

/** A button that shows only an icon. label is its accessible name and tooltip. */
export function IconButton({ label, icon, ...rest }: Omit<ButtonProps, 'children' | 'icon'> & { label: string; icon: IconName }) {
  return <Button kind="quiet" {...rest} icon={icon} aria-label={label} title={label} class={`only-icon ${rest.class ?? ''}`} />;
}

/** A link that looks like a button. */
export function LinkButton({ href, icon, kind = 'plain', children, download }: { href: string; icon?: IconName; kind?: 'plain' | 'primary' | 'quiet'; children?: ComponentChildren; download?: boolean }) {
  return (
    <a href={href} download={download} class={`button ${kind}`}>
      {icon && <Icon name={icon} />}
      {children}
    </a>
  );
}
