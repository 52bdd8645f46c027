import { type Card, newAccountOf } from '../../../domain/cards/card.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { SIMULATOR_ID } from '../../../domain/sandbox.ts';
import { type Call, type Reply, type Service, schemaRefusal } from '../../calls/call.ts';
import { readLimits } from '../../calls/fields.ts';
import { requireConnectorOf } from '../../calls/processors.ts';
import { currencyFor, loadProgram } from '../../calls/program.ts';
import { readRows } from '../../calls/read-rows.ts';
import { toCardRecord } from '../../calls/records/card.ts';
import { ensureFunding } from '../../commit/ensure-funding.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { idAt } from '../../foundation/ids.ts';
import {
  type CardDetails,
  insertCard,
  insertCardMetadata,
  insertProcessorCard,
  readCardDetails,
  readCards,
  readProcessorCard,
  toCardDetails,
  tokenHashOf,
  toOwnName,
} from '../../store/card.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import { createCardAccount } from '../../store/ledger/account.ts';
import { auditOf, withoutHolderValues } from '../audit/audit.ts';

type CreateCall = Call<'create_card'>;

/** create_card: returns the card, or throws `duplicate_card` if the caller's own id is taken. */
export async function createCard(service: Service, call: CreateCall): Promise<Reply<'create_card'>> {
  const { programId, body } = call;
  const limits = readLimits(call, body.limits);
  const program = await loadProgram(service, toWireId('prog', programId));
  const currency = currencyFor(call, program, body.currency);
  const ownName = readOwnId(call);
  refuseHalfConnector(call);
  const sent: Omit<Card, 'cardId' | 'name' | 'accountId'> = {
    programId,
    status: body.status ?? 'active',
    currency,
    fundingAccountId: await ensureFunding(service, call, programId, currency),
    expiresOn: body.expires_on ?? null,
    limits,
    connectorId: body.connector_id ?? null,
  };
  // A generated id is never taken, so only the caller's own id is looked up.
  const own = ownName === undefined ? undefined : { programId, name: ownName };
  const atProcessor = readAtProcessor(body);
  return transactUnderKey(service, call, {
    programId,
    names: [
      ...(own === undefined ? [] : [{ ...own, kind: 'card' as const }]),
      ...(atProcessor === undefined ? [] : [atProcessor]),
    ],
    load: {
      existing: own === undefined ? null : readCards([own]),
      registered: atProcessor === undefined ? null : readProcessorCard({ ...atProcessor, programId }),
    },
    decide: ({ existing, registered: [registered] }, { batchId, now }) => {
      if (sent.connectorId !== null) requireConnectorOf(service.processors, sent.connectorId, programId);
      const cardId = idAt(now, 0);
      const name = ownName ?? toWireId('card', cardId);
      const card: Card = { ...sent, cardId, name, accountId: idAt(now, 1) };
      if (existing.length > 0) {
        const message = `The card program already has a card '${name}'.`;
        throw new Refusal('duplicate_card', message, { field: '/card_id' });
      }
      if (registered !== undefined) throw registeredBefore(body, toOwnName(registered));
      const details = emptyCard(card, body, program.today, new Date(now));
      const record = toCardRecord(details);
      const json = JSON.stringify(record);
      const event = { type: 'card.created' as const, programId, subjectId: name, payload: json };
      const writes = [
        createCardAccount(card, details.account),
        insertCard(details, body.processor_token ?? null),
        ...(atProcessor === undefined ? [] : [insertProcessorCard({ ...atProcessor, programId, cardId })]),
        ...insertCardMetadata([details]),
        insertEvents(batchId, [event], now, call),
        ...auditOf(call, { programId, subjectId: name, details: JSON.stringify(withoutHolderValues(record)) }),
      ];
      return { record, json, eventIndex: 0, subjectId: card.cardId, writes };
    },
    recall: async (cardId) => {
      const name = body.card_id ?? toWireId('card', cardId);
      const [row] = await readRows(service.database, readCardDetails(programId, name));
      if (row === undefined) throw new Error('the card of a stored response does not exist');
      return toCardRecord(toCardDetails(row));
    },
  });
}

/** Returns the caller's own id for the card. Refuses an id that has the form of generated ids. */
function readOwnId(call: CreateCall): string | undefined {
  const { card_id: own } = call.body;
  if (own === undefined || fromWireId('card', own) === undefined) return own;
  const message = "'card_id' looks like an id that the service gives. Choose another, or omit it.";
  throw schemaRefusal(call, message, '/card_id');
}

/** Refuses a connector without the processor's token for the card, or a token without a connector. */
function refuseHalfConnector(call: CreateCall): void {
  const { connector_id: connector, processor_token: token } = call.body;
  if ((connector === undefined) === (token === undefined)) return;
  const [missing, sent] =
    token === undefined
      ? (['processor_token', 'connector_id'] as const)
      : (['connector_id', 'processor_token'] as const);
  const message = `The field '${missing}' is missing, which is required with '${sent}': send both, or neither.`;
  throw schemaRefusal(call, message, `/${missing}`);
}

/** Returns the card's identity at its processor, or undefined. In a sandbox, a token that begins with `sim_` names a behavior. */
function readAtProcessor(
  body: CreateCall['body'],
): { readonly connectorId: string; readonly tokenHash: string } | undefined {
  const { connector_id: connectorId, processor_token: token } = body;
  if (connectorId === undefined || token === undefined) return undefined;
  if (connectorId === SIMULATOR_ID && token.startsWith('sim_')) return undefined;
  return { connectorId, tokenHash: tokenHashOf(token) };
}

/** Returns the refusal of a card that is already registered. `ownName` is the registered card, if it is in this program. */
function registeredBefore({ connector_id: connectorId }: CreateCall['body'], ownName: string | null): Refusal {
  const message =
    ownName === null
      ? `Another card program has this card of the connector '${connectorId}'.`
      : `The card program already has this card of the connector '${connectorId}': '${ownName}'.`;
  return new Refusal('duplicate_card', message, { field: '/processor_token' });
}

function emptyCard(card: Card, body: CreateCall['body'], today: string, now: Date): CardDetails {
  return {
    card,
    today,
    account: newAccountOf(card),
    holderReference: body.holder_reference ?? null,
    lastFour: body.last_four ?? null,
    metadata: body.metadata ?? {},
    createdAt: now,
    updatedAt: now,
  };
}
