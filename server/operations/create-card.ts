import { randomUUIDv7 } from 'node:crypto';
import type { CreateCardBody } from '../../contract/card-schemas.ts';
import type { Card } from '../../domain/card.ts';
import { fromWireId, toWireId } from '../../domain/identifier.ts';
import { Refusal } from '../../domain/refusal.ts';
import { createCardAccount } from '../store/account.ts';
import { type CardDetails, insertCard, readCards } from '../store/card.ts';
import { insertEvents } from '../store/event.ts';
import { lockNames } from '../store/locks.ts';
import type { Program } from '../store/program.ts';
import { READ_SWITCH, toSwitchReading } from '../store/switch.ts';
import { auditIfOperator } from './audit.ts';
import type { Call, Reply } from './call.ts';
import { currencyFor, ensureFunding, loadProgram } from './program-funding.ts';
import { toCardRecord } from './records.ts';
import { readLimits } from './sent-limits.ts';
import type { Service } from './service.ts';
import { transact } from './transaction.ts';

/** create_card: 201 with the card, or `duplicate_card` when the caller's own id is taken. */
export async function createCard(service: Service, call: Call): Promise<Reply> {
  const body = call.members as CreateCardBody;
  const limits = readLimits(call, 'limits', body.limits);
  const program = await loadProgram(service, call.programId, toWireId('prog', call.programId));
  const currency = currencyFor(call, program, body.currency);
  const cardId = randomUUIDv7();
  const card: Card = {
    programId: call.programId,
    cardId,
    name: ownIdOf(call, body) ?? toWireId('card', cardId),
    status: body.status ?? 'active',
    currency,
    accountId: randomUUIDv7(),
    fundingAccountId: await ensureFunding(service, call, call.programId, currency),
    expiresOn: body.expires_on ?? null,
    limits,
  };
  const record = toCardRecord(await write(service, call, card, program));
  return {
    status: 201,
    body: JSON.stringify(record),
    location: `/api/v0.1/core/card/${encodeURIComponent(card.name)}`,
  };
}

/** The caller's own id for the card; ids that look like ours are ours to give. */
function ownIdOf(call: Call, body: CreateCardBody): string | undefined {
  const { card_id: own } = body;
  if (own === undefined || fromWireId('card', own) === undefined) return own;
  const message = "'card_id' looks like an id that the service gives. Choose another, or leave it out.";
  throw new Refusal(`${call.operation}_schema`, message, { field: '/card_id' });
}

function write(service: Service, call: Call, card: Card, program: Program): Promise<CardDetails> {
  const { programId, name } = card;
  const body = call.members as CreateCardBody;
  return transact(
    service.database,
    call.deadline,
    {
      lockName: lockNames([{ programId, kind: 'card', scope: '', name }]),
      clock: READ_SWITCH,
      existing: readCards([{ programId, name }]),
    },
    (loaded, batchId) => {
      if (loaded.existing.length > 0) {
        const message = `The card program has a card '${name}' already.`;
        throw new Refusal('duplicate_card', message, { field: '/card_id' });
      }
      const { now } = toSwitchReading(loaded.clock);
      const details = emptyCard(card, body, program.today, new Date(now));
      const event = {
        type: 'card.created' as const,
        programId,
        subjectId: name,
        payload: JSON.stringify(toCardRecord(details)),
      };
      const writes = [
        createCardAccount(programId, card.accountId, card.cardId, card.currency),
        insertCard(details),
        insertEvents(batchId, [event], now),
        ...auditIfOperator(call, { programId, subjectId: name, details: event.payload }),
      ];
      return { result: details, writes };
    },
  );
}

function emptyCard(card: Card, body: CreateCardBody, today: string, now: Date): CardDetails {
  return {
    card,
    today,
    account: {
      programId: card.programId,
      accountId: card.accountId,
      kind: 'card',
      currency: card.currency,
      balance: 0n,
      held: 0n,
      incoming: 0n,
      floor: 0n,
      sequence: 0n,
    },
    holderReference: body.holder_reference ?? null,
    lastFour: body.last_four ?? null,
    createdAt: now,
    updatedAt: now,
  };
}
