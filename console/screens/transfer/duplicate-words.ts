import type { TransferRecord } from '../../../sdk/client.ts';
import { formatDuration, formatMoment } from '../../format/times.ts';

/** Two transfers of the same card, type and amount, and what that probably means. */
export type Verdict = {
  /** Whether somebody should look at it: one order that was carried out twice, not two orders or a pair that was settled. */
  readonly isLikely: boolean;
  readonly sentence: string;
};

/** The parts of a transfer that tell a repetition from another order. */
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

/** What happened to the card if the second transfer was not wanted. */
const TWICE = { load: 'loaded twice', unload: 'charged twice', card_to_card: 'sent twice' } as const;

/** Whether two similar transfers are probably a duplicate, judged by caller, key, reference and metadata. */
export function verdictOf(earlier: Compared, later: Compared): Verdict {
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
  const key = later.idempotency_key === null ? 'without an idempotency key' : 'with another idempotency key';
  return { isLikely: true, sentence: `Probably ${twice}: the same caller sent it again ${apart} later, ${key}.` };
}

function isReversed({ captured_amount: captured, reversed_amount: reversed }: Compared): boolean {
  return captured > 0 && reversed === captured;
}

/** The difference that shows two separate orders. */
function differenceOf(earlier: Compared, later: Compared): string | undefined {
  if (earlier.reference !== null && later.reference !== null) {
    return `references differ, ${earlier.reference} and ${later.reference}`;
  }
  if (earlier.scheduled_for !== later.scheduled_for) return `dates differ, ${dueText(earlier)} and ${dueText(later)}`;
  const name = Object.keys(earlier.metadata).find((one) => {
    return Object.hasOwn(later.metadata, one) && later.metadata[one] !== earlier.metadata[one];
  });
  return name === undefined ? undefined : `metadata differs in ${name}`;
}

/** When a transfer was to be made. */
function dueText({ scheduled_for: due }: Compared): string {
  return due === null ? 'at once' : `on ${formatMoment(due)}`;
}

function apartOf(earlier: Compared, later: Compared): string {
  const milliseconds = Math.abs(Date.parse(later.created_at) - Date.parse(earlier.created_at));
  return milliseconds < 1_000 ? 'less than a second' : formatDuration(milliseconds);
}
