import { X } from 'lucide-preact';
import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { AwaitsApproval } from '../../../sdk/client.ts';
import { isOutdated } from '../../data/use-action.ts';
import { Button, CopyButton } from '../button.tsx';
import { Form } from '../form.tsx';

/**
 * A dialog over the page. Escape closes it and returns the focus to where it was. The browser's `<dialog>` does both. While
 * `pending`, the dialog can't be closed.
 */
export function Dialog({
  title,
  children,
  onClose,
  wide = false,
  pending = false,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly onClose: () => void;
  readonly wide?: boolean;
  readonly pending?: boolean;
}) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  const isGone = useRef(false);
  const close = () => {
    if (isGone.current) return;
    // Some browsers close the dialog on a second Escape although the first was refused.
    if (pending) dialog.current?.showModal();
    else onClose();
  };
  const cancel = (event: Event) => {
    if (pending) event.preventDefault();
  };
  // Must run before the next key is handled, so that keystrokes after the shortcut reach the field.
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    // Focus the first field, or else the button that changes nothing.
    const fields = shown?.querySelectorAll<HTMLElement>('.dialog-body :is(input, select, textarea)');
    (fields?.[0] ?? shown?.querySelector<HTMLElement>('.dialog-actions button:last-child'))?.focus();
    return () => {
      // The close event comes later, and must not close a dialog that was opened since.
      isGone.current = true;
      shown?.close();
    };
  }, []);
  return (
    <dialog ref={dialog} class={wide ? 'dialog wide' : 'dialog'} aria-labelledby={id} onCancel={cancel} onClose={close}>
      <header>
        <h2 id={id}>{title}</h2>
        <button
          class="close"
          type="button"
          aria-label="Close"
          disabled={pending}
          onClick={() => dialog.current?.close()}
        >
          <X />
        </button>
      </header>
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}

/** Asks before a change. Say in `children` what will happen: the amount, the card, whether it can be undone. */
export function ConfirmDialog({
  title,
  children,
  confirm,
  kind = 'main',
  pending = false,
  disabled = false,
  error,
  dismiss = 'Cancel',
  onConfirm,
  onClose,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
  /** The button's text. It names the action: "Reverse 12.34 USD". */
  readonly confirm: string;
  readonly kind?: 'main' | 'danger';
  readonly pending?: boolean;
  readonly disabled?: boolean;
  readonly error?: Error | undefined;
  /** The label of the button that changes nothing. Set it if "Cancel" could be mistaken for the action. */
  readonly dismiss?: string;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}) {
  // Sending the form again would make a second request.
  const isSent = error instanceof AwaitsApproval;
  const footer = (
    <>
      {isOutdated(error) && (
        <p>
          Someone else changed this while the form was open, so nothing was saved. Close the form, check the new values,
          and make your change again if it still applies.
        </p>
      )}
      <footer class="dialog-actions">
        {!isSent && (
          <Button type="submit" kind={kind} pending={pending} disabled={disabled}>
            {confirm}
          </Button>
        )}
        <Button onClick={onClose} disabled={pending}>
          {isSent ? 'Close' : dismiss}
        </Button>
      </footer>
    </>
  );
  return (
    <Dialog title={title} onClose={onClose} pending={pending}>
      <Form error={error} footer={footer} onSubmit={isSent ? () => undefined : onConfirm}>
        {children}
      </Form>
    </Dialog>
  );
}

/** Shows a secret that the user must copy now, because it is shown only once. */
export function SecretDialog({
  title,
  label,
  secret,
  omitted,
  onClose,
}: {
  readonly title: string;
  /** The name of the secret: "The key". */
  readonly label: string;
  readonly secret: string | null;
  /** Why a replayed response has no secret. */
  readonly omitted: string | null;
  readonly onClose: () => void;
}) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="form">
        {secret === null ? (
          <p role="status">{omitted ?? 'The secret was only in the first response.'}</p>
        ) : (
          <div class="secret" role="status">
            <b>{label}</b>
            <code>{secret}</code>
            <div>
              <CopyButton visible text={secret} label={`Copy ${label.charAt(0).toLowerCase()}${label.slice(1)}`} />
            </div>
            <span class="quiet">Shown only once: the service does not store it.</span>
          </div>
        )}
        <div class="dialog-actions">
          <Button kind="main" onClick={onClose}>
            Done
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
