import type { LikelyDuplicate, TransferRecord } from '../../../sdk/client.ts';
import { formatDuration, formatMoment } from '../../format/times.ts';

/** The verdict about similar transfers: same card, type and amount. */
export type Verdict = {
  /** Whether a person should check it: one order was probably carried out twice, and nothing has settled it. */
  readonly isLikely: boolean;
  readonly sentence: string;
};

/** The fields of a transfer that distinguish a repetition from a separate order. */
type Compared = Pick<
  TransferRecord,
  | 'type'
  | 'status'
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
 * Judges whether similar transfers are probably duplicates, by caller, idempotency key, reference and metadata. The transfers
 * must be in the order of their creation. Reversed transfers in a longer chain are left out, because the others may still be
 * duplicates.
 */
export function verdictOf(chain: readonly Compared[]): Verdict {
  const [earlier, later, ...more] = chain;
  if (earlier === undefined || later === undefined)
    return { isLikely: false, sentence: 'They have nothing in common.' };
  if (more.length === 0) return verdictOfTwo(earlier, later);
  const left = chain.filter((one) => !isReversed(one));
  const [first, second, ...others] = left;
  const reversed = chain.length - left.length;
  const settled =
    reversed === 0 ? '' : ` ${reversed.toLocaleString('en-US')} more ${reversed === 1 ? 'was' : 'were'} reversed.`;
  if (first === undefined || second === undefined) {
    return { isLikely: false, sentence: `Settled: ${first === undefined ? 'all' : 'all except one'} were reversed.` };
  }
  if (others.length === 0) {
    const { isLikely, sentence } = verdictOfTwo(first, second);
    return { isLikely, sentence: `${sentence}${settled}` };
  }
  const steps = left.slice(1).map((one, at) => ({ one, verdict: verdictOfTwo(left[at] ?? first, one) }));
  const repeated = steps.filter(({ verdict }) => verdict.isLikely);
  const [step] = repeated;
  if (step === undefined) return { isLikely: false, sentence: `${steps[0]?.verdict.sentence ?? ''}${settled}` };
  const count = repeated.length + 1;
  const what = TWICE[first.type].replace('twice', count === 2 ? 'twice' : `${count.toLocaleString('en-US')} times`);
  const sure = repeated.every(({ one }) => one.created_by === first.created_by) ? 'Probably' : 'Possibly';
  const rest = steps.length - repeated.length;
  const different = rest === 0 ? '' : `, and ${rest} ${rest === 1 ? 'other differs' : 'others differ'}`;
  return {
    isLikely: true,
    sentence: `${sure} ${what} within ${apartOf(first, left.at(-1) ?? second)}${different}.${settled}`,
  };
}

function verdictOfTwo(earlier: Compared, later: Compared): Verdict {
  const settled = [earlier, later].find(isReversed);
  if (settled !== undefined) {
    return { isLikely: false, sentence: `Settled: the ${settled === later ? 'later' : 'earlier'} one was reversed.` };
  }
  const different = differenceOf(earlier, later);
  if (different !== undefined) {
    return { isLikely: false, sentence: `Probably two orders: their ${different}.` };
  }
  const apart = apartOf(earlier, later);
  const twice = TWICE[later.type];
  if (earlier.created_by !== later.created_by) {
    return { isLikely: true, sentence: `Possibly ${twice}: two callers requested it, ${apart} apart.` };
  }
  const key = later.idempotency_key === null ? 'without an idempotency key' : 'with a different idempotency key';
  return { isLikely: true, sentence: `Probably ${twice}: the same caller sent it again ${apart} later, ${key}.` };
}

function isReversed({ captured_amount: captured, reversed_amount: reversed }: Compared): boolean {
  return captured > 0 && reversed === captured;
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
