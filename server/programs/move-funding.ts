import type { FundingMovementBody } from '../../contract/programs.ts';
import { fromWireId, toWireId } from '../../domain/identifier.ts';
import { type Account, available, canGive, canTake, type Posted, post } from '../../domain/ledger/ledger.ts';
import { formatMoney, MAXIMUM_BALANCE, readAmount } from '../../domain/ledger/money.ts';
import { Refusal } from '../../domain/refusal.ts';
import { actorOf } from '../audit/actor.ts';
import { auditOf } from '../audit/audit.ts';
import { readRows } from '../commit/transaction.ts';
import { type Done, type Moment, transactUnderKey } from '../commit/under-key.ts';
import { idAt } from '../ids.ts';
import type { Call, Reply } from '../operations/call.ts';
import { toFundingMovementRecord } from '../operations/records.ts';
import type { Service } from '../operations/service.ts';
import { insertEvents } from '../store/event.ts';
import { lockFundingAccounts, toAccount, updateAccounts } from '../store/ledger/account.ts';
import {
  type FundingMovement,
  insertFundingMovement,
  readFundingMovement,
  toFundingMovement,
} from '../store/ledger/funding.ts';
import { insertPostings } from '../store/ledger/posting.ts';
import { currencyFor, ensureFunding, loadProgram } from './program-funding.ts';

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
  const asSent: Omit<FundingMovement, 'movementId'> = {
    programId: program.programId,
    kind,
    amount: reading.amount,
    currency,
    description: body.description ?? null,
    actor: actorOf(call.caller),
  };
  return transactUnderKey(service, call, {
    programId: program.programId,
    load: { lockAccounts: lockFundingAccounts(program.programId, currency) },
    decide: ({ lockAccounts }, moment) => {
      const movement = { ...asSent, movementId: idAt(moment.now) };
      return decide(call, movement, lockAccounts.map(toAccount), moment);
    },
    locate: () => `/api/v0.1/operator/program/${toWireId('prog', program.programId)}`,
    recall: (movementId) => readAgain(service, program.programId, movementId),
  });
}

async function readAgain({ database }: Service, programId: string, movementId: string): Promise<string> {
  const [row] = await readRows(database, readFundingMovement(programId, movementId));
  if (row === undefined) throw new Error('a stored response names a movement of funding that is not there');
  const { movement, balance, createdAt } = toFundingMovement(row);
  return JSON.stringify(toFundingMovementRecord(movement, balance, createdAt));
}

function decide(call: Call, movement: FundingMovement, accounts: readonly Account[], { batchId, now }: Moment): Done {
  const { source, destination, posting } = tryToMove(movement, accounts);
  const { programId, movementId } = movement;
  const funding = movement.kind === 'deposit' ? destination : source;
  const record = toFundingMovementRecord(movement, funding.balance, now);
  const { movement_id: subjectId } = record;
  const body = JSON.stringify(record);
  const type = movement.kind === 'deposit' ? ('funding.deposited' as const) : ('funding.withdrawn' as const);
  const writes = [
    insertFundingMovement(movement, now),
    insertPostings([{ programId, causeId: movementId, ...posting }], now),
    updateAccounts([source, destination]),
    insertEvents(batchId, [{ type, programId, subjectId, payload: body }], now),
    auditOf(call, { programId, subjectId, details: body }),
  ];
  return { status: 201, body, subjectId: movementId, writes };
}

function tryToMove(movement: FundingMovement, accounts: readonly Account[]): Posted {
  const funding = accounts.find((account) => account.kind === 'funding');
  const world = accounts.find((account) => account.kind === 'world');
  if (funding === undefined || world === undefined) throw new Error('funding accounts were made and are not there');
  const [source, destination] = movement.kind === 'deposit' ? [world, funding] : [funding, world];
  const { amount, currency } = movement;
  if (!canGive(destination, amount) || (source.kind === 'world' && !canTake(source, amount))) {
    const message =
      `The ${movement.kind} would take the ${destination.kind} account past the largest balance there is, ` +
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
