import type { LikelyDuplicate, TransferRecord } from '../../../sdk/client.ts';
import { formatDuration, formatMoment } from '../../format/times.ts';
import { undoOf } from './transfer-words.ts';

/** The verdict about similar transfers: same card, type and amount, made shortly after each other. */
export type Verdict = {
  /** What probably happened, and what to do about it: `Probably loaded twice: reverse the later one.` */
  readonly sentence: string;
  /** The facts that led to the verdict. Empty if the sentence has them. */
  readonly reason: string;
  /** Whether a person should act: one order was probably carried out twice, and nothing has settled it. */
  readonly isLikely: boolean;
  /** The ids of the transfers that the verdict says to reverse or cancel, and that allow it now. */
  readonly undo: readonly string[];
};

/** The fields of a transfer that distinguish a repetition from a separate order. */
type Compared = Pick<
  TransferRecord,
  | 'transfer_id'
  | 'type'
  | 'status'
  | 'capture'
  | 'amount'
  | 'captured_amount'
  | 'reversed_amount'
  | 'reference'
  | 'metadata'
  | 'created_by'
  | 'created_at'
  | 'idempotency_key'
  | 'scheduled_for'
>;

/** What went wrong, if there should have been only one transfer. */
const TWICE = { load: 'loaded twice', unload: 'charged twice', card_to_card: 'sent twice' } as const;

export function inOrder(transfers: readonly TransferRecord[]): readonly TransferRecord[] {
  return transfers.toSorted((one, other) => Date.parse(one.created_at) - Date.parse(other.created_at));
}

/** Joins pairs of transfers into chains, because the second of three repetitions is in two pairs. The newest chain is first. */
export function chainsOf(pairs: readonly LikelyDuplicate[]): readonly (readonly TransferRecord[])[] {
  const chains = new Map<string, Map<string, TransferRecord>>();
  for (const { transfer, earlier, first_transfer_id: first } of pairs) {
    const chain = chains.get(first) ?? new Map<string, TransferRecord>();
    chains.set(first, chain.set(transfer.transfer_id, transfer).set(earlier.transfer_id, earlier));
  }
  return [...chains.values()].map((chain) => inOrder([...chain.values()]));
}

/**
 * Judges whether similar transfers are duplicates, by caller, idempotency key, reference and metadata. The transfers must be in the
 * order of their creation. Transfers that were undone or never took effect are left out, because the others may still be duplicates.
 * A transfer at a processor can't be reversed, so the verdict says to move the money back.
 */
export function verdictOf(chain: readonly Compared[], isAtProcessor = false): Verdict {
  const left = chain.filter((one) => undoneText(one) === undefined);
  const undone = chain.filter((one) => !left.includes(one));
  const [first, second] = left;
  if (first === undefined || second === undefined) return settled(chain, undone);
  const also = undone.length === 0 ? '' : ` ${undoneCountText(undone)}`;
  const steps = left.slice(1).map((later, at) => ({ earlier: left[at] ?? first, later }));
  const repeated = steps.filter(({ earlier, later }) => differenceOf(earlier, later) === undefined);
  if (repeated.length === 0) {
    const different = `Their ${differenceOf(first, second)}.`;
    const orders = left.length === 2 ? 'two' : left.length.toLocaleString('en-US');
    const sentence = `Probably ${orders} orders: nothing to reverse.`;
    return { sentence, reason: `${different}${also}`, isLikely: false, undo: [] };
  }
  const count = repeated.length + 1;
  const what = TWICE[first.type].replace('twice', count === 2 ? 'twice' : `${count.toLocaleString('en-US')} times`);
  const rest = steps.length - repeated.length;
  const others = rest === 0 ? '' : ` ${rest.toLocaleString('en-US')} more ${rest === 1 ? 'differs' : 'differ'}.`;
  const apart =
    left.length === 2 ? `${apartOf(first, second)} apart` : `within ${apartOf(first, left.at(-1) ?? second)}`;
  if (repeated.some(({ earlier, later }) => earlier.created_by !== later.created_by)) {
    const sentence = `Possibly ${what}: ask the customer before you ${isAtProcessor ? 'undo' : 'reverse'} one.`;
    const reason = `Different callers requested them, ${apart}.${others}${also}`;
    return { sentence, reason, isLikely: true, undo: [] };
  }
  const extra = repeated.map(({ later }) => later);
  const how = left.length === 2 ? sentAgainText(first, second) : `The same caller sent them, ${apart}.`;
  return {
    sentence: `Probably ${what}: ${remedyOf(extra, { isLast: left.at(-1) === extra.at(-1), isAtProcessor })}.`,
    reason: `${how}${others}${also}`,
    isLikely: true,
    undo: extra.filter((one) => undoOf(one, isAtProcessor) !== undefined).map(({ transfer_id: id }) => id),
  };
}

function sentAgainText(earlier: Compared, later: Compared): string {
  const key = later.idempotency_key === null ? 'without an idempotency key' : 'with a different idempotency key';
  return `The same caller sent it again ${apartOf(earlier, later)} later, ${key}.`;
}

/** Says how to undo the repetitions. A transfer that waits for a processor cannot be undone yet. */
function remedyOf(
  extra: readonly Compared[],
  { isLast, isAtProcessor }: { readonly isLast: boolean; readonly isAtProcessor: boolean },
): string {
  const which =
    extra.length > 1
      ? `the ${extra.length.toLocaleString('en-US')} repetitions`
      : `the ${isLast ? 'later' : 'repeated'} one`;
  const isCancelable = (one: Compared): boolean => undoOf(one, isAtProcessor) === 'cancel';
  if (extra.every(isCancelable)) return `cancel ${which}`;
  const [{ type } = { type: 'load' }] = extra;
  const giveBack = (what: string): string => {
    if (!isAtProcessor) return `reverse ${what}`;
    return type === 'load' ? `unload the amount of ${what}` : `load the amount of ${what}`;
  };
  if (extra.some(isCancelable)) {
    return `cancel ${which}, or ${giveBack(extra.length > 1 ? 'them' : 'it')} once completed`;
  }
  return `${giveBack(which)}${extra.every(({ status }) => status === 'completed') ? '' : ' once completed'}`;
}

/** The verdict if at most one of the transfers is in effect. */
function settled(chain: readonly Compared[], undone: readonly Compared[]): Verdict {
  const verdict = (why: string): Verdict => ({
    sentence: `Nothing to reverse: ${why}.`,
    reason: '',
    isLikely: false,
    undo: [],
  });
  const [one, ...more] = undone;
  if (one === undefined) return verdict('they have nothing in common');
  if (chain.length === 2 && more.length === 0) {
    return verdict(`the ${one === chain[0] ? 'earlier' : 'later'} one ${undoneText(one)}`);
  }
  return verdict(`all ${undone.length < chain.length ? 'except one ' : ''}${pluralOf(undone)}`);
}

/** Says why a transfer is not in effect, or undefined if it is or may still be. */
function undoneText({ status, captured_amount: captured, reversed_amount: reversed }: Compared): string | undefined {
  if (captured > 0 && reversed === captured) return 'was reversed';
  if (status === 'canceled') return 'was canceled';
  if (status === 'expired') return 'expired';
  return status === 'failed' ? 'was refused' : undefined;
}

function undoneCountText(undone: readonly Compared[]): string {
  const [one] = undone;
  const count = undone.length.toLocaleString('en-US');
  return `${count} more ${undone.length === 1 && one !== undefined ? undoneText(one) : pluralOf(undone)}.`;
}

function pluralOf(undone: readonly Compared[]): string {
  const texts = new Set(undone.map(undoneText));
  const [text] = texts;
  return texts.size === 1 && text !== undefined ? text.replace('was', 'were') : 'are not in effect';
}

/** Returns the difference that shows two separate orders. */
function differenceOf(earlier: Compared, later: Compared): string | undefined {
  if (earlier.reference !== null && later.reference !== null) {
    return `references differ, ${earlier.reference} and ${later.reference}`;
  }
  if (earlier.scheduled_for !== later.scheduled_for)
    return `dates differ: one was ${dueText(earlier)}, the other is ${dueText(later)}`;
  const name = Object.keys(earlier.metadata).find((one) => {
    return Object.hasOwn(later.metadata, one) && later.metadata[one] !== earlier.metadata[one];
  });
  return name === undefined ? undefined : `metadata differs in '${name}'`;
}

function dueText({ scheduled_for: due }: Compared): string {
  return due === null ? 'immediate' : `for ${formatMoment(due)}`;
}

function apartOf(earlier: Compared, later: Compared): string {
  const milliseconds = Math.abs(Date.parse(later.created_at) - Date.parse(earlier.created_at));
  return milliseconds < 1_000 ? 'less than a second' : formatDuration(milliseconds);
}
