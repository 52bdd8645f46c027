import type { ComponentChildren } from 'preact';

/** A button. While `pending` it cannot be pressed again, and says so to screen readers. */
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
  /** `main` for the main action of a form, `danger` for what stops money or cannot be undone, `quiet` beside text. */
  readonly kind?: 'plain' | 'main' | 'danger' | 'quiet';
  readonly disabled?: boolean | undefined;
  readonly pending?: boolean | undefined;
  readonly title?: string | undefined;
  /** A key that presses it, unless somebody types: one letter. */
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

/** A link that looks like a button. */
export function ButtonLink({
  href,
  children,
  kind = 'plain',
}: {
  readonly href: string;
  readonly children: ComponentChildren;
  readonly kind?: 'plain' | 'main' | 'quiet';
}) {
  return (
    <a class={`button ${kind}`} href={href}>
      {children}
    </a>
  );
}
