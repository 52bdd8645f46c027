import {
  DUPLICATE_WINDOW_SECONDS,
  type LikelyDuplicate,
  type TimelineStep,
  type TimelineStepKind,
  type TruncatedKind,
} from '../../../contract/look-up/timeline.ts';
import type { KeyScope } from '../../../contract/scope.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { moneySentence } from '../../../domain/transfers/money-sentence.ts';
import type { Transfer } from '../../../domain/transfers/transfer.ts';
import { type Call, type Caller, hasScope, type Reply, type Service } from '../../calls/call.ts';
import { DEFAULT_LIMIT, readCursor } from '../../calls/page.ts';
import { cardMissing, transferMissing } from '../../calls/program.ts';
import { confirmReplicated, readRows } from '../../calls/read-rows.ts';
import { toTransferRecord } from '../../calls/records/transfer.ts';
import { readInTurn } from '../../calls/turns.ts';
import { type DuplicatePair, readDuplicatePairs, toDuplicatePairs } from '../../store/transfers/likely-duplicates.ts';
import { readTransfer, readTransfers, toTransfer } from '../../store/transfers/transfer.ts';
import { readFacts, type TimelineFacts } from './read-facts.ts';
import { stepsOf, truncationsOf } from './steps.ts';

/**
 * get_transfer_timeline: returns the transfer, whether its money moved, the steps in order, and its likely duplicates, or throws
 * `transfer_not_found`. Changes after the transfer was read are not included.
 */
export async function getTransferTimeline(
  service: Service,
  call: Call<'get_transfer_timeline'>,
): Promise<Reply<'get_transfer_timeline'>> {
  const { transfer_id: sentId } = call.params;
  const transferId = fromWireId('tr', sentId);
  const rows =
    transferId === undefined ? [] : await readRows(service.database, readTransfer(call.programId, transferId));
  await confirmReplicated(service.database, call.deadline, rows);
  const [row] = rows;
  if (row === undefined) throw transferMissing(sentId);
  const facts = withoutNotes(await readFacts(service.database, call, toTransfer(row)), call.caller);
  const attempt = facts.processorAttempts.at(-1) ?? null;
  const isReadable = ({ kind }: { readonly kind: TimelineStepKind | TruncatedKind }): boolean => {
    const scope = SCOPES_OF_KINDS[kind];
    return scope === undefined || hasScope(call.caller, scope);
  };
  const mayReadCards = hasScope(call.caller, 'cards:read');
  const record = {
    transfer: toTransferRecord(facts.transfer),
    money: moneySentence({ ...facts.transfer, errorCode: errorCodeOf(facts.transfer), attempt }, facts.now),
    steps: stepsOf(facts)
      .filter(isReadable)
      .map(mayReadCards ? (step) => step : withoutBalances),
    likely_duplicates: facts.duplicates.map(toTransferRecord),
    truncated: truncationsOf(facts).filter(isReadable),
  };
  return { record };
}

/** The scope that a key needs to see steps of a kind. It is the scope of the operation that returns the same facts. */
const SCOPES_OF_KINDS: Readonly<Partial<Record<TimelineStepKind | TruncatedKind, KeyScope>>> = {
  event: 'events:read',
  webhook_attempt: 'webhooks:read',
  webhook_waiting: 'webhooks:read',
  error: 'errors:read',
};

function withoutBalances(step: TimelineStep): TimelineStep {
  return { ...step, balances: [] };
}

/** Returns the facts without operators' notes. For a card program's callers, also omits the details that are for operators. */
function withoutNotes(facts: TimelineFacts, caller: Caller): TimelineFacts {
  const isShown = ({ resolvedBy }: TimelineFacts['processorAttempts'][number]): boolean =>
    resolvedBy === null && !('programId' in caller);
  const processorAttempts = facts.processorAttempts.map((one) => (isShown(one) ? one : { ...one, detail: null }));
  return { ...facts, processorAttempts };
}

/** Returns the error code of a failed transfer, under its current name. */
function errorCodeOf(transfer: Transfer): string | null {
  return toTransferRecord(transfer).error?.Code ?? null;
}

/** Maximum number of transfers that are compared for one page. That takes a few hundredths of a second. */
const MAX_EXAMINED = 5000;

/**
 * list_likely_duplicates: returns a page of a card's transfers that follow another transfer of the same type and amount, newest
 * first, or throws `card_not_found`. A page can be short or empty and still have a cursor.
 */
export async function listLikelyDuplicates(
  service: Service,
  call: Call<'list_likely_duplicates'>,
): Promise<Reply<'list_likely_duplicates'>> {
  const { programId } = call;
  const { card_id: name } = call.params;
  const { limit = DEFAULT_LIMIT, cursor, window_seconds: windowSeconds = DUPLICATE_WINDOW_SECONDS } = call.query;
  const before = readCursor(call, 'tr', cursor);
  const chunk = { before, windowSeconds, maxExamined: MAX_EXAMINED, count: limit + 1 };
  const rows = await readInTurn(call, () => readRows(service.database, readDuplicatePairs(programId, name, chunk)));
  if (rows.length === 0) throw cardMissing(name);
  const { pairs, reached } = toDuplicatePairs(rows);
  const shown = pairs.slice(0, limit);
  const next = pairs.length > limit ? (shown.at(-1)?.transferId ?? null) : reached;
  return {
    record: {
      data: await showPairs(service, call, shown),
      next_cursor: next === null ? null : toWireId('tr', next),
    },
  };
}

async function showPairs(
  { database }: Service,
  call: Call<'list_likely_duplicates'>,
  pairs: readonly DuplicatePair[],
): Promise<LikelyDuplicate[]> {
  if (pairs.length === 0) return [];
  const ids = [...new Set(pairs.flatMap(({ transferId, earlierId }) => [transferId, earlierId]))];
  const rows = await readInTurn(call, () => readRows(database, readTransfers(call.programId, ids)));
  const transfers = new Map(rows.map(toTransfer).map((transfer) => [transfer.transferId, transfer]));
  return pairs.map(({ transferId, earlierId, firstId }) => {
    const transfer = transfers.get(transferId);
    const earlier = transfers.get(earlierId);
    if (transfer === undefined || earlier === undefined)
      throw new Error('a transfer that was just read no longer exists');
    return {
      transfer: toTransferRecord(transfer),
      earlier: toTransferRecord(earlier),
      first_transfer_id: toWireId('tr', firstId),
      seconds_apart: Math.round(Math.abs(transfer.createdAt - earlier.createdAt) / 1000),
    };
  });
}
