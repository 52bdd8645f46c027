import { type MoveInRecord, StatedTotal } from '../../../contract/move-ins.ts';
import { readFields } from '../../../contract/reading/read-fields.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { isCurrency, toWireSum } from '../../../domain/ledger/money.ts';
import { agree, type MoveInTotals } from '../../../domain/move-in.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { type Call, type Reply, type Service, schemaRefusal } from '../../calls/call.ts';
import { readPage } from '../../calls/page.ts';
import { loadProgram, readProgramFilter } from '../../calls/program.ts';
import { readRows } from '../../calls/read-rows.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { databaseTime } from '../../foundation/database-clock.ts';
import { idAt } from '../../foundation/ids.ts';
import type { Row } from '../../store/connection/database.ts';
import {
  findMoveIn,
  insertMoveIn,
  listMoveIns as listStatement,
  type MoveIn,
  readMoveIn,
  toMoveIn,
} from '../../store/move-in.ts';
import { actorOf, auditOf } from '../audit/audit.ts';

/** A UUID that no move-in has. It is looked up instead of a malformed id. */
const NO_MOVE_IN = '00000000-0000-0000-0000-000000000000';

const NEW = {
  status: 'receiving',
  linesReceived: 0,
  linesUndone: 0,
  totals: {},
  movedAt: null,
  undoneAt: null,
  undoneBy: null,
  undoNote: null,
} as const;

/** create_move_in: returns the new move-in, or the existing one of the same file if it was not undone. */
export async function createMoveIn(service: Service, call: Call<'create_move_in'>): Promise<Reply<'create_move_in'>> {
  const { program_id: sentId, name, sha256, as_of: asOf, line_count: lineCount } = call.body;
  if (Date.parse(asOf) > databaseTime()) {
    throw schemaRefusal(call, `'as_of' is ${asOf}, which is in the future.`, '/as_of');
  }
  const statedTotals = readStated(call);
  const { programId } = await loadProgram(service, sentId);
  return transactUnderKey(service, call, {
    load: { known: findMoveIn({ programId, sha256 }) },
    decide: ({ known: [row] }, { now }) => {
      if (row !== undefined) {
        const known = toMoveIn(row);
        return { record: toMoveInRecord(known), subjectId: known.moveInId, existing: true, writes: [] };
      }
      const about = { programId, name, sha256, asOf: Date.parse(asOf), lineCount, statedTotals };
      const by = { createdAt: now, createdBy: actorOf(call.caller) };
      const moveIn: MoveIn = { ...NEW, ...about, ...by, moveInId: idAt(now) };
      const record = toMoveInRecord(moveIn);
      const audited = { programId, subjectId: record.move_in_id, details: JSON.stringify(record) };
      return { record, subjectId: moveIn.moveInId, writes: [insertMoveIn(moveIn), ...auditOf(call, audited)] };
    },
    recall: async (moveInId) => {
      const [row] = await readRows(service.database, readMoveIn({ moveInId }));
      if (row === undefined) throw new Error('the move-in of a stored response does not exist');
      return toMoveInRecord(toMoveIn(row));
    },
  });
}

/** Returns the sums that the file states, or null. */
function readStated(call: Call<'create_move_in'>): MoveInTotals | null {
  const { totals } = call.body;
  if (totals === undefined) return null;
  const stated = new Map<string, MoveInTotals[string]>();
  for (const [index, sent] of totals.entries()) {
    const at = `/totals/${index}`;
    const reading = readFields(StatedTotal, sent, 'body');
    if ('problem' in reading) {
      const { message, field } = reading.problem;
      throw schemaRefusal(call, message, `${at}${field}`);
    }
    const { currency, cards, balance, holds, held } = reading.fields;
    if (!isCurrency(currency)) {
      const message = `'currency' is '${currency}', which is not an ISO 4217 currency code, such as USD, EUR or JPY.`;
      throw schemaRefusal(call, message, `${at}/currency`);
    }
    if (stated.has(currency)) throw schemaRefusal(call, `'totals' has '${currency}' twice.`, `${at}/currency`);
    stated.set(currency, { cards, balance: String(balance), holds, held: String(held) });
  }
  return Object.fromEntries(stated);
}

/** list_move_ins: returns the move-ins, newest first. */
export async function listMoveIns(service: Service, call: Call<'list_move_ins'>): Promise<Reply<'list_move_ins'>> {
  const programId = readProgramFilter(call, call.query.program_id);
  const record = await readPage(service, call, {
    prefix: 'mvi',
    statement: (after, count) => listStatement(programId, after, count),
    read: toMoveIn,
    idOf: ({ moveInId }) => moveInId,
    show: toMoveInRecord,
  });
  return { record };
}

/** get_move_in: returns the move-in, or throws `move_in_not_found`. */
export async function getMoveIn(service: Service, call: Call<'get_move_in'>): Promise<Reply<'get_move_in'>> {
  return { record: toMoveInRecord(await loadMoveIn(service, call)) };
}

type InMoveIn = { readonly params: { readonly move_in_id: string } };

/** Reads the move-in of a path. Throws `move_in_not_found`. */
export async function loadMoveIn({ database }: Pick<Service, 'database'>, call: InMoveIn): Promise<MoveIn> {
  const { move_in_id: sentId } = call.params;
  const inner = fromWireId('mvi', sentId);
  const [row] = await readRows(database, readMoveIn({ moveInId: inner ?? NO_MOVE_IN }));
  return requireMoveIn(call, row);
}

/** Returns the move-in of a row. Throws `move_in_not_found` without a row. */
export function requireMoveIn({ params: { move_in_id: sentId } }: InMoveIn, row: Row | undefined): MoveIn {
  if (row !== undefined) return toMoveIn(row);
  const hint = fromWireId('mvi', sentId) === undefined ? ' The id of a move-in is mvi_ and 32 hex digits.' : '';
  throw new Refusal('move_in_not_found', `There is no move-in '${sentId}'.${hint}`);
}

/** Returns a move-in as defined by the contract. */
export function toMoveInRecord(moveIn: MoveIn): MoveInRecord {
  const { statedTotals, totals } = moveIn;
  return {
    move_in_id: toWireId('mvi', moveIn.moveInId),
    program_id: toWireId('prog', moveIn.programId),
    name: moveIn.name,
    sha256: moveIn.sha256,
    as_of: new Date(moveIn.asOf).toISOString(),
    status: moveIn.status,
    line_count: moveIn.lineCount,
    lines_received: moveIn.linesReceived,
    lines_undone: moveIn.linesUndone,
    totals: toTotals(totals),
    adds_up: statedTotals === null || moveIn.status !== 'moved' ? null : agree(statedTotals, totals),
    created_at: new Date(moveIn.createdAt).toISOString(),
    created_by: moveIn.createdBy,
    moved_at: toMoment(moveIn.movedAt),
    undone_at: toMoment(moveIn.undoneAt),
    undone_by: moveIn.undoneBy,
    note: moveIn.undoNote,
  };
}

/** Returns sums as defined by the contract. */
export const toTotals = (totals: MoveInTotals): MoveInRecord['totals'] =>
  Object.entries(totals).map(([currency, { cards, balance, holds, held }]) => ({
    currency,
    cards,
    balance: toWireSum(BigInt(balance)),
    holds,
    held: toWireSum(BigInt(held)),
  }));

export const toMoment = (time: number | null): string | null => (time === null ? null : new Date(time).toISOString());
