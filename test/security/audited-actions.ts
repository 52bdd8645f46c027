import { randomUUIDv7 } from 'node:crypto';
import { OPERATIONS, type OperationId } from '../../contract/operations.ts';
import { DEMO_PROGRAM } from '../../contract/samples.ts';
import { fromWireId, toWireId } from '../../domain/identifier.ts';
import { DEMO_PROGRAM_ID } from '../../domain/sandbox.ts';
import type { AnyCall } from '../../server/calls/call.ts';
import { type CallParts, newThings, partsOf, rowOf } from '../fixtures/operations.ts';
import { attemptOf } from '../fixtures/processors.ts';
import type { Ledger } from '../harness/ledger.ts';
import { relayOnce } from '../store/events/relayed.ts';

/** The wire id of the operator's key. */
export const OPERATOR = 'key_01900000000070008000000000000abc';

/** The UUID of the operator's key. */
const KEY_ID = '01900000-0000-7000-8000-000000000abc';
const OTHER_KEY_ID = '01900000-0000-7000-8000-000000000abd';

export const CALLER: AnyCall['caller'] = {
  kind: 'operator_key',
  keyId: KEY_ID,
  scopes: ['operator'],
};

/** Executes an operation as the operator, and returns the response. */
export async function operate(
  ledger: Ledger,
  operation: OperationId,
  members: object = {},
  more: Partial<AnyCall> = {},
): Promise<Record<string, unknown>> {
  const { body } = await ledger.call(operation, members, { caller: CALLER, programId: '', ...more });
  return JSON.parse(body) as Record<string, unknown>;
}

/** Prepares the subject of an operation, and returns a function that executes it, by default as the operator. */
export async function prepareAction(
  ledger: Ledger,
  operation: OperationId,
): Promise<(more?: Partial<AnyCall>) => Promise<unknown>> {
  // Deletes webhooks, because the tests create more than a card program may have.
  await ledger.database.writeUnguarded({ name: 'delete_webhooks', text: 'delete from webhook', values: [] });
  const send = (id: OperationId, { params, body }: CallParts, more: Partial<AnyCall> = {}) => {
    const { reach, idempotency } = OPERATIONS[id];
    const idempotencyKey = idempotency === 'none' ? null : randomUUIDv7();
    const programId = reach === 'program' ? DEMO_PROGRAM_ID : '';
    return operate(ledger, id, body, { params, programId, idempotencyKey, ...more });
  };
  const things = newThings((id, parts) => send(id, parts, { caller: { kind: 'sandbox' } }), {
    program: async () => DEMO_PROGRAM,
    event: async () => {
      await things.card();
      await relayOnce(ledger.database);
      const { data } = await operate(ledger, 'list_events', { limit: 1 }, { programId: DEMO_PROGRAM_ID });
      return String((data as readonly { event_id: string }[])[0]?.event_id);
    },
    error: () => loggedError(ledger),
    attempt: () => unknownAttempt(ledger),
    connector: async () => 'simulator',
    break: () => newBreak(ledger),
    session: () => newSession(ledger),
    approval: () => newApproval(ledger, rowOf(operation).caller === 'maker'),
  });
  const parts = await partsOf(operation, things);
  const { caller } = rowOf(operation);
  if (caller === 'key') await keysOfOperators(ledger);
  const session = caller === 'session' ? { sessionId: fromWireId('ses', await things.session()) } : {};
  return (more) => send(operation, parts, { caller: { ...CALLER, ...session } as AnyCall['caller'], ...more });
}

/** Creates an attempt with an unknown outcome, and a transfer that waits for it. */
export async function unknownAttempt(ledger: Ledger): Promise<string> {
  const about = { caller: { kind: 'sandbox' }, programId: DEMO_PROGRAM_ID } as const;
  const card = { connector_id: 'simulator', processor_token: 'sim_approve' };
  const { card_id } = await operate(ledger, 'create_card', card, about);
  const transfer = await operate(ledger, 'create_transfer', { amount: 1000, card_id }, about);
  const { attemptId } = await attemptOf(ledger, String(transfer.transfer_id));
  await ledger.database.writeUnguarded({
    name: 'lose_attempt',
    text: "update processor_attempt set status = 'unknown', unknown_since = now() where attempt_id = $1",
    values: [attemptId],
  });
  return toWireId('pat', attemptId);
}

/** Creates a break that can be booked. The break's processor says that it has moved 10.00 USD more than was ordered. */
export async function newBreak(ledger: Ledger): Promise<string> {
  const attemptId = fromWireId('pat', await unknownAttempt(ledger));
  const breakId = randomUUIDv7();
  await ledger.database.writeUnguarded({
    name: 'end_attempt',
    text: "update processor_attempt set status = 'approved', unknown_since = null where attempt_id = $1",
    values: [attemptId],
  });
  await ledger.database.writeUnguarded({
    name: 'insert_break',
    text: `insert into processor_break (break_id, kind, connector_id, program_id, attempt_id, transfer_id, amount, currency,
        expected, found, created_at, stated_amount)
      select $1::uuid, 'contradiction', connector_id, program_id, attempt_id, transfer_id, amount, currency, 'approved',
        'approved of 20.00 USD', now(), 2000 from processor_attempt where attempt_id = $2`,
    values: [breakId, attemptId],
  });
  return toWireId('brk', breakId);
}

/** Creates a request that waits for an approval. The requester is another operator, or the caller. */
async function newApproval(ledger: Ledger, isOwn: boolean): Promise<string> {
  const { database } = ledger;
  await keysOfOperators(ledger);
  const approvalId = randomUUIDv7();
  await database.writeUnguarded({
    name: 'insert_approval_of_test',
    text: `insert into approval (approval_id, status, operation, program_id, path, body, fingerprint, meaning, idempotency_key,
        key_hash, summary, request_id, requested_by, requested_at, expires_at)
      values ($1::uuid, 'pending', 'update_program', $2, jsonb_build_object('program_id', $3::text), '{"name":"Demo program"}', '\\x00',
        decode(replace($1::uuid::text, '-', ''), 'hex'), $1::uuid::text, $1, 'change name of Demo program', $1, $4, now(), now() + interval '1 day')`,
    values: [approvalId, DEMO_PROGRAM_ID, DEMO_PROGRAM, isOwn ? KEY_ID : OTHER_KEY_ID],
  });
  return toWireId('apr', approvalId);
}

/** Stores the operator's key, which belongs to a person, and a second key. Most tests need neither. */
async function keysOfOperators(ledger: Ledger): Promise<void> {
  await ledger.database.writeUnguarded({
    name: 'insert_keys_of_operators',
    text: `insert into api_key (key_id, public_part, secret_hash, name, scopes, created_at, owner_id)
      values ($1, '0123456789abcdef', sha256('secret'), 'operator', '{operator}', now(), gen_random_uuid()),
        ($2, '0123456789abcdee', sha256('other'), 'other operator', '{operator}', now(), null)
      on conflict do nothing`,
    values: [KEY_ID, OTHER_KEY_ID],
  });
}

async function newSession(ledger: Ledger): Promise<string> {
  await keysOfOperators(ledger);
  return String((await operate(ledger, 'create_session')).session_id);
}

async function loggedError({ database }: Ledger): Promise<string> {
  const requestId = randomUUIDv7();
  await database.writeUnguarded({
    name: 'log_an_error',
    text: `insert into error (request_id, created_at, code, status, type, message, causes)
      values ($1, uuid_extract_timestamp($1::uuid), 'route_not_found', 404, 'Request Error', 'x', '[]')`,
    values: [requestId],
  });
  return toWireId('req', requestId);
}

/** Returns the number of rows that the operations create, and the number of rows in the audit log. */
export async function countRows({ database }: Ledger): Promise<Readonly<Record<string, bigint>>> {
  const [row] = await database.writeUnguarded({
    name: 'count_what_actions_make',
    text: `select (select count(*) from program) as program, (select count(*) from funding_movement) as movement,
      (select count(*) from posting) as posting, (select count(*) from transfer) as transfer,
      (select count(*) from card) as card, (select count(*) from hold) as hold, (select count(*) from api_key) as key,
      (select count(*) from api_key where revoked_at is not null) as revoked,
      (select count(*) from api_key where replaced_by is not null) as replaced,
      (select count(*) from switch) as switch, (select count(*) from event) as event,
      (select count(*) from webhook) as webhook, (select sum(revision) from webhook) as webhook_change,
      (select count(*) from webhook_secret) as webhook_secret, (select count(*) from webhook_replay) as webhook_replay,
      (select count(*) from webhook_delivery) as webhook_delivery,
      (select count(*) from idempotency) as response, (select count(*) from audit_entry) as audit`,
    values: [],
  });
  return row as Record<string, bigint>;
}
