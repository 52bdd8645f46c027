import type {
  BreakRecord,
  ConnectorRecord,
  ProcessorAttemptRecord,
  SettlementFileRecord,
} from '../../../sdk/client.ts';
import { formatAmount, formatCount } from '../amounts.ts';
import { formatDuration } from '../times.ts';
import { formatNumber } from './switch.ts';

type Status = ProcessorAttemptRecord['status'];

export type StatusWord = { readonly word: string; readonly tone: 'good' | 'waiting' | 'bad' | 'quiet' };

/** Every status of an attempt, in the order that an attempt goes through them. */
export const ATTEMPT_WORDS: Readonly<Record<Status, StatusWord>> = {
  ready: { word: 'not sent yet', tone: 'waiting' },
  sent: { word: 'sent, no answer yet', tone: 'waiting' },
  pending: { word: 'accepted, not done yet', tone: 'waiting' },
  unknown: { word: 'outcome unknown', tone: 'waiting' },
  reversing: { word: 'being reversed', tone: 'waiting' },
  attention: { word: 'needs attention', tone: 'bad' },
  approved: { word: 'approved', tone: 'good' },
  declined: { word: 'declined', tone: 'bad' },
  failed: { word: 'not carried out', tone: 'bad' },
  reversed: { word: 'reversed', tone: 'quiet' },
};

/** The word for the status of an attempt. A newer service may have a status that this console doesn't know. */
export function attemptWord(status: Status): StatusWord {
  return ATTEMPT_WORDS[status] ?? { word: status, tone: 'quiet' };
}

/** Says what a status means for the money. */
export const ATTEMPT_SENTENCES: Readonly<Record<Status, string>> = {
  ready: 'The order waits to be sent to the processor.',
  sent: 'The order was sent, and the processor has not answered yet.',
  pending: 'The processor has accepted the order and will carry it out later.',
  unknown: 'It is unknown whether the processor carried it out. The money stays on hold until that is known.',
  reversing:
    'The service keeps asking the processor to undo the order until it confirms that. The money stays on hold until then.',
  attention: 'The service cannot find out what the processor did, so an operator must ask it. The money stays on hold.',
  approved: 'The processor carried it out.',
  declined: 'The processor declined it. No money moved.',
  failed: 'The processor did not carry it out. No money moved.',
  reversed: 'The processor undid the order. No money moved.',
};

/** Says what is known about the money of an attempt. */
export function sentenceOf(
  attempt: Pick<
    ProcessorAttemptRecord,
    | 'status'
    | 'late_approval_at'
    | 'late_approval_settled_at'
    | 'contradiction'
    | 'contradiction_settled_at'
    | 'break_id'
  >,
): string {
  const { status, late_approval_at: at, contradiction, contradiction_settled_at: settled, break_id: id } = attempt;
  if (contradiction !== null && at === null && id !== null) {
    const then =
      settled === null
        ? `An operator will find out which is true (break ${id}).`
        : `An operator settled that (break ${id}).`;
    return `${ATTEMPT_SENTENCES[status]} But later it said "${contradiction.replaceAll('_', ' ')}". ${then}`;
  }
  if (at === null || id === null) return ATTEMPT_SENTENCES[status];
  const settles = attempt.late_approval_settled_at === null ? 'will settle' : 'settled';
  return `The money did move: the processor said so after the transfer had failed. An operator ${settles} that (break ${id}).`;
}

/** Describes the order of an attempt: `load of 12.50 USD`. */
export function orderOf({
  kind,
  amount,
  currency,
}: Pick<ProcessorAttemptRecord, 'kind' | 'amount' | 'currency'>): string {
  return `${nameOfKind(kind)} of ${formatAmount(amount, currency)}`;
}

export function nameOfKind(kind: ProcessorAttemptRecord['kind']): string {
  return kind === 'push' ? 'load' : 'unload';
}

/** Whether an operator who has asked the processor can end the attempt. */
export function canBeResolved(status: Status): boolean {
  return status === 'unknown' || status === 'reversing' || status === 'attention' || status === 'pending';
}

/** Whether the attempt has not ended, so polling it is useful. */
export function isOpen(status: Status): boolean {
  return status === 'ready' || status === 'sent' || canBeResolved(status);
}

export type Resolution = 'executed' | 'not_executed';

/** Says what a resolution will do to the money. */
export function effectOf(
  { kind, amount, currency }: Pick<ProcessorAttemptRecord, 'kind' | 'amount' | 'currency'>,
  outcome: Resolution,
): string {
  const money = formatAmount(amount, currency);
  if (outcome === 'executed') {
    return kind === 'push'
      ? `The load is completed: ${money} moves from the program's funding to the card.`
      : `The unload is completed: ${money} moves from the card to the program's funding.`;
  }
  return kind === 'push'
    ? `The load fails: the ${money} on hold returns to the program's funding.`
    : `The unload fails: the program's funding gets nothing, and the ${money} stays on the card.`;
}

/** Says what happened to a resolved attempt. */
export function resolvedText(attempt: Pick<ProcessorAttemptRecord, 'kind' | 'amount' | 'currency' | 'status'>): string {
  return `Resolved: the ${orderOf(attempt)} ${attempt.status === 'approved' ? 'is completed' : 'has failed'}.`;
}

/** Each kind of break, with its name in a list and its meaning. */
export const BREAK_KINDS: Readonly<Record<BreakRecord['kind'], { readonly word: string; readonly meaning: string }>> = {
  late_approval: {
    word: 'carried out too late',
    meaning:
      'The processor carried out the order after its transfer had failed. The money is in the suspense account until it is booked.',
  },
  contradiction: {
    word: 'contradicts an approval',
    meaning: 'The processor says that it did not carry out an order that it had approved, or names a different amount.',
  },
  unknown_attempt: {
    word: 'about an unknown order',
    meaning: 'The processor has sent a notice about an order that the service never made.',
  },
  unhandled_notice: {
    word: 'a notice that fails',
    meaning:
      'The service cannot handle a notice from the processor. It tries again every ten minutes until the break is closed.',
  },
  reused_notice_id: {
    word: 'a notice id used twice',
    meaning:
      'The processor sent a notice with the id of a previous notice but different contents. The new notice was refused.',
  },
  missing_in_ledger: {
    word: 'settled, but not in the books',
    meaning: 'A settlement file has a line whose id and reference fit no order in the books.',
  },
  duplicate: {
    word: 'settled twice',
    meaning: 'Settlement files have several lines about one order. Ask the processor whether it moved the money twice.',
  },
  missing_in_file: {
    word: 'not settled in time',
    meaning:
      'The processor approved the order, but no settlement file has it. Ask the processor whether it moved the money.',
  },
  file_missing: {
    word: 'a missing file',
    meaning:
      'Orders should be in a settlement file by now, but none has arrived, or the numbers of the files have a gap. The break closes when the files arrive.',
  },
};

/** Says how old a break is: `3 h 20 min`. */
export function ageText(seconds: number): string {
  return formatDuration(Math.max(1, seconds) * 1000);
}

type Booking = BreakRecord['bookings'][number];

/** What a booking means for the account that it is booked against: it pays, or it receives. */
const MEANINGS: Readonly<Record<Booking['book_against'], { readonly pays: string; readonly receives: string }>> = {
  funding: { pays: 'The card program pays', receives: 'The card program gets it back' },
  clearing: { pays: 'The processor has undone it', receives: 'The processor has undone it' },
  loss: { pays: 'We bear the loss', receives: 'We keep the gain' },
};

/** The ways to book the difference of a break, as choices: `We bear the loss: 10.00 USD from loss to suspense`. */
export function bookingChoices({ bookings, currency }: Pick<BreakRecord, 'bookings' | 'currency'>) {
  return bookings.map((booking): readonly [Booking['book_against'], string] => {
    const { book_against: against, from, to, amount } = booking;
    return [against, `${meaningOf(booking)}: ${formatAmount(amount, currency ?? '')} from ${from} to ${to}`];
  });
}

export function meaningOf({ book_against: against, from }: Booking): string {
  return MEANINGS[against][from === against ? 'pays' : 'receives'];
}

/** Returns what the processor said in a break, in the words of the console. The numbers of lines are links next to it. */
export function statementOf({ found }: Pick<BreakRecord, 'found'>): string {
  return found
    .replaceAll(/ \(line \d+ of stl_[0-9a-f]{32}\)/g, '')
    .replaceAll(/\bpush(?= of \d)/g, 'load')
    .replaceAll(/\b(?:(a) )?pull(?= of \d)/g, (_, article) => (article === undefined ? 'unload' : 'an unload'));
}

type FileStatus = SettlementFileRecord['status'];

export const FILE_STATUSES: Readonly<Record<FileStatus, StatusWord>> = {
  receiving: { word: 'arriving', tone: 'waiting' },
  matching: { word: 'being compared', tone: 'waiting' },
  matched: { word: 'compared', tone: 'good' },
  withdrawing: { word: 'being withdrawn', tone: 'waiting' },
  withdrawn: { word: 'withdrawn', tone: 'quiet' },
};

export type LineOutcome = keyof SettlementFileRecord['outcomes'];

/** Each outcome of a line, with its name and what follows from it. */
export const LINE_OUTCOMES: Readonly<Record<LineOutcome, { readonly word: string; readonly meaning: string }>> = {
  matched: { word: 'agrees with the books', meaning: 'Nothing.' },
  reported: {
    word: 'reports the outcome of an order',
    meaning: 'It counts as the answer of the processor. If the books had a different outcome, there is a break.',
  },
  differs: { word: 'has a different amount, currency or direction', meaning: 'A break for each.' },
  duplicate: { word: 'settles an order again', meaning: 'A break for each order.' },
  missing_in_ledger: { word: 'is about an order that the books do not have', meaning: 'A break for each order.' },
};

/** The number of lines that disagree with the books. */
export function differing({ outcomes }: Pick<SettlementFileRecord, 'outcomes'>): number {
  return outcomes.differs + outcomes.duplicate + outcomes.missing_in_ledger;
}

/** Counts the lines of a file without differences: `998 of 1,000 match, 1 reported the outcome of an order`. */
export function linesText({ outcomes, line_count: count }: SettlementFileRecord): string {
  const { matched, reported } = outcomes;
  const reportedText = `, ${formatNumber(reported, 'line')} reported the outcome of an order`;
  return `${formatCount(matched)} of ${formatCount(count)} match${reported === 0 ? '' : reportedText}`;
}

/** Describes the progress of a file: `300 of 1,000 lines are compared`. */
export function progressText({
  status,
  lines_received: received,
  lines_examined: examined,
  line_count: count,
}: SettlementFileRecord) {
  const done = { receiving: 'have arrived', matching: 'are compared', withdrawing: 'are withdrawn' }[String(status)];
  return `${formatCount(status === 'receiving' ? received : examined)} of ${formatNumber(count, 'line')} ${done}`;
}

/** Returns how much of a file is done, from 0 to 1, or undefined if nothing is in progress. */
export function progressOf({
  status,
  lines_received: received,
  lines_examined: examined,
  line_count: count,
}: SettlementFileRecord) {
  if (status === 'receiving') return received / count;
  return status === 'matched' || status === 'withdrawn' ? undefined : examined / count;
}

/** Says what the comparison of a file has found. */
export function resultText(file: SettlementFileRecord): string {
  if (file.status === 'withdrawn') return 'This file no longer counts.';
  const different = differing(file);
  const { line_count: count, outcomes } = file;
  if (outcomes.matched === count)
    return count === 1 ? 'The line matches the books.' : `All ${formatNumber(count, 'line')} match the books.`;
  return `Compared with the books: ${linesText(file)}${different === 0 ? '' : `, ${formatNumber(different, 'line')} ${different === 1 ? 'is' : 'are'} different`}.`;
}

/** Counts the attempts of a connector that have not ended: `3 not sent yet, 5 outcome unknown`, or `none`. */
export function openText(open: ConnectorRecord['open']): string {
  const counts = Object.entries(open).filter(([, count]) => count > 0);
  if (counts.length === 0) return 'no open transfers';
  return counts.map(([status, count]) => `${count} ${ATTEMPT_WORDS[status as Status].word}`).join(', ');
}

/** A count and the rest of its sentence, which a list shows next to the count. */
export type Counted = { readonly count: string; readonly text: string };

/** Counts the attempts that an operator must resolve. Undefined if there are none. */
export function attemptsText(connectors: readonly Pick<ConnectorRecord, 'open'>[]): Counted | undefined {
  const count = connectors.reduce((sum, { open }) => sum + open.attention, 0);
  if (count === 0) return undefined;
  const text = count === 1 ? 'transfer at a processor needs attention.' : 'transfers at processors need attention.';
  return { count: formatCount(count), text };
}

/** The service finds out most outcomes within minutes. */
const LATE_MILLISECONDS = 10 * 60_000;

/** Counts the attempts without an outcome, if the oldest has waited for long. `now` is the time of the service. */
export function lateOutcomesText(
  connectors: readonly Pick<ConnectorRecord, 'open' | 'oldest_unknown_since'>[],
  now: number,
): Counted | undefined {
  const late = connectors.filter(
    ({ oldest_unknown_since: at }) => at !== null && now - Date.parse(at) > LATE_MILLISECONDS,
  );
  const count = late.reduce((sum, { open }) => sum + open.unknown + open.reversing, 0);
  if (count === 0) return undefined;
  const oldest = Math.min(...late.map(({ oldest_unknown_since: at }) => Date.parse(at ?? '')));
  const what = count === 1 ? 'transfer at a processor has' : 'transfers at processors have';
  const since = formatDuration(now - oldest);
  return { count: formatCount(count), text: `${what} had no outcome for ${count === 1 ? '' : 'up to '}${since}.` };
}

/** Counts the open breaks. Set `hasMore` if there are more than were counted. Undefined if there are none. */
export function breaksText(count: number, hasMore: boolean): Counted | undefined {
  if (count === 0) return undefined;
  const text = count === 1 ? 'break with a processor is open.' : 'breaks with processors are open.';
  return { count: `${formatCount(count)}${hasMore ? '+' : ''}`, text };
}
