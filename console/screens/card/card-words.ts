import { CARD_MOVES, type CardLimitsRecord, type CardRecord } from '../../../sdk/client.ts';
import { formatAmount, formatCount } from '../../format/amounts.ts';

/** A status that a user can give a card. */
export type CardMove = (typeof CARD_MOVES)[keyof typeof CARD_MOVES][number];

export const MOVE_TITLES: Readonly<Record<CardMove, string>> = {
  active: 'Activate',
  inactive: 'Suspend',
  lost: 'Report lost',
  stolen: 'Report stolen',
  fraud: 'Block for fraud',
  closed: 'Close',
};

const MEANINGS: Readonly<Record<CardRecord['status'], string>> = {
  preactive: 'It has not been activated yet: no money moves to or from it.',
  active: 'Money can move to it and from it.',
  inactive: 'No money moves to or from it. Its balance stays on it.',
  lost: 'It can no longer receive money, but its balance can still be moved elsewhere.',
  stolen: 'It can no longer receive money, but its balance can still be moved elsewhere. It is never used again.',
  fraud: 'No money moves to or from it until someone decides.',
  expired: 'It can no longer receive money, but its balance can still be moved elsewhere.',
  closed: 'Money can no longer move to or from it.',
};

const STATUSES: Readonly<Record<CardRecord['status'], string>> = {
  preactive: 'not active yet',
  active: 'active',
  inactive: 'suspended',
  lost: 'reported lost',
  stolen: 'reported stolen',
  fraud: 'blocked for suspected fraud',
  expired: 'expired',
  closed: 'closed',
};

/** The title of a change, with the name of the card: `Block employee 7 for fraud`. */
export function titleOf(move: CardMove, name: string): string {
  const [verb = '', ...rest] = MOVE_TITLES[move].split(' ');
  return [verb, name, ...rest.map((word) => (word === 'lost' || word === 'stolen' ? `as ${word}` : word))].join(' ');
}

/** Returns a status in words. A card with the status `inactive` is suspended. */
export function statusText(status: CardRecord['status']): string {
  return STATUSES[status];
}

/** Says what a status allows. */
export function meaningOf(status: CardRecord['status']): string {
  return MEANINGS[status];
}

/** All statuses that a user can give a card, in the order of the menu. */
export const MOVES = Object.keys(MOVE_TITLES) as readonly CardMove[];

/** Says why nothing about a card can be changed. Undefined if it can. */
export function whyUnchangeable({ status }: Pick<CardRecord, 'status'>): string | undefined {
  return status === 'closed' ? "A closed card can't be changed." : undefined;
}

/** Says why a card can't get a status now. Undefined if it can. */
export function whyNotMove(
  card: Pick<CardRecord, 'status' | 'held' | 'incoming' | 'connector_id'>,
  move: CardMove,
): string | undefined {
  const { status, held, incoming, connector_id: connector } = card;
  if (status === move) return `The card is already ${statusText(status)}.`;
  if (!CARD_MOVES[status].some((allowed) => allowed === move)) {
    return whyUnchangeable(card) ?? FORBIDDEN[status] ?? `The card is ${statusText(status)}.`;
  }
  if (move !== 'closed' || (held === 0 && incoming === 0)) return undefined;
  return connector === null
    ? 'Money is on hold. Capture or cancel the pending transfers first.'
    : 'A transfer is pending at the processor. Wait for its outcome.';
}

/** Says what to do first, by the status that forbids a change. */
const FORBIDDEN: Readonly<Partial<Record<CardRecord['status'], string>>> = {
  stolen: 'A stolen card can only be closed.',
  fraud: 'The card is blocked for suspected fraud. Activate or suspend it first.',
  expired: 'The card has expired. Change its expiry date first.',
};

/** Says what a change of status will do. */
export function effectOf(card: Pick<CardRecord, 'status' | 'balance' | 'currency'>, move: CardMove): string {
  const before = `It is ${statusText(card.status)} and has ${formatAmount(card.balance, card.currency)}.`;
  const finality = move === 'closed' || move === 'stolen' ? ' This cannot be undone.' : '';
  return `${before} After the change: ${MEANINGS[move].charAt(0).toLowerCase()}${MEANINGS[move].slice(1)}${finality}`;
}

export type LimitLine = {
  readonly name: string;
  readonly setBy: string;
  readonly value: string;
  /** How much is used and left, in words. Null for limits of one transfer. */
  readonly use: string | null;
  /** The used share, from 0 to 1. Null for limits of one transfer. */
  readonly share: number | null;
  readonly freesAt: string | null;
};

const SET_BY = {
  card: 'on this card',
  program_card: 'by the program, for each card',
  program: 'by the program, for all cards together',
};

export function limitLinesOf(
  { limits }: Pick<CardLimitsRecord['in'], 'limits'>,
  currency: string,
): readonly LimitLine[] {
  return limits.map(({ name, set_by, value, used, left, frees_at }) => {
    const show = (figure: number | string): string =>
      name.endsWith('_count') ? formatCount(Number(figure)) : formatAmount(figure, currency);
    return {
      name: name.replaceAll('_', ' '),
      setBy: SET_BY[set_by],
      value: show(value),
      use: used === null || left === null ? null : `${show(used)} used, ${show(left)} left`,
      share: used === null ? null : value === 0 ? 1 : Math.min(1, Number(used) / value),
      freesAt: frees_at,
    };
  });
}

/** Whether a pair can be written as a line and read back. Other pairs are not in the form and are kept. */
function isLine([name, value]: readonly [string, string]): boolean {
  return /^[^=\n]+$/.test(name) && /^[^\r\n]+$/.test(value) && name === name.trim() && value === value.trim();
}

/** Returns metadata as text, one line per pair. */
export function metadataText(metadata: Readonly<Record<string, string>>): string {
  return Object.entries(metadata)
    .filter(isLine)
    .map(([name, value]) => `${name} = ${value}`)
    .join('\n');
}

/**
 * Returns the change that turns metadata into what a form contains. A string sets a pair, null removes it, and unchanged pairs
 * are left out. Returns undefined if a line is not a pair.
 */
export function readMetadataChange(
  before: Readonly<Record<string, string>>,
  text: string,
): Readonly<Record<string, string | null>> | undefined {
  if (text === metadataText(before)) return {};
  const after = new Map<string, string>();
  for (const line of text.split('\n').filter((one) => one.trim() !== '')) {
    const [, name = '', value = ''] = /^([^=]*)=(.*)$/.exec(line) ?? [];
    if (name.trim() === '' || value.trim() === '') return undefined;
    after.set(name.trim(), value.trim());
  }
  const removed = Object.entries(before).flatMap((pair) => (isLine(pair) && !after.has(pair[0]) ? [pair[0]] : []));
  const set = [...after].filter(([name, value]) => before[name] !== value);
  return Object.fromEntries([...removed.map((name) => [name, null] as const), ...set]);
}
