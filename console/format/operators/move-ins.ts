import type { ComparisonRecord, DifferenceRecord, MoveInRecord } from '../../../sdk/client.ts';
import { formatCount } from '../amounts.ts';
import type { StatusWord } from './processors.ts';
import { formatNumber } from './switch.ts';

/** Every status of a move-in, in the order that a move-in goes through them. */
export const MOVE_IN_STATUSES: Readonly<Record<MoveInRecord['status'], StatusWord>> = {
  receiving: { word: 'moving in', tone: 'waiting' },
  moved: { word: 'moved in', tone: 'good' },
  undoing: { word: 'being undone', tone: 'waiting' },
  undone: { word: 'undone', tone: 'quiet' },
};

/** Every status of a comparison, in the order that a comparison goes through them. */
export const COMPARISON_STATUSES: Readonly<Record<ComparisonRecord['status'], StatusWord>> = {
  comparing: { word: 'being compared', tone: 'waiting' },
  equal: { word: 'equal', tone: 'good' },
  different: { word: 'different', tone: 'bad' },
  cut_over: { word: 'cut over', tone: 'good' },
};

export type DifferenceReason = DifferenceRecord['reason'];

/** The probable reasons of differences in words, each with its meaning. */
export const DIFFERENCE_REASONS: Readonly<
  Record<DifferenceReason, { readonly word: string; readonly meaning: string }>
> = {
  card_only_there: {
    word: 'card only in the file',
    meaning: 'Here, the card does not exist, is closed or belongs to a processor.',
  },
  card_only_here: { word: 'card only here', meaning: 'The file does not have the card.' },
  other_currency: { word: 'other currency', meaning: 'The currency of the card differs.' },
  other_status: { word: 'other status', meaning: 'The status of the card differs.' },
  transfer_only_there: {
    word: 'transfer only in the old ledger',
    meaning: 'The balance differs, and the card has no transfers here.',
  },
  transfer_only_here: { word: 'transfer only here', meaning: 'One transfer here is the difference of the balances.' },
  other_balance: {
    word: 'other balance',
    meaning: 'The balance differs, and no single transfer here is the difference.',
  },
  hold_only_there: { word: 'hold only in the file', meaning: 'The hold is not open here.' },
  hold_released_there: {
    word: 'hold released in the old ledger',
    meaning: 'The hold is open here, and the file does not have it.',
  },
  hold_captured_there: {
    word: 'hold captured in the old ledger',
    meaning: 'The hold is open here. The file does not have it, and its balance is lower.',
  },
  other_hold_amount: { word: 'other amount of a hold', meaning: 'The amount of the hold differs.' },
};

/** Returns the word for a reason. A newer service may have a reason that this console doesn't know. */
export function reasonWord(reason: DifferenceReason): string {
  return DIFFERENCE_REASONS[reason]?.word ?? reason.replaceAll('_', ' ');
}

/** Work that is in progress: `done` of `total`, and what has happened to them, such as `lines are moved in`. */
export type Work = { readonly done: number; readonly total: number; readonly text: string };

/** Returns the work of a move-in that is in progress, or undefined if nothing is. */
export function workOfMoveIn({
  status,
  line_count: count,
  lines_received: received,
  lines_undone: undone,
}: MoveInRecord): Work | undefined {
  if (status === 'receiving') return workOn(received, count, 'line', 'moved in');
  return status === 'undoing' ? workOn(undone, received, 'line', 'undone') : undefined;
}

/** Returns the work of a comparison that is in progress, or undefined if nothing is. */
export function workOfComparison({
  status,
  cards_received: received,
  card_count: count,
}: ComparisonRecord): Work | undefined {
  return status === 'comparing' ? workOn(received, count, 'card', 'compared') : undefined;
}

function workOn(done: number, total: number, noun: string, what: string): Work {
  const text = `${formatCount(done)} of ${formatNumber(total, noun)} ${total === 1 ? 'is' : 'are'} ${what}`;
  return { done, total, text };
}

/** Counts the lines of a move-in in a list: `1,100,000 lines`, or its work while that is in progress. */
export function linesOfMoveIn(moveIn: MoveInRecord): string {
  return workOfMoveIn(moveIn)?.text ?? formatNumber(moveIn.line_count, 'line');
}

/** How much of some work was done at a time, in milliseconds. */
export type Reading = { readonly at: number; readonly done: number };

/** Older readings do not count, so that the speed is the current one. */
const READINGS_MILLISECONDS = 20_000;

/** Adds a reading, and drops those that are too old. If less is done than before, other work has begun. */
export function withReading(readings: readonly Reading[], next: Reading): readonly Reading[] {
  const kept = readings.filter(({ at, done }) => next.at - at <= READINGS_MILLISECONDS && done <= next.done);
  return [...kept, next];
}

/** Says how fast work is done and how long the rest takes: `4,120 a second, about 3 min to go`. Undefined if it does not move. */
export function paceText(readings: readonly Reading[], total: number): string | undefined {
  const [first, last] = [readings.at(0), readings.at(-1)];
  if (first === undefined || last === undefined || last.at <= first.at) return undefined;
  const perSecond = (last.done - first.done) / ((last.at - first.at) / 1000);
  if (perSecond < 1) return undefined;
  const seconds = Math.ceil((total - last.done) / perSecond);
  const rest = seconds < 120 ? `${seconds} s` : `${formatCount(Math.ceil(seconds / 60))} min`;
  return `${formatCount(Math.round(perSecond))} a second, about ${rest} to go`;
}

/** Says whether a move-in has done what its file says. For move-ins that are not in progress. */
export function resultOfMoveIn({ status, line_count: count, adds_up: addsUp }: MoveInRecord): string {
  if (status === 'undone') return 'This move-in is undone, and nothing of it is left.';
  const moved = count === 1 ? 'The line has moved in.' : `All ${formatNumber(count, 'line')} have moved in.`;
  if (addsUp === null) return `${moved} The file states no totals.`;
  return `${moved} The books ${addsUp ? 'equal' : 'differ from'} the totals that the file states.`;
}

/** Says why a comparison can't be cut over, or returns undefined if it can. */
export function whyNotCutOver({ status, as_of: asOf }: ComparisonRecord): string | undefined {
  switch (status) {
    case 'comparing':
      return 'Not all cards of the file are compared yet.';
    case 'different':
      return 'There are differences. Resolve them, and compare again.';
    case 'cut_over':
      return 'The card program is already cut over.';
    default:
      return asOf === null ? undefined : 'It is about the books of an earlier time. Compare the current books.';
  }
}
