import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { fromWireId } from '../../../domain/identifier.ts';
import { DEMO_PROGRAM_ID } from '../../../domain/sandbox.ts';
import { partsOf } from '../../../domain/support/case.ts';
import type { AnyCall } from '../../../server/calls/call.ts';
import { settleDue } from '../../../server/subjects/transfers/change-transfer.ts';
import type { Ledger } from '../../harness/ledger.ts';
import { useConnection, useLedger, useServer } from '../../harness/use-ledger.ts';
import { CALLER } from '../../security/audited-actions.ts';

const server = await useServer();
/** Two processes from PostgreSQL's point of view. */
const [ledger, other] = [useLedger(server.connection), useLedger(server.connection)];
const client = await useConnection(server.connection);
const holder = await useConnection(server.connection);

async function call(
  of: Ledger,
  id: Parameters<Ledger['call']>[0],
  members: object,
  more: Partial<AnyCall> = {},
): Promise<Record<string, string>> {
  const { body } = await of.call(id, members, { programId: DEMO_PROGRAM_ID, idempotencyKey: randomUUID(), ...more });
  return JSON.parse(body) as Record<string, string>;
}

const rowsOf = async (text: string, ...values: unknown[]) => (await client.query(text, values)).rows;

/**
 * Waits until this many connections are waiting for a lock, or one of the calls has ended. On a slow machine, a call
 * may time out first.
 */
async function untilWaiting(count: number, ...calls: readonly Promise<unknown>[]): Promise<void> {
  let ended = 0;
  for (const one of calls) {
    one.then(
      () => (ended += 1),
      () => (ended += 1),
    );
  }
  await expect
    .poll(async () => {
      const rows = await rowsOf(
        "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
      );
      return ended > 0 || rows.length >= count;
    })
    .toBe(true);
}

/** Creates a closed card and its transfer, with text about the card's holder. */
async function cardOf(text: string) {
  const { card_id = '' } = await call(ledger, 'create_card', { holder_reference: text });
  const made = await call(ledger, 'create_transfer', { amount: 5, card_id, description: text });
  await call(ledger, 'update_card', { status: 'closed', balance_to: 'funding' }, { params: { card_id } });
  return { card_id, transfer_id: made.transfer_id ?? '', request_id: made.request_id ?? '' };
}

const tracesOf = (text: string) =>
  rowsOf(
    `select case_id, 'case' as found from support_case where strpos(support_case::text, $1) > 0
      union all select case_id, 'message' from case_message where strpos(case_message::text, $1) > 0`,
    text,
  );

test('a case about a transfer that fails later is as urgent as the error of that failure', async () => {
  const { card_id = '' } = await call(ledger, 'create_card', {});
  const scheduled_for = new Date(Date.now() + 3_600_000).toISOString();
  const later = { type: 'unload', amount: 5, card_id, scheduled_for };
  const { transfer_id = '' } = await call(ledger, 'create_transfer', later);
  const inner = fromWireId('tr', transfer_id);
  await client.query("update transfer set scheduled_for = clock_timestamp() - interval '1 s' where transfer_id = $1", [
    inner,
  ]);
  await settleDue({ ...ledger.service, database: ledger.database });
  const made = await call(ledger, 'create_case', { transfer_id });
  expect(made).toMatchObject({ code: 'insufficient_funds', type: 'Request Error' });
  const [row] = await rowsOf('select urgency from support_case where transfer_id = $1', inner);
  expect(partsOf(Number(row?.urgency))).toEqual({ byError: 'request_error', severity: 'normal' });
});

/** Operators' requests write everything else before they wait for the head of the audit log. */
const AS_OPERATOR = { caller: CALLER };

test('two concurrent create_case calls for one request create one case, and both return it', async () => {
  const { request_id } = await cardOf('somebody');
  const open = (of: Ledger, more = {}) => call(of, 'create_case', { request_id }, more);
  // The first request has written its case when the second one begins.
  await holder.query('begin; select from audit_head for update');
  const first = open(ledger, AS_OPERATOR).catch(() => undefined);
  await untilWaiting(1, first);
  const second = open(other).catch(() => undefined);
  await untilWaiting(2, first, second);
  await holder.query('rollback');
  const made = [await first, await second, await open(ledger)].flatMap((one) => one?.case_id ?? []);
  expect(new Set(made).size).toBe(1);
  expect(await rowsOf('select from support_case where request_id = $1', fromWireId('req', request_id))).toHaveLength(1);
  expect(await rowsOf('select from event where subject_id = $1', made[0])).toHaveLength(1);
});

test.each([
  ['create_case', async (_: string) => ({})],
  ['reply_to_case', async (transfer_id: string) => ({ params: await call(ledger, 'create_case', { transfer_id }) })],
] as const)('an erasure erases the texts that %s wrote just before it', async (operation, prepare) => {
  const text = `word${randomUUID()}`;
  const { card_id, transfer_id } = await cardOf(text);
  const more = await prepare(transfer_id);
  const body = operation === 'create_case' ? { transfer_id, text, contact: text } : { text, external_author: text };
  await holder.query('begin; select from audit_head for update');
  const writing = call(ledger, operation, body, { ...AS_OPERATOR, ...more }).catch(() => undefined);
  await untilWaiting(1, writing);
  const erasing = call(other, 'erase_card_holder', {}, { params: { card_id } }).catch(() => undefined);
  await untilWaiting(2, writing, erasing);
  await holder.query('rollback');
  await Promise.all([writing, erasing]);
  // Repeats the request, because it may have waited too long.
  await call(other, 'erase_card_holder', {}, { params: { card_id } });
  expect(await tracesOf(text)).toEqual([]);
});

test('a case does not store texts that create_case read just before an erasure', async () => {
  const text = `word${randomUUID()}`;
  const { card_id, transfer_id } = await cardOf(text);
  await holder.query('begin; select from audit_head for update');
  const erasing = call(other, 'erase_card_holder', {}, { params: { card_id }, ...AS_OPERATOR }).catch(() => undefined);
  await untilWaiting(1, erasing);
  // The request has read the transfer with its text, which is not erased yet, and is waiting for the card.
  const opening = call(ledger, 'create_case', { transfer_id, text: 'What happened?' }).catch(() => undefined);
  await untilWaiting(2, erasing, opening);
  await holder.query('rollback');
  await Promise.all([erasing, opening]);
  await call(other, 'erase_card_holder', {}, { params: { card_id } });
  expect(await tracesOf(text)).toEqual([]);
  const { case_id = '' } = (await opening) ?? (await call(ledger, 'create_case', { transfer_id }));
  const [row] = await rowsOf(
    'select transfer_id, snapshot, summary from support_case where case_id = $1',
    fromWireId('case', case_id),
  );
  expect(row).toEqual({ transfer_id: fromWireId('tr', transfer_id), snapshot: null, summary: null });
});
