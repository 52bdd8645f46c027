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
  type CardMarks,
  type ComparedBooks,
  type Comparison,
  lockComparison,
  readCardMarks,
  sumBooksOfCards,
  toCardMarks,
  toComparedBooks,
  updateComparison,
} from '../../store/comparison.ts';
import type { Decision, Loaded } from '../../store/connection/database.ts';
import { HOLD_SWITCH } from '../../store/locks.ts';
import { READ_WHOLE_SWITCH, toSwitchReading } from '../../store/switch.ts';
import { actorOf, auditOf } from '../audit/audit.ts';
import { loadComparison, requireComparison, toComparisonRecord } from './comparisons.ts';

// Invariant: A cut-over enables transfers only if the cards are as they were compared
// Kept by: fingerprints of all cards, which are summed before the switch is held, and marks of new lines and cards, which are read after
// Tested by: `test/api/comparisons.test.ts`

/** Limits the sum over all cards of a program. A million cards take about two seconds on two cores. */
const SURVEY_MILLISECONDS = 20_000;

/**
 * cut_over: signs the report of an equal comparison, and enables the transfers of its card program. Refuses if they were enabled since
 * the comparison began, or if a card has changed since.
 */
export async function cutOver(service: Service, call: Call<'cut_over'>): Promise<Reply<'cut_over'>> {
  const known = await loadComparison(service, call);
  // Marked as existing, so that a repetition needs no approval.
  if (known.status === 'cut_over') return { record: toComparisonRecord(known), existing: true };
  const { programId, comparisonId } = known;
  const found = await surveyRows(service.database, sumBooksOfCards({ programId }), SURVEY_MILLISECONDS);
  const [sums] = found ?? [];
  if (sums === undefined)
    throw new OperationFailure('the cards of a card program could not be summed up in time', { moneyMoved: 'no' });
  const summed = { books: toComparedBooks(sums), marks: toCardMarks(sums) };
  const comparison = await transact<Comparison, 'hold' | LoadName>(
    service.database,
    call.deadline,
    {
      hold: HOLD_SWITCH,
      settings: READ_WHOLE_SWITCH,
      comparisons: lockComparison({ comparisonId }),
      marks: readCardMarks({ programId }),
    },
    (loaded, batchId) => decide(call, loaded, summed, batchId),
  );
  return { record: toComparisonRecord(comparison) };
}

type LoadName = 'settings' | 'comparisons' | 'marks';

function decide(
  call: Call<'cut_over'>,
  { settings: switches, comparisons: [row], marks: [marksRow] }: Loaded<LoadName>,
  summed: { readonly books: ComparedBooks; readonly marks: CardMarks },
  batchId: string,
): Decision<Comparison> {
  if (marksRow === undefined) throw new Error('the marks of the cards of a program could not be read');
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
  const marks = toCardMarks(marksRow);
  refuseUnfinished(marks);
  refuseChanged(before, summed.books);
  if (marks.lines !== summed.marks.lines || marks.newestCard !== summed.marks.newestCard) {
    throw refuse('Cards have changed since they were compared. Compare again.');
  }
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

/** The missing lines of a move-in can be references of the old ledger, without which a transfer could be carried out twice. */
function refuseUnfinished({ unfinished }: CardMarks): void {
  if (unfinished === null) return;
  throw refuse(
    `Only a part of the lines of the move-in ${toWireId('mvi', unfinished)} has taken effect. Add its other lines, or undo it to the end.`,
  );
}

function refuseChanged({ books }: Comparison, now: ComparedBooks): void {
  if (books.fingerprints === now.fingerprints && books.cards === now.cards) return;
  const isSame = books.postings === now.postings && books.cards === now.cards;
  const what = isSame && books.held !== now.held ? 'Holds have ended or begun' : 'Cards have changed';
  throw refuse(`${what} since they were compared. Compare again.`);
}
