import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { can } from '../app/config';
import { Button, type ButtonProps } from './Button';
import { Icon, type IconName } from './Icon';

export interface MenuItem {
  label: string;
  icon?: IconName;
  /** The scope that the user needs. Without it, the item is omitted. */
  scope?: string;
  danger?: boolean;
  disabled?: boolean;
  /** Whether a line separates it from the previous item. */
  separated?: boolean;
  run?(): void;
  href?: string;
  download?: boolean;
}

/** A button that opens a menu with keyboard support, or nothing if the user can use none of the items. label names a button without text. */
export function Menu({ items: all, label, children, ...button }: { items: MenuItem[]; label?: string; children?: ComponentChildren } & Omit<ButtonProps, 'children'>) {
  const items = all.filter(({ scope }) => !scope || can(scope));
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const entries = () => [...(box.current?.querySelectorAll<HTMLElement>('[role=menuitem]:not([aria-disabled=true])') ?? [])];
  const close = () => {
    setOpen(false);
    opener.current?.focus();
  };
  useEffect(() => {
    if (!open) return;
    entries()[0]?.focus();
    const closeIfOutside = (e: Event) => !box.current?.parentElement?.contains(e.target as Node) && setOpen(false);
    document.addEventListener('pointerdown', closeIfOutside);
    return () => document.removeEventListener('pointerdown', closeIfOutside);
  }, [open]);
  const handleKey = (e: KeyboardEvent) => {
    const list = entries();
    const current = list.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: current + 1, ArrowUp: current - 1, Home: 0, End: list.length - 1 }[e.key];
    if (to !== undefined) list.at(to % list.length)?.focus();
    else if (e.key === 'Escape') close();
    else if (e.key === 'Tab') return setOpen(false);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  if (items.length === 0) return null;
  return (
    <div class="menu-root">
      <Button
        {...button}
        aria-label={label}
        title={label}
        class={`${children ? '' : 'only-icon'} ${button.class ?? ''}`}
        aria-haspopup="menu"
        aria-expanded={open}
        buttonRef={opener}
        onClick={() => setOpen(!open)}
      >
        {children}
      </Button>
      {open && (
        <div class="menu" role="menu" aria-label={label} ref={box} onKeyDown={handleKey}>
          {items.map((item, i) => {
            const inner = (
              <>
                {item.icon && <Icon name={item.icon} />}
                <span dir="auto">{item.label}</span>
              </>
            );
            const shared = {
              role: 'menuitem' as const,
              tabIndex: -1,
              class: `item${item.danger ? ' danger' : ''}${item.separated ? ' apart' : ''}`,
              'aria-disabled': item.disabled || undefined,
            };
            return item.href ? (
              <a key={i} {...shared} href={item.href} download={item.download || undefined} onClick={() => setOpen(false)}>
                {inner}
              </a>
            ) : (
              <button key={i} type="button" {...shared} onClick={() => !item.disabled && (close(), item.run?.())}>
                {inner}
              </button>
            );
          })}
        </div>
      )}
    </div>
  );
}
