import { CARD_MOVES, type CardLimitsRecord, type CardRecord } from '../../../sdk/client.ts';
import { formatAmount, formatCount } from '../../format/amounts.ts';

/** A status that a card can be given. */
export type CardMove = (typeof CARD_MOVES)[keyof typeof CARD_MOVES][number];

/** What is done with a card, as its buttons say it. */
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
  inactive: 'It is suspended: no money moves to or from it, and what is on it stays.',
  lost: 'It was reported lost: it takes no money, and what is on it can be moved away.',
  stolen: 'It was reported stolen: it takes no money, and what is on it can be moved away. It is never used again.',
  fraud: 'It is blocked for suspected fraud: no money moves to or from it until somebody decides.',
  expired: 'Its last day has passed: it takes no money, and what is on it can be moved away.',
  closed: 'It is closed for good: no money moves to or from it.',
};

/** What a status lets through. */
export function meaningOf(status: CardRecord['status']): string {
  return MEANINGS[status];
}

/** What a card of a status can be made. */
export function movesFrom(status: CardRecord['status']): readonly CardMove[] {
  return CARD_MOVES[status];
}

/** What a change of status will do, in a sentence. */
export function effectOf(card: CardRecord, move: CardMove): string {
  const before = `The card ${card.card_id} is ${card.status} and has ${formatAmount(card.balance, card.currency)}.`;
  const finality = move === 'closed' || move === 'stolen' ? ' This cannot be undone.' : '';
  return `${before} Then: ${MEANINGS[move].charAt(0).toLowerCase()}${MEANINGS[move].slice(1)}${finality}`;
}

/** One limit of a card, ready to be shown. */
export type LimitLine = {
  readonly name: string;
  readonly setBy: string;
  readonly value: string;
  /** What is left or used, in words; null for limits of one transfer. */
  readonly use: string | null;
  /** From 0 to 1; null for limits of one transfer. */
  readonly share: number | null;
  readonly freesAt: string | null;
};

const SET_BY = { card: 'the card', program_card: 'the program, for each card', program: 'the program, for all cards' };

/** The limits of a direction. */
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
