import { randomUUIDv7 } from 'node:crypto';
import type { OperationId } from '../../contract/operations.ts';
import { DEMO_PROGRAM } from '../../contract/samples.ts';
import { fromWireId } from '../../domain/identifier.ts';
import type { AnyCall } from '../../server/operations/call.ts';
import { DEMO_PROGRAM_ID } from '../../server/sandbox/seed-sandbox.ts';
import { operatorKey, programKey } from '../harness/keys.ts';
import type { Ledger } from '../harness/ledger.ts';
import { relayOnce } from '../store/events/relayed.ts';

/** Id of the key on the wire that operators act with here. */
export const OPERATOR = 'key_01900000000070008000000000000abc';

/** The caller that this key makes. */
export const CALLER: AnyCall['caller'] = {
  kind: 'operator_key',
  keyId: '01900000-0000-7000-8000-000000000abc',
  scopes: ['operator'],
};

type Action = (ledger: Ledger) => Promise<unknown>;

/** Does something as an operator, and gives what was answered. */
export async function operate(
  ledger: Ledger,
  operation: OperationId,
  members: object = {},
  more: Partial<AnyCall> = {},
): Promise<Record<string, unknown>> {
  const { body } = await ledger.call(operation, members, { caller: CALLER, programId: '', ...more });
  return JSON.parse(body) as Record<string, unknown>;
}

const inDemo = { params: { program_id: DEMO_PROGRAM } };
const newKey = async (ledger: Ledger) => ({
  params: { key_id: String((await operate(ledger, 'create_key', operatorKey('other'))).key_id) },
});
const once = () => ({ ...inDemo, idempotencyKey: randomUUIDv7() });

/** The key of the operator, which otherwise there is not. */
async function keyOfOperator(ledger: Ledger): Promise<Partial<AnyCall>> {
  await ledger.database.read({
    name: 'insert_key_of_operator',
    text: `insert into api_key (key_id, public_part, secret_hash, name, scopes, created_at)
      values ('01900000-0000-7000-8000-000000000abc', '0123456789abcdef', sha256('secret'), 'operator', '{operator}', now())
      on conflict do nothing`,
    values: [],
  });
  return {};
}

async function newSession(ledger: Ledger): Promise<Partial<AnyCall>> {
  await keyOfOperator(ledger);
  const { session_id } = await operate(ledger, 'create_session');
  const sessionId = fromWireId('ses', String(session_id)) ?? '';
  return { params: { session_id: String(session_id) }, caller: { ...CALLER, sessionId } as AnyCall['caller'] };
}

/** How each operation that writes a row is done; `before` is not counted. */
export const ACTIONS: Readonly<
  Record<string, { readonly before?: (ledger: Ledger) => Promise<Partial<AnyCall>>; readonly act: Act }>
> = {
  create_program: { act: (ledger) => operate(ledger, 'create_program', { name: 'Gifts', currency: 'USD' }) },
  update_program: { act: (ledger) => operate(ledger, 'update_program', { name: randomUUIDv7() }, inDemo) },
  create_deposit: { act: (ledger) => operate(ledger, 'create_deposit', { amount: 5 }, once()) },
  create_withdrawal: { act: (ledger) => operate(ledger, 'create_withdrawal', { amount: 5 }, once()) },
  change_switch: { act: (ledger) => operate(ledger, 'change_switch', { disabled: false }) },
  create_key: { act: (ledger) => operate(ledger, 'create_key', programKey('shop', DEMO_PROGRAM)) },
  roll_key: { before: newKey, act: (ledger, more) => operate(ledger, 'roll_key', {}, more) },
  revoke_key: { before: newKey, act: (ledger, more) => operate(ledger, 'revoke_key', {}, more) },
  create_session: { before: keyOfOperator, act: (ledger) => operate(ledger, 'create_session') },
  delete_session: { before: newSession, act: (ledger, more) => operate(ledger, 'delete_session', {}, more) },
  revoke_session: { before: newSession, act: (ledger, more) => operate(ledger, 'revoke_session', {}, more) },
  inspect_error: { before: loggedError, act: (ledger, more) => operate(ledger, 'inspect_error', {}, more) },
  get_request: { before: loggedError, act: (ledger, more) => operate(ledger, 'get_request', {}, more) },
  create_transfer: { act: (ledger, more) => operate(ledger, 'create_transfer', LOAD, { ...inProgram(), ...more }) },
  capture_transfer: { before: heldTransfer, act: (ledger, more) => operate(ledger, 'capture_transfer', {}, more) },
  cancel_transfer: { before: heldTransfer, act: (ledger, more) => operate(ledger, 'cancel_transfer', {}, more) },
  reverse_transfer: {
    before: (ledger) => madeTransfer(ledger, LOAD),
    act: (ledger, more) => operate(ledger, 'reverse_transfer', { amount: 1 }, more),
  },
  update_transfer: {
    before: (ledger) => madeTransfer(ledger, LOAD),
    act: (ledger, more) => operate(ledger, 'update_transfer', { metadata: { note: 'x' } }, more),
  },
  create_card: { act: (ledger, more) => operate(ledger, 'create_card', {}, { ...inProgram(), ...more }) },
  update_card: {
    before: newCard,
    act: (ledger, more) => operate(ledger, 'update_card', { holder_reference: randomUUIDv7() }, more),
  },
  erase_card_holder: {
    before: closedCard,
    act: (ledger, more) => operate(ledger, 'erase_card_holder', {}, more),
  },
  move_clock: { act: (ledger) => operate(ledger, 'move_clock', { seconds_ahead: 0 }) },
  ...webhookActions({ infix: '', of: inProgram }),
  ...webhookActions({ infix: 'operator_', of: () => ({ idempotencyKey: randomUUIDv7() }) }),
};

/** The operations on webhooks: of the demo program, or of operators. */
function webhookActions({
  infix,
  of,
}: {
  readonly infix: '' | 'operator_';
  readonly of: () => Partial<AnyCall>;
}): typeof ACTIONS {
  const create = `create_${infix}webhook` as const;
  const before = async (ledger: Ledger): Promise<Partial<AnyCall>> => {
    await ledger.database.read({ name: 'delete_webhooks', text: 'delete from webhook', values: [] });
    const { body } = await ledger.call(create, { url: URL }, of());
    return { ...of(), params: { webhook_id: (JSON.parse(body) as { webhook_id: string }).webhook_id } };
  };
  const act =
    (operation: OperationId, members: object = {}): Act =>
    (ledger, more) =>
      operate(ledger, operation, members, more);
  const period = { from: '2000-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z', only: 'all' };
  return {
    [create]: { act: (ledger, more) => operate(ledger, create, { url: URL }, { ...of(), ...more }) },
    [`update_${infix}webhook`]: { before, act: act(`update_${infix}webhook`, { description: randomUUIDv7() }) },
    [`delete_${infix}webhook`]: { before, act: act(`delete_${infix}webhook`) },
    [`roll_${infix}webhook_secret`]: { before, act: act(`roll_${infix}webhook_secret`) },
    [`test_${infix}webhook`]: { before, act: act(`test_${infix}webhook`) },
    [`replay_${infix}webhook`]: { before, act: act(`replay_${infix}webhook`, period) },
    [`resend_${infix}event`]: {
      before: async (ledger) => {
        await ledger.call('create_card', {}, inProgram());
        await relayOnce(ledger.database);
        return before(ledger);
      },
      act: async (ledger, more) => {
        const { body } = await ledger.call('list_events', { limit: 1 });
        const { data } = JSON.parse(body) as { data: readonly { event_id: string }[] };
        return operate(ledger, `resend_${infix}event`, { event_id: data[0]?.event_id }, more);
      },
    },
  };
}

type Act = (ledger: Ledger, more: Partial<AnyCall>) => ReturnType<Action>;

const URL = 'https://shop.example/webhooks';
const LOAD = { amount: 5, card_id: 'card_active' };

/** Within the demo program, as a Program-Id header says it. */
function inProgram(): Partial<AnyCall> {
  return { programId: DEMO_PROGRAM_ID, idempotencyKey: randomUUIDv7() };
}

/** A transfer of the program's own, to be named by its id. */
async function madeTransfer(ledger: Ledger, members: object): Promise<Partial<AnyCall>> {
  const { body } = await ledger.call('create_transfer', members, inProgram());
  return { ...inProgram(), params: { transfer_id: (JSON.parse(body) as { transfer_id: string }).transfer_id } };
}

function heldTransfer(ledger: Ledger): Promise<Partial<AnyCall>> {
  return madeTransfer(ledger, { ...LOAD, capture: 'manual' });
}

async function newCard(ledger: Ledger): Promise<Partial<AnyCall>> {
  const { body } = await ledger.call('create_card', {}, inProgram());
  return { ...inProgram(), params: { card_id: (JSON.parse(body) as { card_id: string }).card_id } };
}

/** A card that is closed. */
async function closedCard(ledger: Ledger): Promise<Partial<AnyCall>> {
  const card = await newCard(ledger);
  await ledger.call('update_card', { status: 'closed' }, card);
  return card;
}

/** An error in the log. */
async function loggedError({ database }: Ledger): Promise<Partial<AnyCall>> {
  const requestId = randomUUIDv7();
  await database.read({
    name: 'log_an_error',
    text: `insert into error (request_id, created_at, code, status, type, message, causes)
      values ($1, uuid_extract_timestamp($1::uuid), 'route_not_found', 404, 'Request Error', 'x', '[]')`,
    values: [requestId],
  });
  return { params: { request_id: `req_${requestId.replaceAll('-', '')}` } };
}

/** How many rows there are of what actions make, and of the audit log. */
export async function countRows({ database }: Ledger): Promise<Readonly<Record<string, bigint>>> {
  const [row] = await database.read({
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
