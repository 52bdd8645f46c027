import { randomUUIDv7 } from 'node:crypto';
import type { FundingMovementBody } from '../../contract/operator-schemas.ts';
import { replay } from '../../domain/idempotency.ts';
import { fromWireId, toWireId } from '../../domain/identifier.ts';
import { type Account, available, canGive, canTake, type Posted, post } from '../../domain/ledger.ts';
import { formatMoney, MAXIMUM_BALANCE, readAmount } from '../../domain/money.ts';
import { Refusal } from '../../domain/refusal.ts';
import { lockFundingAccounts, toAccount, updateAccounts } from '../store/account.ts';
import type { Decision, Loaded, Statement } from '../store/database.ts';
import { insertEvents } from '../store/event.ts';
import { type FundingMovement, insertFundingMovement } from '../store/funding.ts';
import { insertAnswers, readAnswers, toAnswers } from '../store/idempotency.ts';
import { lockNames } from '../store/locks.ts';
import { insertPostings } from '../store/posting.ts';
import { READ_SWITCH, toSwitchReading } from '../store/switch.ts';
import { actorOf } from './actor.ts';
import { auditOf } from './audit.ts';
import type { Call, Reply } from './call.ts';
import { fingerprintOf, keepRefusal, keepSuccess, refuseAgain, replyAgain } from './idempotency.ts';
import { currencyFor, ensureFunding, loadProgram } from './program-funding.ts';
import { toFundingMovementRecord } from './records.ts';
import type { Service } from './service.ts';
import { transact } from './transaction.ts';

type LoadName = 'lockName' | 'lockAccounts' | 'clock' | 'answers';

/** create_deposit: money from the world to a program's funding. Always under an idempotency key. */
export function createDeposit(service: Service, call: Call): Promise<Reply> {
  return moveFunding(service, call, 'deposit');
}

/** create_withdrawal: money from a program's funding back to the world. Always under an idempotency key. */
export function createWithdrawal(service: Service, call: Call): Promise<Reply> {
  return moveFunding(service, call, 'withdrawal');
}

async function moveFunding(service: Service, call: Call, kind: FundingMovement['kind']): Promise<Reply> {
  const body = call.members as FundingMovementBody;
  const reading = readAmount(body.amount);
  if ('problem' in reading) throw new Refusal('invalid_amount', reading.problem, { field: '/amount' });
  const asked = call.parameters.program_id ?? '';
  const program = await loadProgram(service, fromWireId('prog', asked), asked);
  const currency = currencyFor(call, program, body.currency);
  await ensureFunding(service, call, program.programId, currency);
  const movement: FundingMovement = {
    programId: program.programId,
    movementId: randomUUIDv7(),
    kind,
    amount: reading.amount,
    currency,
    description: body.description ?? null,
    actor: actorOf(call.caller),
  };
  const answer = await transact(service.database, call.deadline, loadFor(call, movement), (loaded, batchId) =>
    decide(call, movement, loaded, batchId),
  );
  if (answer instanceof Refusal) throw answer;
  return answer;
}

function scopeOf(call: Call, movement: FundingMovement) {
  return { programId: movement.programId, operation: call.operation, key: call.idempotencyKey ?? '' };
}

function loadFor(call: Call, movement: FundingMovement): Record<LoadName, Statement> {
  const { programId, key, operation } = scopeOf(call, movement);
  return {
    lockName: lockNames([{ programId, kind: 'idempotency_key', scope: operation, name: key }]),
    lockAccounts: lockFundingAccounts(programId, movement.currency),
    clock: READ_SWITCH,
    answers: readAnswers([{ programId, operation, key }]),
  };
}

function decide(
  call: Call,
  movement: FundingMovement,
  loaded: Loaded<LoadName>,
  batchId: string,
): Decision<Reply | Refusal> {
  const fingerprint = fingerprintOf(call);
  const [stored] = toAnswers(loaded.answers).values();
  if (stored !== undefined) {
    const first = replay(stored, fingerprint);
    if (first instanceof Refusal) return { result: first, writes: [] };
    return { result: refuseAgain(first) ?? replyAgain(201, first.body ?? '', pathOf(movement)), writes: [] };
  }
  const { now } = toSwitchReading(loaded.clock);
  const scope = scopeOf(call, movement);
  const moved = tryToMove(movement, loaded.lockAccounts.map(toAccount));
  if (moved instanceof Refusal) {
    const kept = keepRefusal(fingerprint, moved);
    return { result: moved, writes: kept === undefined ? [] : [insertAnswers([{ ...scope, answer: kept }], now)] };
  }
  const funding = movement.kind === 'deposit' ? moved.destination : moved.source;
  const record = toFundingMovementRecord(movement, funding.balance, now);
  const body = JSON.stringify(record);
  const event = {
    type: movement.kind === 'deposit' ? ('funding.deposited' as const) : ('funding.withdrawn' as const),
    programId: movement.programId,
    subjectId: record.movement_id,
    payload: JSON.stringify(record),
  };
  const { programId, movementId } = movement;
  return {
    result: { status: 201, body, location: pathOf(movement) },
    writes: [
      insertFundingMovement(movement, now),
      insertPostings([{ programId, causeId: movementId, posting: moved.posting }], now),
      updateAccounts([moved.source, moved.destination]),
      insertEvents(batchId, [event], now),
      insertAnswers([{ ...scope, answer: keepSuccess(fingerprint, 201, movementId, body) }], now),
      auditOf(call, { programId, subjectId: record.movement_id, details: event.payload }),
    ],
  };
}

function tryToMove(movement: FundingMovement, accounts: readonly Account[]): Posted | Refusal {
  const funding = accounts.find((account) => account.kind === 'funding');
  const world = accounts.find((account) => account.kind === 'world');
  if (funding === undefined || world === undefined) throw new Error('funding accounts were made and are not there');
  const [source, destination] = movement.kind === 'deposit' ? [world, funding] : [funding, world];
  const { amount, currency } = movement;
  if (!canGive(destination, amount) || (source.kind === 'world' && !canTake(source, amount))) {
    const message =
      `The ${movement.kind} would take the ${destination.kind} account past the largest balance there is, ` +
      `${formatMoney(MAXIMUM_BALANCE, currency)}.`;
    return new Refusal('limit_exceeded', message, { field: '/amount' });
  }
  if (!canTake(source, amount)) {
    const message =
      `The card program's funding account has ${formatMoney(available(source), currency)} available, and the ` +
      `withdrawal is for ${formatMoney(amount, currency)}.`;
    return new Refusal('insufficient_funds', message, { field: '/amount' });
  }
  return post({ index: 0, purpose: movement.kind, source, destination, amount });
}

function pathOf(movement: FundingMovement): string {
  return `/api/v0.1/operator/program/${toWireId('prog', movement.programId)}`;
}
