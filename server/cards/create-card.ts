import type { CardRecord, CreateCardBody } from '../../contract/cards.ts';
import type { Card } from '../../domain/cards/card.ts';
import { fromWireId, toWireId } from '../../domain/identifier.ts';
import { Refusal } from '../../domain/refusal.ts';
import { auditIfOperator } from '../audit/audit.ts';
import { readRows } from '../commit/transaction.ts';
import { transactUnderKey } from '../commit/under-key.ts';
import { idAt } from '../ids.ts';
import type { Call, Reply } from '../operations/call.ts';
import { toCardRecord } from '../operations/records.ts';
import type { Service } from '../operations/service.ts';
import { currencyFor, ensureFunding, loadProgram } from '../programs/program-funding.ts';
import { type CardDetails, insertCard, readCardDetails, readCards, toCardDetails } from '../store/card.ts';
import { insertEvents } from '../store/event.ts';
import { createCardAccount } from '../store/ledger/account.ts';
import type { Program } from '../store/program.ts';
import { readLimits } from './sent-limits.ts';

/** create_card: 201 with the card, or `duplicate_card` when the caller's own id is taken. */
export async function createCard(service: Service, call: Call): Promise<Reply> {
  const body = call.members as CreateCardBody;
  const limits = readLimits(call, body.limits);
  const program = await loadProgram(service, call.programId, toWireId('prog', call.programId));
  const currency = currencyFor(call, program, body.currency);
  const asked: AskedCard = {
    programId: call.programId,
    ownName: ownIdOf(call, body),
    status: body.status ?? 'active',
    currency,
    fundingAccountId: await ensureFunding(service, call, call.programId, currency),
    expiresOn: body.expires_on ?? null,
    limits,
  };
  return write(service, call, asked, program);
}

/** A card before it has its ids, which come with the time of the decision. */
type AskedCard = Omit<Card, 'cardId' | 'name' | 'accountId'> & { readonly ownName: string | undefined };

function pathOf(body: string): string {
  const { card_id } = JSON.parse(body) as CardRecord;
  return `/api/v0.1/core/card/${encodeURIComponent(card_id)}`;
}

/** The caller's own id for the card; ids that look like ours are ours to give. */
function ownIdOf(call: Call, body: CreateCardBody): string | undefined {
  const { card_id: own } = body;
  if (own === undefined || fromWireId('card', own) === undefined) return own;
  const message = "'card_id' looks like an id that the service gives. Choose another, or leave it out.";
  throw new Refusal(`${call.operation}_schema`, message, { field: '/card_id' });
}

function write(service: Service, call: Call, { ownName, ...asked }: AskedCard, program: Program): Promise<Reply> {
  const { programId } = asked;
  const body = call.members as CreateCardBody;
  // A name that the service gives is nobody else's.
  const own = ownName === undefined ? undefined : { programId, name: ownName };
  return transactUnderKey(service, call, {
    programId,
    names: own === undefined ? [] : [{ ...own, kind: 'card', scope: '' }],
    load: { existing: own === undefined ? null : readCards([own]) },
    decide: ({ existing }, { batchId, now }) => {
      const cardId = idAt(now, 0);
      const name = ownName ?? toWireId('card', cardId);
      const card: Card = { ...asked, cardId, name, accountId: idAt(now, 1) };
      if (existing.length > 0) {
        const message = `The card program has a card '${name}' already.`;
        throw new Refusal('duplicate_card', message, { field: '/card_id' });
      }
      const details = emptyCard(card, body, program.today, new Date(now));
      const record = JSON.stringify(toCardRecord(details));
      const event = { type: 'card.created' as const, programId, subjectId: name, payload: record };
      const writes = [
        createCardAccount(programId, card.accountId, card.cardId, card.currency),
        insertCard(details),
        insertEvents(batchId, [event], now),
        ...auditIfOperator(call, { programId, subjectId: name, details: record }),
      ];
      return { status: 201, body: record, subjectId: card.cardId, writes };
    },
    locate: pathOf,
    recall: (cardId) => readAsItIs(service, programId, body.card_id ?? toWireId('card', cardId)),
  });
}

async function readAsItIs({ database }: Service, programId: string, name: string): Promise<string> {
  const [row] = await readRows(database, readCardDetails(programId, name));
  if (row === undefined) throw new Error('a stored response names a card that is not there');
  return JSON.stringify(toCardRecord(toCardDetails(row)));
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
