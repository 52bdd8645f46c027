import { Check, Copy, X } from 'lucide-preact';
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { OperationId } from '../../sdk/client.ts';
import { useSession } from '../data/session.ts';
import { whoMay } from '../format/operators/keys.ts';

/** A button. While `pending`, it can't be pressed again, and screen readers announce that it is busy. */
export function Button({
  children,
  onClick,
  type = 'button',
  kind = 'plain',
  disabled = false,
  pending = false,
  title,
  shortcut,
}: {
  readonly children: ComponentChildren;
  readonly onClick?: (() => void) | undefined;
  readonly type?: 'button' | 'submit';
  /** `main` is the main action of a form, `danger` stops money or can't be undone, `quiet` is for buttons next to text. */
  readonly kind?: 'plain' | 'main' | 'danger' | 'quiet';
  readonly disabled?: boolean | undefined;
  readonly pending?: boolean | undefined;
  readonly title?: string | undefined;
  /** The letter that presses the button while no text field has the focus. */
  readonly shortcut?: string | undefined;
}) {
  return (
    <button
      class={`button ${kind}`}
      type={type}
      disabled={disabled || pending}
      aria-busy={pending}
      title={title}
      aria-keyshortcuts={shortcut}
      onClick={onClick}
    >
      {children}
      {shortcut !== undefined && (
        <span class="key" aria-hidden="true">
          {shortcut}
        </span>
      )}
    </button>
  );
}

export function ButtonLink({
  href,
  children,
  onClick,
  kind = 'plain',
}: {
  readonly href: string;
  readonly onClick?: () => void;
  readonly children: ComponentChildren;
  readonly kind?: 'plain' | 'main' | 'quiet';
}) {
  return (
    <a class={`button ${kind}`} href={href} onClick={onClick}>
      {children}
    </a>
  );
}

const COPY_ICONS = { ready: Copy, copied: Check, failed: X } as const;

/**
 * Copies text to the clipboard. Browsers allow this only over HTTPS or on localhost. Elsewhere, users select the text themselves.
 */
export function CopyButton({
  text,
  label = 'Copy',
  visible = false,
}: {
  readonly text: string;
  /** The name for screen readers, such as "Copy the id". */
  readonly label?: string;
  /** Whether the button shows the label instead of a symbol. */
  readonly visible?: boolean;
}) {
  const [state, setState] = useState<'ready' | 'copied' | 'failed'>('ready');
  useEffect(() => {
    if (state === 'ready') return;
    const timer = window.setTimeout(() => setState('ready'), 1_500);
    return () => window.clearTimeout(timer);
  }, [state]);
  const copy = async () => setState((await copyText(text)) ? 'copied' : 'failed');
  const said = state === 'copied' ? 'Copied' : state === 'failed' ? 'Could not copy: select the text instead' : label;
  const Icon = COPY_ICONS[state];
  return (
    <button class={visible ? 'button plain' : 'copy'} type="button" onClick={copy} title={visible ? undefined : said}>
      {!visible && <Icon class={state} />}
      <span class={visible ? '' : 'hidden'} role="status">
        {said}
      </span>
    </button>
  );
}

async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** Shown instead of a button to callers without permission: "To deposit money, ask a treasurer." */
export function WhoMay({ operation, to }: { readonly operation: OperationId; readonly to: string }) {
  const { can } = useSession();
  if (can(operation)) return null;
  return (
    <p class="quiet">
      To {to}, ask {whoMay(operation)}.
    </p>
  );
}
