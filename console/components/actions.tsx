import { ChevronDown } from 'lucide-preact';
import { Fragment, type TargetedToggleEvent } from 'preact';
import { useId, useRef } from 'preact/hooks';
import { Button, ButtonLink } from './button.tsx';

/** An action on a record. Give it `onChoose` to do something, or `href` to open a screen. */
export type Action = {
  readonly text: string;
  readonly onChoose?: (() => void) | undefined;
  readonly href?: string | undefined;
  /** Why the action is not possible now. The menu shows it, and the action can't be chosen. */
  readonly whyNot?: string | undefined;
  /** Whether the action stops money or can't be undone. Such actions are last and apart from the others. */
  readonly isDanger?: boolean | undefined;
  readonly pending?: boolean | undefined;
};

/** An action that is listed only under a condition. */
export type MaybeAction = Action | false | null | undefined;

/**
 * The actions on a record, most important first. Two are shown as buttons. If there are more, the first one is a button and the
 * others are in a menu. An action that is not possible now is only in the menu, below the possible ones, where its reason fits.
 */
export function Actions({
  actions,
  kind = 'plain',
}: {
  readonly actions: readonly MaybeAction[];
  /** The look of the first button. */
  readonly kind?: 'plain' | 'main';
}) {
  const listed = actions.filter((action): action is Action => typeof action === 'object' && action !== null);
  const inOrder = listed.toSorted((one, other) => rankOf(one) - rankOf(other));
  const first = inOrder.find(({ whyNot }) => whyNot === undefined);
  const rest = inOrder.filter((action) => action !== first);
  const isMenu = rest.length > 1 || rest.some(({ whyNot }) => whyNot !== undefined);
  return (
    <>
      {first !== undefined && <ActionButton action={first} kind={kind} />}
      {isMenu ? <Menu actions={rest} /> : rest.map((action) => <ActionButton key={action.text} action={action} />)}
    </>
  );
}

/** Dangerous actions are below the others, and in both parts the possible ones come first. */
function rankOf({ isDanger, whyNot }: Action): number {
  return (isDanger ? 2 : 0) + (whyNot === undefined ? 0 : 1);
}

function ActionButton({ action, kind = 'plain' }: { readonly action: Action; readonly kind?: 'plain' | 'main' }) {
  const { text, href, onChoose, isDanger = false, pending } = action;
  if (href !== undefined) {
    return (
      <ButtonLink href={href} kind={kind}>
        {text}
      </ButtonLink>
    );
  }
  return (
    <Button kind={isDanger ? 'danger' : kind} onClick={onChoose} pending={pending}>
      {text}
    </Button>
  );
}

/**
 * A button that opens a menu. In the menu, the arrow keys, Home, End and the first letter of an action move the focus. The browser's
 * popover opens it above everything else, closes it on Escape or a click outside, and returns the focus to the button.
 */
function Menu({ actions }: { readonly actions: readonly Action[] }) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const menu = useRef<HTMLDivElement>(null);
  const items = () => [...(menu.current?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? [])];
  const onToggle = (event: TargetedToggleEvent<HTMLDivElement>) => {
    const isOpen = event.newState === 'open';
    button.current?.setAttribute('aria-expanded', String(isOpen));
    if (isOpen) items()[0]?.focus();
  };
  const onButtonKey = (event: KeyboardEvent) => {
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
    event.preventDefault();
    menu.current?.showPopover({ source: event.currentTarget as HTMLElement });
  };
  const onMenuKey = (event: KeyboardEvent) => {
    // Letters must not reach the shortcuts of the console.
    event.stopPropagation();
    if (event.key === 'Tab') menu.current?.hidePopover();
    const next = nextItem(items(), event.key);
    if (next === undefined) return;
    event.preventDefault();
    next.focus();
  };
  const choose = ({ onChoose }: Action) => {
    // Closing returns the focus to the button, so a dialog that the action opens returns it there too.
    menu.current?.hidePopover();
    onChoose?.();
  };
  const [firstDanger] = actions.filter(({ isDanger }) => isDanger);
  return (
    <span class="action-menu">
      <button
        ref={button}
        class="button plain"
        type="button"
        popovertarget={id}
        aria-haspopup="menu"
        aria-expanded="false"
        aria-controls={id}
        onKeyDown={onButtonKey}
      >
        More
        <ChevronDown />
      </button>
      <div
        ref={menu}
        id={id}
        popover="auto"
        role="menu"
        aria-label="More actions"
        onToggle={onToggle}
        onKeyDown={onMenuKey}
      >
        {actions.map((action) => (
          <Fragment key={action.text}>
            {action === firstDanger && action !== actions[0] && <hr />}
            <MenuItem action={action} onChoose={() => choose(action)} />
          </Fragment>
        ))}
      </div>
    </span>
  );
}

function MenuItem({ action, onChoose }: { readonly action: Action; readonly onChoose: () => void }) {
  const { text, href, whyNot, isDanger, pending } = action;
  const isOff = whyNot !== undefined || pending === true;
  const look = isDanger ? 'danger' : undefined;
  if (href !== undefined && !isOff) {
    return (
      <a role="menuitem" tabIndex={-1} class={look} href={href} onClick={onChoose}>
        {text}
      </a>
    );
  }
  return (
    <button
      type="button"
      role="menuitem"
      tabIndex={-1}
      class={look}
      aria-disabled={isOff}
      onClick={isOff ? undefined : onChoose}
    >
      {text}
      {whyNot !== undefined && <small>{whyNot}</small>}
    </button>
  );
}

/** Returns the item that a key moves the focus to, or undefined for any other key. */
function nextItem(items: readonly HTMLElement[], key: string): HTMLElement | undefined {
  const at = items.indexOf(document.activeElement as HTMLElement);
  switch (key) {
    case 'ArrowDown':
      return items[(at + 1) % items.length];
    case 'ArrowUp':
      return items.at(at <= 0 ? -1 : at - 1);
    case 'Home':
      return items[0];
    case 'End':
      return items.at(-1);
    default:
      return key.length === 1
        ? [...items.slice(at + 1), ...items.slice(0, at + 1)].find((item) =>
            item.textContent?.trimStart().toLowerCase().startsWith(key.toLowerCase()),
          )
        : undefined;
  }
}
