import { MAX_NOTE_CHARACTERS } from '../../../contract/processors/attempts.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { SwitchSetting } from '../../../domain/switch.ts';
import { type Call, OperationFailure, type Reply, type Service } from '../../calls/call.ts';
import { surveyRows } from '../../calls/read-rows.ts';
import { settingWrites } from '../../calls/records/switch.ts';
import { transact } from '../../commit/transaction.ts';
import { withoutSecrets } from '../../foundation/redaction.ts';
import {
  type ComparedBooks,
  type Comparison,
  lockComparison,
  sumBooksOfCards,
  toComparedBooks,
  updateComparison,
} from '../../store/comparison.ts';
import type { Decision, Loaded } from '../../store/connection/database.ts';
import { HOLD_SWITCH } from '../../store/locks.ts';
import { READ_WHOLE_SWITCH, toSwitchReading } from '../../store/switch.ts';
import { actorOf, auditOf } from '../audit/audit.ts';
import { loadComparison, requireComparison, toComparisonRecord } from './comparisons.ts';

/** Limits the sum over all cards of a program. A million cards take about two seconds on two cores. */
const SURVEY_MILLISECONDS = 20_000;

/**
 * cut_over: signs the report of an equal comparison, and enables the transfers of its card program. Refuses if they were enabled since
 * the comparison began, or if a card has changed since.
 */
export async function cutOver(service: Service, call: Call<'cut_over'>): Promise<Reply<'cut_over'>> {
  const known = await loadComparison(service, call);
  if (known.status === 'cut_over') return { record: toComparisonRecord(known) };
  const { programId, comparisonId } = known;
  const found = await surveyRows(service.database, sumBooksOfCards({ programId }), SURVEY_MILLISECONDS);
  const [sums] = found ?? [];
  if (sums === undefined)
    throw new OperationFailure('the cards of a card program could not be summed up in time', { moneyMoved: 'no' });
  const comparison = await transact<Comparison, 'hold' | 'settings' | 'comparisons'>(
    service.database,
    call.deadline,
    { hold: HOLD_SWITCH, settings: READ_WHOLE_SWITCH, comparisons: lockComparison({ comparisonId }) },
    (loaded, batchId) => decide(call, loaded, toComparedBooks(sums), batchId),
  );
  return { record: toComparisonRecord(comparison) };
}

function decide(
  call: Call<'cut_over'>,
  { settings: switches, comparisons: [row] }: Loaded<'settings' | 'comparisons'>,
  books: ComparedBooks,
  batchId: string,
): Decision<Comparison> {
  const before = requireComparison(call, row);
  if (before.status === 'cut_over') return { result: before, writes: [], readsOnly: true };
  const { now, settings } = toSwitchReading(switches);
  const { programId } = before;
  refuseUnequal(before);
  refuseEnabled(
    before,
    settings.find((setting) => isWholeProgram(setting, programId)),
    now,
  );
  refuseChanged(before, books);
  const actor = actorOf(call.caller);
  const comparison: Comparison = {
    ...before,
    ...{ status: 'cut_over', cutOverAt: now, cutOverBy: actor },
    cutOverNote: withoutSecrets(call.body.note, MAX_NOTE_CHARACTERS),
  };
  const record = toComparisonRecord(comparison);
  const nothing = { transferType: null, connectorId: null, reason: null, until: null };
  const enabled: SwitchSetting = { ...nothing, programId, disabled: false, actor, since: now };
  const details = JSON.stringify({ report: record.report, sha256: record.sha256, note: record.note });
  const writes = [
    updateComparison(comparison),
    ...settingWrites(call, enabled, { batchId, now }).writes,
    ...auditOf(call, { programId, subjectId: record.comparison_id, details }),
  ];
  return { result: comparison, writes };
}

const isWholeProgram = (setting: SwitchSetting, programId: string): boolean =>
  setting.programId === programId && setting.transferType === null && setting.connectorId === null;

const refuse = (message: string): Refusal => new Refusal('cut_over_refused', message);

function refuseUnequal({ status, asOf, cardCount, cardsReceived, differenceCount }: Comparison): void {
  if (status === 'comparing') {
    throw refuse(`Only ${cardsReceived} of the ${cardCount} cards of the file are compared. Compare the others first.`);
  }
  if (status === 'different') {
    throw refuse(
      `The comparison has found ${differenceCount} ${differenceCount === 1 ? 'difference' : 'differences'}. Resolve them, and compare again.`,
    );
  }
  if (asOf !== null) {
    const time = new Date(asOf).toISOString();
    throw refuse(`The comparison is about the books of ${time}. Compare the books as they are.`);
  }
}

function refuseEnabled({ programId, createdAt }: Comparison, setting: SwitchSetting | undefined, now: number): void {
  const isDisabled = setting?.disabled === true && (setting.until === null || setting.until > now);
  const program = toWireId('prog', programId);
  if (!isDisabled) {
    throw refuse(`The transfers of the card program ${program} are enabled. Disable them, and compare again.`);
  }
  if (setting.since > createdAt) {
    const since = new Date(setting.since).toISOString();
    throw refuse(
      `The transfers of the card program ${program} were disabled at ${since}, after the comparison had begun. Compare again.`,
    );
  }
}

function refuseChanged({ books }: Comparison, now: ComparedBooks): void {
  if (books.cards === now.cards && books.postings === now.postings && books.held === now.held) return;
  const what =
    books.postings === now.postings && books.cards === now.cards ? 'Holds have ended or begun' : 'Cards have changed';
  throw refuse(`${what} since they were compared. Compare again.`);
}
