import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { t } from '../app/words';
import { Button, IconButton } from './Button';

interface Props {
  title: string;
  onClose(): void;
  children: ComponentChildren;
  /** The row of buttons at the foot. */
  foot?: ComponentChildren;
  wide?: boolean;
}

/** A modal dialog: its first field gets the focus, the browser keeps the focus in it, Escape closes it. */
export function Dialog({ title, onClose, children, foot, wide }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current!;
    const before = document.activeElement;
    dialog.showModal();
    dialog.querySelector<HTMLElement>('.dialog-body :is(input, select, textarea):not([disabled])')?.focus();
    return () => {
      // What was done in the dialog may have led the focus elsewhere meanwhile.
      const now = document.activeElement;
      dialog.close();
      const next = now && now !== document.body && !dialog.contains(now) ? now : before;
      if (next instanceof HTMLElement) next.focus();
      if (document.activeElement === document.body) document.getElementById('main')?.focus(); // it is gone, or disabled
    };
  }, []);
  return (
    <dialog
      ref={ref}
      class={wide ? 'dialog wide' : 'dialog'}
      aria-labelledby={id}
      onCancel={(e) => (e.preventDefault(), onClose())}
      onMouseDown={(e) => e.target === ref.current && onClose()}
    >
      <div class="dialog-box">
        <header role="none">
          <h2 id={id}>{title}</h2>
          <IconButton icon="x" label={t('app.close')} onClick={onClose} />
        </header>
        <div class="dialog-body">{children}</div>
        {foot && <footer role="none">{foot}</footer>}
      </div>
    </dialog>
  );
}

/** Asks before something is done; run is done with the button, and the dialog closes when it has worked. */
export function Confirm(props: { title: string; text: ComponentChildren; action: string; danger?: boolean; run(): Promise<unknown> | void; onClose(): void }) {
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState('');
  const press = async () => {
    setBusy(true);
    setFault('');
    try {
      await props.run();
      props.onClose();
    } catch (e) {
      setFault(e instanceof Error ? e.message : String(e));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={props.title}
      onClose={props.onClose}
      foot={
        <>
          <Button onClick={props.onClose}>{t('app.cancel')}</Button>
          <Button kind={props.danger ? 'danger' : 'primary'} busy={busy} onClick={press}>
            {props.action}
          </Button>
        </>
      }
    >
      <div>{props.text}</div>
      {fault && <p class="fault" role="alert">{fault}</p>}
    </Dialog>
  );
}
