import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { ApiError } from '../app/api';
import { describePointer, t } from '../app/words';
import { Button, IconButton } from './Button';
import { errorText } from './states';

interface Props {
  title: string;
  onClose(): void;
  children: ComponentChildren;
  /** The buttons in the footer. */
  footer?: ComponentChildren;
  wide?: boolean;
}

/** A modal dialog. Its first field gets the focus, and Escape closes it. */
export function Dialog({ title, onClose, children, footer, wide }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current!;
    const previous = document.activeElement;
    dialog.showModal();
    dialog.querySelector<HTMLElement>('.dialog-body :is(input, select, textarea):not([disabled])')?.focus();
    return () => {
      // An action in the dialog may already have moved the focus.
      const now = document.activeElement;
      dialog.close();
      const next = now && now !== document.body && !dialog.contains(now) ? now : previous;
      if (next instanceof HTMLElement && next !== document.activeElement) next.focus(); // a frame would lose its own focus
      if (document.activeElement === document.body) document.getElementById('main')?.focus(); // the element was removed or disabled
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
        {footer && <footer role="none">{footer}</footer>}
      </div>
    </dialog>
  );
}

interface DialogFormProps {
  title: string;
  /** The text of the submit button. */
  action: string;
  danger?: boolean;
  disabled?: boolean;
  wide?: boolean;
  run(): Promise<unknown> | void;
  onClose(): void;
}

/**
 * A dialog with a form. It closes after run succeeds. Until the user types, the children show the errors at the JSON
 * Pointers in own.
 */
export function FormDialog({ title, action, danger, disabled, wide, run, onClose, own = [], children }: DialogFormProps & { own?: readonly string[]; children: ComponentChildren | ((at: (path: string) => string | undefined) => ComponentChildren) }) {
  const busy = useSignal(false);
  const failure = useSignal<unknown>(undefined);
  const form = useRef<HTMLFormElement>(null);
  const id = useId();
  const submit = async (e: Event) => {
    e.preventDefault();
    if (busy.value || disabled) return;
    busy.value = true;
    failure.value = undefined;
    try {
      await run();
      onClose();
    } catch (error) {
      failure.value = error;
      requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus());
    } finally {
      busy.value = false;
    }
  };
  const details = failure.value instanceof ApiError ? failure.value.details : [];
  const rest = details.filter((d) => !own.includes(d.path));
  const errorAt = (path: string) => details.filter((d) => d.path === path).map((d) => d.message).join(' ') || undefined;
  return (
    <Dialog
      title={title}
      onClose={onClose}
      wide={wide}
      footer={
        <>
          <Button onClick={onClose}>{t('app.cancel')}</Button>
          <Button kind={danger ? 'danger' : 'primary'} type="submit" form={id} busy={busy.value} disabled={disabled}>{action}</Button>
        </>
      }
    >
      <form ref={form} id={id} class="stack" noValidate={own.length > 0} onSubmit={submit} onInput={() => own.length > 0 && (failure.value = undefined)}>
        {typeof children === 'function' ? children(errorAt) : children}
        {failure.value !== undefined && (details.length === 0 || rest.length > 0) && (
          <div class="fault" role="alert">
            {rest.length > 0 ? <ul>{rest.slice(0, 20).map((d) => <li key={d.path + d.code}><b>{describePointer(d.path)}</b> {d.message}</li>)}</ul> : errorText(failure.value)}
          </div>
        )}
      </form>
    </Dialog>
  );
}

/** Asks for confirmation. */
export const ConfirmDialog = ({ text, ...question }: DialogFormProps & { text: ComponentChildren }) => <FormDialog {...question}><div>{text}</div></FormDialog>;
