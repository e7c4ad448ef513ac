import type { AnchorHTMLAttributes, ButtonHTMLAttributes, ComponentChildren, Ref } from 'preact';
import { Icon, type IconName } from './Icon';

export interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'icon' | 'label' | 'ref'> {
  icon?: IconName;
  kind?: 'plain' | 'primary' | 'quiet' | 'danger';
  /** Shows that what was pressed is under way, and takes no second press. */
  busy?: boolean;
  buttonRef?: Ref<HTMLButtonElement>;
  children?: ComponentChildren;
}

export function Button({ icon, kind = 'plain', busy, buttonRef, children, class: more, onClick, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      ref={buttonRef}
      class={`button ${kind} ${more ?? ''}`}
      aria-busy={busy || undefined}
      aria-disabled={busy || undefined}
      onClick={busy ? undefined : onClick}
    >
      {(busy || icon) && <Icon name={busy ? 'loader-circle' : icon!} />}
      {children}
    </button>
  );
}

/** A button with an icon alone; label is its name and its tip. */
export function IconButton({ label, icon, ...rest }: Omit<ButtonProps, 'children' | 'icon'> & { label: string; icon: IconName }) {
  return <Button kind="quiet" {...rest} icon={icon} aria-label={label} title={label} class={`only-icon ${rest.class ?? ''}`} />;
}

/** A link that looks like a button. */
export function LinkButton({ icon, kind = 'plain', children, ...rest }: Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'icon'> & { icon?: IconName; kind?: 'plain' | 'primary' | 'quiet' }) {
  return (
    <a {...rest} class={`button ${kind} ${rest.class ?? ''}`}>
      {icon && <Icon name={icon} />}
      {children}
    </a>
  );
}
