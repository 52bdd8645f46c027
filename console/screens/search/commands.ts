import type { OperationId } from '../../../sdk/client.ts';

/** A screen that the caller may open. */
export type KnownScreen = {
  readonly path: string;
  readonly title: string;
  readonly name?: string;
  readonly group?: string;
};

/** A screen or an action that the search opens. */
export type Command = { readonly kind: 'Screen' | 'Action'; readonly title: string; readonly path: string };

/** The caller: the screens and operations that they may use, and the chosen card program. */
export type Reach = {
  readonly screens: readonly KnownScreen[];
  readonly can: (operation: OperationId) => boolean;
  readonly programId: string | undefined;
};

type Action = {
  readonly title: string;
  /** Other words that find the action. */
  readonly words?: string;
  readonly operation: OperationId;
  /** The screen, with the state in its query that opens or fills in the form. `:program` is the chosen card program. */
  readonly path: string;
};

const STOP = 'halt pause disable block switch';

const ACTIONS: readonly Action[] = [
  {
    title: 'Stop all transfers',
    words: `everything ${STOP}`,
    operation: 'change_switch',
    path: '/console/switch?scope=service',
  },
  {
    title: 'Stop loads',
    words: STOP,
    operation: 'change_switch',
    path: '/console/switch?scope=transfer_type&type=load',
  },
  {
    title: 'Stop unloads',
    words: STOP,
    operation: 'change_switch',
    path: '/console/switch?scope=transfer_type&type=unload',
  },
  {
    title: 'Stop transfers between cards',
    words: STOP,
    operation: 'change_switch',
    path: '/console/switch?scope=transfer_type&type=card_to_card',
  },
  {
    title: 'Stop a card program',
    words: `transfers ${STOP}`,
    operation: 'change_switch',
    path: '/console/switch?scope=program',
  },
  {
    title: 'Stop a connector',
    words: `processor transfers ${STOP}`,
    operation: 'change_switch',
    path: '/console/switch?scope=connector',
  },
  {
    title: 'Restart transfers',
    words: 'start resume enable switch loads unloads',
    operation: 'change_switch',
    path: '/console/switch',
  },
  { title: 'New key', words: 'create api', operation: 'create_key', path: '/console/keys?open=create' },
  { title: 'New webhook', words: 'create', operation: 'create_webhook', path: '/console/webhooks?open=create' },
  { title: 'New card', words: 'create', operation: 'create_card', path: '/console/cards?open=create' },
  {
    title: 'New card program',
    words: 'create',
    operation: 'create_program',
    path: '/console/programs?open=create',
  },
  {
    title: 'Deposit',
    words: 'funds money add',
    operation: 'create_deposit',
    path: '/console/programs/:program?open=deposit',
  },
  {
    title: 'Withdraw',
    words: 'funds money withdrawal',
    operation: 'create_withdrawal',
    path: '/console/programs/:program?open=withdrawal',
  },
  {
    title: 'Open a case',
    words: 'new create contact support ticket',
    operation: 'create_case',
    path: '/console/cases?open=create',
  },
  {
    title: 'Open an incident',
    words: 'new create',
    operation: 'create_incident',
    path: '/console/incidents?open=create',
  },
  {
    title: 'Check a day',
    words: 'close report yesterday reconcile',
    operation: 'get_day',
    path: '/console/programs/:program/day',
  },
  { title: 'Move the clock', words: 'time sandbox', operation: 'move_clock', path: '/console/sandbox' },
];

/** Words that don't change the meaning of a text. */
const FILLERS: ReadonlySet<string> = new Set(['a', 'an', 'the', 'of', 'for', 'to', 'all', 'my']);

const wordsOf = (text: string): readonly string[] =>
  text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);

/** Returns the actions that the caller may do, then the screens that the caller may open. */
function commandsOf({ screens, can, programId }: Reach): readonly (Command & { readonly words: string })[] {
  const isOpen = (path: string): boolean =>
    screens.some((screen) => path.split(/[?:]/)[0]?.replace(/\/$/, '') === screen.path);
  const actions = ACTIONS.filter(({ operation, path }) => can(operation) && isOpen(path))
    .filter(({ path }) => programId !== undefined || !path.includes(':program'))
    .map(({ title, path, words = '' }) => {
      return { kind: 'Action' as const, title, path: path.replace(':program', programId ?? ''), words };
    });
  const opened = screens
    .filter(({ group }) => group !== undefined)
    .map(({ title, name = '', path }) => ({ kind: 'Screen' as const, title, path, words: `${name} go open screen` }));
  return [...actions, ...opened];
}

/**
 * Returns the screens and actions that a text names, the best first. Each word of the text must be the start of a word of the
 * command. Without a text, returns the actions.
 */
export function findCommands(text: string, reach: Reach): readonly Command[] {
  const commands = commandsOf(reach);
  const typed = wordsOf(text);
  if (typed.length === 0) return commands.filter(({ kind }) => kind === 'Action');
  const meant = typed.filter((word) => !FILLERS.has(word));
  const begins = (words: readonly string[], sought: readonly string[]): boolean =>
    sought.every((word) => words.some((one) => one.startsWith(word)));
  const rankOf = ({ title, words }: { readonly title: string; readonly words: string }): number => {
    const own = wordsOf(title);
    if (own.join(' ').startsWith(typed.join(' '))) return 0;
    if (begins(own, typed)) return 1;
    if (meant.length === 0) return Number.POSITIVE_INFINITY;
    if (begins(own, meant)) return 2;
    return begins([...own, ...wordsOf(words)], meant) ? 3 : Number.POSITIVE_INFINITY;
  };
  return commands
    .map((command) => ({ command, rank: rankOf(command) }))
    .filter(({ rank }) => Number.isFinite(rank))
    .toSorted((left, right) => left.rank - right.rank)
    .map(({ command }) => command);
}
