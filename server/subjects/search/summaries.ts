import type { FOUND_KINDS, FoundRecord } from '../../../contract/look-up/search.ts';
import type { RequestRecord } from '../../../contract/service/requests.ts';
import { approvalStatusAt } from '../../../domain/approvals/approval.ts';
import { cardStatusOn } from '../../../domain/cards/card.ts';
import { type IdentifierPrefix, toCredentialId, toWireId } from '../../../domain/identifier.ts';
import { formatMoney } from '../../../domain/ledger/money.ts';
import type { Transfer } from '../../../domain/transfers/transfer.ts';
import type { ShownApproval } from '../../store/approval.ts';
import type { CardDetails } from '../../store/card.ts';
import { type LoggedError, timeOfId } from '../../store/error.ts';
import type { StoredEvent } from '../../store/events/read-events.ts';
import { NO_PROGRAM } from '../../store/idempotency.ts';
import type { Person } from '../../store/person.ts';
import type {
  KeyUse,
  toFoundAuditEntry,
  toFoundKey,
  toFoundMovement,
  toFoundProgram,
  toFoundReversal,
} from '../../store/search/find-others.ts';
import type { SupportCase } from '../../store/support/case.ts';
import type { Incident } from '../../store/support/incident.ts';
import type { WebhookDetails } from '../../store/webhooks/webhook.ts';

export type Found = { readonly kind: (typeof FOUND_KINDS)[number]; readonly record: FoundRecord };

type Match = FoundRecord['matched'];

function found(
  kind: Found['kind'],
  id: string,
  matched: Match,
  summary: string,
  { programId, createdAt }: { readonly programId: string | null; readonly createdAt: Date | number | null },
): Found {
  const program_id = programId === null || programId === NO_PROGRAM ? null : toWireId('prog', programId);
  const created_at = createdAt === null ? null : new Date(createdAt).toISOString();
  return { kind, record: { id, program_id, matched, summary, created_at } };
}

export function foundTransfer(transfer: Transfer, matched: Match): Found {
  const { amount, currency, cardName, destinationCardName, status } = transfer;
  const money = formatMoney(amount, currency);
  const what = {
    load: `Load of ${money} to the card '${cardName}'`,
    unload: `Unload of ${money} from the card '${cardName}'`,
    card_to_card: `Transfer of ${money} from the card '${cardName}' to the card '${destinationCardName}'`,
  }[transfer.type];
  return found('transfer', toWireId('tr', transfer.transferId), matched, `${what}: ${status}`, transfer);
}

/** Returns a card. The summary does not name the holder. `tokenEnd` is the end of the card's token at the processor. */
export function foundCard(details: CardDetails, matched: Match, tokenEnd: string | null = null): Found {
  const { card, account, lastFour, createdAt } = details;
  const digits = lastFour === null ? '' : ` ending in ${lastFour}`;
  const balance = formatMoney(account.balance, card.currency);
  const token = tokenEnd === null ? '' : `, …${tokenEnd} at '${card.connectorId}'`;
  const summary = `Card${digits}: ${cardStatusOn(card, details.today)}, balance ${balance}${token}`;
  return found('card', card.name, matched, summary, { programId: card.programId, createdAt });
}

export function foundRequest(error: LoggedError, matched: Match): Found {
  const { requestId, operation, status, code, programId } = error;
  const summary = `${operation ?? 'Request'} failed with ${status} ${code}`;
  return found('request', toWireId('req', requestId), matched, summary, { programId, createdAt: timeOfId(requestId) });
}

export function foundRequestRecord({ request_id, program_id, summary, received_at }: RequestRecord): Found {
  const record = { id: request_id, program_id, matched: 'id', summary, created_at: received_at } as const;
  return { kind: 'request', record };
}

/** Returns a case. The summary contains no text that a person wrote. */
export function foundCase(one: SupportCase): Found {
  const { caseId, code, operation, status } = one;
  const about = code ?? operation;
  return found(
    'case',
    toWireId('case', caseId),
    'id',
    `Case${about === null ? '' : ` about ${about}`}: ${status}`,
    one,
  );
}

export function foundIncident(incident: Incident): Found {
  const { incidentId, title, resolvedAt, programId, startedAt } = incident;
  const summary = `Incident “${title}”: ${resolvedAt === null ? 'open' : 'resolved'}`;
  return found('incident', toWireId('inc', incidentId), 'id', summary, { programId, createdAt: startedAt });
}

export function foundReversal(reversal: ReturnType<typeof toFoundReversal>, matched: Match): Found {
  const { reversalId, transferId, amount, currency } = reversal;
  const summary = `Reversal of ${formatMoney(amount, currency)} of ${toWireId('tr', transferId)}`;
  return found('reversal', toWireId('rev', reversalId), matched, summary, reversal);
}

export function foundMovement(movement: ReturnType<typeof toFoundMovement>, matched: Match): Found {
  const { kind, movementId, amount, currency } = movement;
  const [prefix, name] = kind === 'deposit' ? (['dep', 'Deposit'] as const) : (['wd', 'Withdrawal'] as const);
  return found(kind, toWireId(prefix, movementId), matched, `${name} of ${formatMoney(amount, currency)}`, movement);
}

/** Id prefixes of created records, by operation. The summary of a key names the created record only for these operations. */
const CREATED: Readonly<Record<string, IdentifierPrefix>> = {
  create_deposit: 'dep',
  create_withdrawal: 'wd',
  create_program: 'prog',
  create_key: 'key',
  roll_key: 'key',
  create_webhook: 'wh',
  create_operator_webhook: 'wh',
};

/** Returns a use of an idempotency key that did not create a transfer, a card or a reversal. */
export function foundKeyUse(key: string, use: KeyUse): Found {
  const { operation, status, subjectId, code, requestId } = use;
  const prefix = CREATED[operation];
  const created = subjectId !== null && prefix !== undefined ? `: ${toWireId(prefix, subjectId)}` : '';
  const what = code === null ? created : `: refused with ${status} ${code}`;
  const by = requestId === null ? '' : ` (first sent by ${toWireId('req', requestId)})`;
  const summary = `Key of ${operation}${what}${by}`;
  return found('idempotency_key', key, 'idempotency_key', summary, use);
}

export function foundEvent(event: StoredEvent): Found {
  const { type, subjectId } = event;
  const subject = type.startsWith('card.') ? `the card '${subjectId}'` : subjectId;
  return found('event', toWireId('evt', event.eventId), 'id', `Event ${type} about ${subject}`, event);
}

export function foundProgram(program: ReturnType<typeof toFoundProgram>, matched: Match): Found {
  const { programId, name, currency } = program;
  return found('program', toWireId('prog', programId), matched, `Card program ${name} in ${currency}`, program);
}

/** Returns a webhook. The summary shows only the host of the URL, because the rest may contain secrets. */
export function foundWebhook(webhook: WebhookDetails): Found {
  const summary = `Webhook to ${new URL(webhook.url).host}: ${webhook.status}`;
  return found('webhook', toWireId('wh', webhook.webhookId), 'id', summary, webhook);
}

export function foundKey(key: ReturnType<typeof toFoundKey>, matched: Match): Found {
  const state = key.revokedAt === null ? '' : ', revoked';
  return found('api_key', toWireId('key', key.keyId), matched, `API key ${key.name}${state}`, key);
}

/** Returns a person who has signed in. After an erasure, the name is unknown. */
export function foundPerson({ personId, name, roles, firstSeenAt, blockedAt, erasedAt }: Person): Found {
  const states = [blockedAt !== null && 'blocked', erasedAt !== null && 'erased'].filter((state) => state !== false);
  const who = [`Person ${name ?? 'without a name'}`, ...roles, ...states].join(', ');
  return found('person', toWireId('per', personId), 'id', who, { programId: null, createdAt: firstSeenAt });
}

/** Returns an approval, with its status at a given time. */
export function foundApproval(approval: ShownApproval, now: Date): Found {
  const { approvalId, summary, requestedBy, requestedByName, requestedAt, expiresAt, programId } = approval;
  const status = approvalStatusAt({ status: approval.status, expiresAt: expiresAt.getTime() }, now.getTime());
  const text = `Request of ${requestedByName ?? toCredentialId(requestedBy)} to ${summary}: ${status}`;
  return found('approval', toWireId('apr', approvalId), 'id', text, { programId, createdAt: requestedAt });
}

export function foundAuditEntry(entry: ReturnType<typeof toFoundAuditEntry>): Found {
  const summary = `Audit entry ${entry.position}: ${entry.action} by ${entry.actor}`;
  return found('audit_entry', toWireId('aud', entry.entryId), 'id', summary, entry);
}

export function foundCode(code: string, meaning: string): Found {
  return found('error_code', code, 'error_code', meaning, { programId: null, createdAt: null });
}
