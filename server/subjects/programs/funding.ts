import { FundingMovementRecord } from '../../../contract/programs.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { type Account, available, canGive, canTake, type Posted, post } from '../../../domain/ledger/ledger.ts';
import { formatMoney, MAXIMUM_BALANCE, readAmount, toWire } from '../../../domain/ledger/money.ts';
import { type CountedMovement, countMovement } from '../../../domain/people/operator-limits.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { type Call, countedActor, type Reply, type Service } from '../../calls/call.ts';
import { LINES_FIRST, type Pages, writeCsv } from '../../calls/csv-export.ts';
import { readPair, readPeriod } from '../../calls/fields.ts';
import { readPage } from '../../calls/page.ts';
import { currencyFor, loadProgram, readProgramFilter } from '../../calls/program.ts';
import { readAgain, readRows } from '../../calls/read-rows.ts';
import { lowFunding } from '../../calls/records/event.ts';
import { forEachPiece, readInTurn } from '../../calls/turns.ts';
import { ensureFunding } from '../../commit/ensure-funding.ts';
import { type Done, type Moment, transactUnderKey } from '../../commit/under-key.ts';
import { idAt, lowestIdAt } from '../../foundation/ids.ts';
import type { Statement } from '../../store/connection/database.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import { insertPostings, lockFundingAccounts, toAccount, updateAccounts } from '../../store/ledger/account.ts';
import {
  exportFundingMovements as exportStatement,
  type FundingMovement,
  insertFundingMovement,
  listFundingMovements as listStatement,
  type MadeMovement,
  readFundingMovement,
  readMovementReference,
  searchFundingMovements as searchStatement,
  toFundingMovement,
  toReferenceHolder,
} from '../../store/ledger/funding.ts';
import type { Period } from '../../store/ledger/statement.ts';
import { nameOfOperator } from '../../store/locks.ts';
import { readCountedMovements, toCountedMovement, writeCountedMovements } from '../../store/person.ts';
import { readFundingThreshold, toFundingThreshold } from '../../store/program.ts';
import { actorOf, auditOf, withoutMetadata } from '../audit/audit.ts';

type MovementCall = Call<'create_deposit' | 'create_withdrawal'>;

/** create_deposit: moves money from outside to a program's funding. Requires an idempotency key. */
export function createDeposit(service: Service, call: Call<'create_deposit'>): Promise<Reply<'create_deposit'>> {
  return moveFunding(service, call, 'deposit');
}

/** create_withdrawal: moves money from a program's funding to the outside. Requires an idempotency key. */
export function createWithdrawal(
  service: Service,
  call: Call<'create_withdrawal'>,
): Promise<Reply<'create_withdrawal'>> {
  return moveFunding(service, call, 'withdrawal');
}

async function moveFunding(
  service: Service,
  call: MovementCall,
  kind: FundingMovement['kind'],
): Promise<Reply<'create_deposit' | 'create_withdrawal'>> {
  const { body } = call;
  const reading = readAmount(body.amount);
  if ('problem' in reading) throw new Refusal('invalid_amount', reading.problem, { field: '/amount' });
  const program = await loadProgram(service, call.params.program_id);
  const { programId } = program;
  const currency = currencyFor(call, program, body.currency);
  await ensureFunding(service, call, programId, currency);
  const sent: Omit<FundingMovement, 'movementId'> = {
    programId,
    kind,
    amount: reading.amount,
    currency,
    description: body.description ?? null,
    reference: body.reference ?? null,
    metadata: body.metadata ?? {},
    actor: actorOf(call.caller),
  };
  const { reference } = sent;
  const counted = kind === 'withdrawal' ? countedActor(service.operatorLimits, call.caller) : undefined;
  const reply = await transactUnderKey(service, call, {
    programId,
    names: [
      ...(reference === null ? [] : [{ programId, kind: 'movement_reference', name: reference } as const]),
      ...(counted === undefined ? [] : [nameOfOperator(counted)]),
    ],
    load: {
      reference: reference === null ? null : readMovementReference(programId, reference),
      lockAccounts: lockFundingAccounts(programId, currency),
      counted: counted === undefined ? null : readCountedMovements({ actors: [counted] }),
      // The threshold applies only to the funding in the program's own currency. A deposit cannot take the funding below it.
      threshold: kind === 'withdrawal' && currency === program.currency ? readFundingThreshold(programId) : null,
    },
    decide: ({ lockAccounts, threshold, reference: taken, counted: rows }, moment) => {
      refuseTaken(reference, toReferenceHolder(taken));
      const movement = { ...sent, movementId: idAt(moment.now) };
      const done = decide(call, movement, lockAccounts.map(toAccount), toFundingThreshold(threshold), moment);
      if (counted === undefined) return done;
      const writes = countWithdrawal(service, counted, movement, rows.map(toCountedMovement), moment);
      return { ...done, writes: [...writes, ...done.writes] };
    },
    recall: async (movementId) => {
      const [row] = await readAgain(service.database, readFundingMovement(programId, movementId), 'yes');
      if (row === undefined) throw new Error('the funding movement of a stored response does not exist');
      return toMovementRecord(toFundingMovement(row));
    },
  });
  return { ...reply, moneyMoved: 'yes' };
}

/** Counts a withdrawal towards the limits of its operator. Throws the refusal. */
function countWithdrawal(
  { operatorLimits = new Map() }: Service,
  actor: string,
  { currency, amount }: FundingMovement,
  known: readonly CountedMovement[],
  { now }: Moment,
): readonly Statement[] {
  const before = known.find((one) => one.currency === currency);
  const counted = countMovement(operatorLimits, before, { actor, currency, amount, kind: 'withdrawal', now });
  if (counted instanceof Refusal) throw counted;
  return counted === undefined ? [] : [writeCountedMovements([counted])];
}

function refuseTaken(reference: string | null, holder: ReturnType<typeof toReferenceHolder>): void {
  if (holder === undefined) return;
  const takenBy = movementIdOf(holder);
  const message =
    `The reference '${reference}' already belongs to the ${holder.kind} ${takenBy}. References of deposits and ` +
    'withdrawals are unique within a card program.';
  const saw = { reference, taken_by: takenBy };
  throw new Refusal('duplicate_reference', message, { field: '/reference', saw });
}

function decide(
  call: MovementCall,
  movement: FundingMovement,
  accounts: readonly Account[],
  threshold: bigint | null,
  { batchId, now }: Moment,
): Done<FundingMovementRecord> {
  const { source, destination, posting } = tryToMove(movement, accounts);
  const { programId, movementId } = movement;
  const funding = movement.kind === 'deposit' ? destination : source;
  const record = toMovementRecord({ movement, balance: funding.balance, createdAt: now });
  const { movement_id: subjectId } = record;
  const json = JSON.stringify(record);
  const type = movement.kind === 'deposit' ? ('funding.deposited' as const) : ('funding.withdrawn' as const);
  const before = accounts.find(({ kind }) => kind === 'funding') ?? funding;
  const low = lowFunding(before, funding, threshold, { movementId: subjectId });
  const writes = [
    ...insertFundingMovement(movement, now),
    insertPostings([{ programId, causeId: movementId, ...posting }], now),
    updateAccounts([source, destination]),
    insertEvents(batchId, [{ type, programId, subjectId, payload: json }, ...low], now, call),
    ...auditOf(call, { programId, subjectId, details: JSON.stringify(withoutMetadata(record)) }),
  ];
  return { record, json, subjectId: movementId, writes };
}

function tryToMove(movement: FundingMovement, accounts: readonly Account[]): Posted {
  const funding = accounts.find((account) => account.kind === 'funding');
  const world = accounts.find((account) => account.kind === 'world');
  if (funding === undefined || world === undefined)
    throw new Error('the funding accounts were created but do not exist');
  const [source, destination] = movement.kind === 'deposit' ? [world, funding] : [funding, world];
  const { amount, currency } = movement;
  if (!canGive(destination, amount) || (source.kind === 'world' && !canTake(source, amount))) {
    const message =
      `The ${movement.kind} would exceed the maximum balance of the ${destination.kind} account, ` +
      `${formatMoney(MAXIMUM_BALANCE, currency)}.`;
    throw new Refusal('limit_exceeded', message, { field: '/amount' });
  }
  if (!canTake(source, amount)) {
    const message =
      `The card program's funding account has ${formatMoney(available(source), currency)} available, and the ` +
      `withdrawal is for ${formatMoney(amount, currency)}.`;
    throw new Refusal('insufficient_funds', message, { field: '/amount' });
  }
  return post({ index: 0, purpose: movement.kind, source, destination, amount });
}

export async function listFundingMovements(
  service: Service,
  call: Call<'list_funding_movements'>,
): Promise<Reply<'list_funding_movements'>> {
  const { programId } = await loadProgram(service, call.params.program_id);
  const { reference = null } = call.query;
  const filter = { reference, metadata: readPair(call) };
  const record = await readPage(service, call, {
    // All cursors of this list have this prefix, even if the last item is a withdrawal.
    prefix: 'dep',
    statement: (after, count) => listStatement(programId, filter, after, count),
    // A client uses the look-up by reference to decide whether to send a request again, so the result must survive a failover.
    isProof: reference !== null,
    read: toFundingMovement,
    idOf: ({ movement }) => movement.movementId,
    show: toMovementRecord,
  });
  return { record };
}

/** search_funding_movements: returns the deposits and withdrawals of all card programs, newest first. */
export async function searchFundingMovements(
  service: Service,
  call: Call<'search_funding_movements'>,
): Promise<Reply<'search_funding_movements'>> {
  const { kind = null, program_id: programId } = call.query;
  const { from, to } = readPeriod(call, call.query);
  const search = { kind, programId: readProgramFilter(call, programId), from, to };
  const bounds = {
    fromId: from === null ? null : idNear(from.getTime() - CLOCKS_DIFFER_MILLISECONDS),
    untilId: to === null ? null : idNear(to.getTime() + CLOCKS_DIFFER_MILLISECONDS),
  };
  const record = await readPage(service, call, {
    prefix: 'dep',
    statement: (after, count) => searchStatement(search, bounds, after, count),
    read: toFundingMovement,
    idOf: ({ movement }) => movement.movementId,
    show: toMovementRecord,
  });
  return { record };
}

/**
 * export_funding_movements: returns comma-separated values, oldest first. A movement that is created during the export may be
 * included.
 */
export async function exportFundingMovements(
  service: Service,
  call: Call<'export_funding_movements'>,
): Promise<Reply<'export_funding_movements'>> {
  const period = readPeriod(call, call.query);
  const { programId } = await loadProgram(service, call.params.program_id);
  const pages = readPages(service, call, programId, period);
  return { csv: await writeCsv('deposits-and-withdrawals', FundingMovementRecord, pages, call.query.raw === true) };
}

/**
 * In version 0.1.0, the time in an id comes from the process and `created_at` from the database. They differ by at most this much.
 */
const CLOCKS_DIFFER_MILLISECONDS = 3_600_000;

/** The latest time that a Date can have, in milliseconds since 1970. */
const LAST_DATE = 8.64e15;

/** Returns the lowest id of a time. In each direction, ids of one moment can be `CLOCKS_DIFFER_MILLISECONDS` away from it. */
const idNear = (time: number): string => lowestIdAt(new Date(time));

async function* readPages(
  { database }: Service,
  call: Call<'export_funding_movements'>,
  programId: string,
  { from, to }: Period,
): Pages {
  const turns = forEachPiece(call);
  let after = idNear(from === null ? 0 : from.getTime() - CLOCKS_DIFFER_MILLISECONDS);
  const until = idNear(to === null ? LAST_DATE : to.getTime() + CLOCKS_DIFFER_MILLISECONDS);
  const isWithin = ({ createdAt }: MadeMovement): boolean =>
    (from === null || createdAt >= from.getTime()) && (to === null || createdAt < to.getTime());
  let count = LINES_FIRST;
  let isLast: boolean;
  do {
    const page = exportStatement(programId, after, until, count);
    const made = (await readInTurn(turns, () => readRows(database, page))).map(toFundingMovement);
    isLast = made.length < count;
    after = made.at(-1)?.movement.movementId ?? after;
    count = yield made.filter(isWithin).map(toMovementRecord);
  } while (!isLast);
}

function movementIdOf({ kind, movementId }: Pick<FundingMovement, 'kind' | 'movementId'>): string {
  return toWireId(kind === 'deposit' ? 'dep' : 'wd', movementId);
}

function toMovementRecord({ movement, balance, createdAt }: MadeMovement): FundingMovementRecord {
  return {
    movement_id: movementIdOf(movement),
    program_id: toWireId('prog', movement.programId),
    kind: movement.kind,
    amount: toWire(movement.amount),
    currency: movement.currency,
    balance: toWire(balance),
    description: movement.description,
    reference: movement.reference,
    metadata: movement.metadata,
    created_by: movement.actor,
    created_at: new Date(createdAt).toISOString(),
  };
}
