import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { expect, test } from 'vitest';
import type { TransferRecord } from '../../contract/transfers.ts';
import { DEMO_PROGRAM_ID as PROGRAM } from '../../domain/sandbox.ts';
import { insertErrors, type LoggedError } from '../../server/store/error.ts';
import { migrate } from '../../server/store/migrations/migrate.ts';
import { currentCode, currentDropReason } from '../../server/store/renamed-codes.ts';
import { settleDue } from '../../server/subjects/transfers/settle-due.ts';
import { useConnection, useLedger, useServer } from '../harness/use-ledger.ts';

// Migration 0010 gives error codes that an earlier version stored their present names.

const OLD_CODES = {
  card_dne: 'card_not_found',
  transfer_dne: 'transfer_not_found',
  reversal_dne: 'reversal_not_found',
  program_dne: 'program_not_found',
  key_dne: 'key_not_found',
  error_dne: 'error_not_found',
  route_dne: 'route_not_found',
  auth_err: 'unauthenticated',
  preactive_card: 'card_not_activated',
  inactive_card: 'card_suspended',
  lost_card: 'card_lost',
  closed_card: 'card_closed',
  expired_card: 'card_expired',
  card_fraud: 'card_suspected_fraud',
  small_amount: 'amount_too_small',
  large_amount: 'amount_too_large',
};

const server = await useServer();
const ledger = useLedger(server.connection);
const client = await useConnection(server.connection);

/** Applies migration 0010 to what is stored now: it changes rows only, so the schema before it is the same. */
async function migrateFrom0009(): Promise<void> {
  await client.query("delete from schema_migration where name like '0010%'");
  expect(await migrate(server.connection)).toEqual(['0010_renamed_codes.sql']);
}

/** Stores a code as the earlier version did. Gives how many rows that changed. */
async function storeOld(table: 'idempotency' | 'error' | 'error_count', from: string, old: string): Promise<void> {
  const { rowCount } = await client.query(`update ${table} set code = $2 where code = $1`, [from, old]);
  expect(rowCount).toBe(1);
}

test('a refusal under a key is replayed with the new code, and the same status and message', async () => {
  const key = { idempotencyKey: randomUUID() };
  const send = () => ledger.call('create_transfer', { amount: 5, card_id: 'card_closed' }, key).catch((error) => error);
  const first = await send();
  expect(first.code).toBe('card_closed');
  await storeOld('idempotency', 'card_closed', 'closed_card');
  const unrelated = { idempotencyKey: randomUUID() };
  await ledger.call('create_transfer', { amount: 5, card_id: 'card_empty', type: 'unload' }, unrelated).catch(() => 0);
  const others = "select xmin, * from idempotency where code is distinct from 'card_closed' order by key";
  const untouched = (await client.query(others.replace('card_closed', 'closed_card'))).rows;

  // A process of the earlier version may still write old codes; they are read as the new ones.
  expect(await send()).toMatchObject({ code: 'card_closed', message: first.message });

  await migrateFrom0009();
  const again = await send();
  expect(again).toMatchObject({ code: 'card_closed', message: first.message, details: { replayed: true } });
  expect((await client.query("select status, code from idempotency where code = 'card_closed'")).rows).toEqual([
    { status: 409, code: 'card_closed' },
  ]);
  expect((await client.query(others)).rows).toEqual(untouched);
});

test('a failed transfer has the new code, and so have its events', async () => {
  const scheduled_for = new Date(Date.now() + 3_600_000).toISOString();
  // What a caller wrote stays, also where it looks like an error.
  const description = '"error":{"Code":"lost_card"}';
  const metadata = { Code: 'lost_card', error: '{"Code":"lost_card"}' };
  const request = { amount: 5, card_id: 'card_active', scheduled_for, description, metadata };
  const { transfer_id } = JSON.parse((await ledger.call('create_transfer', request)).body) as TransferRecord;
  await client.query(
    `update transfer set scheduled_for = now() - interval '1 minute' where status = 'scheduled';
     update card set status = 'lost' where name = 'card_active'`,
  );
  expect(await settleDue(ledger.service)).toMatchObject({ settled: 1 });
  const named = { params: { transfer_id } };
  await ledger.call('update_transfer', { metadata: { ...metadata, order: 'o-1' } }, named);
  await client.query("update card set status = 'active' where name = 'card_active'");

  const transfer = async () => JSON.parse((await ledger.call('get_transfer', {}, named)).body) as TransferRecord;
  const events = async () =>
    (
      await client.query<{ type: string; payload: string }>(
        'select type, payload from event where subject_id = $1 order by created_at',
        [transfer_id],
      )
    ).rows;
  const [before, payloads] = [await transfer(), await events()];
  expect(before.error?.Code).toBe('card_lost');
  expect(payloads.map(({ type }) => type)).toEqual(['transfer.scheduled', 'transfer.failed', 'transfer.updated']);
  await client.query(
    `update transfer set error = jsonb_set(error, '{Code}', '"lost_card"') where error is not null;
     update event set payload = replace(payload, '"Code":"card_lost"', '"Code":"lost_card"')`,
  );
  const storedCodes = async () =>
    (await client.query("select error ->> 'Code' as code from transfer where error is not null")).rows;
  expect(await storedCodes()).toEqual([{ code: 'lost_card' }]);
  // A process of the earlier version may still write old codes; they are read as the new ones.
  expect(await transfer()).toEqual(before);

  await migrateFrom0009();
  expect(await storedCodes()).toEqual([{ code: 'card_lost' }]);
  expect(await transfer()).toEqual(before);
  expect(await events()).toEqual(payloads);
});

const logged = (code: string): LoggedError => ({
  requestId: randomUUIDv7(),
  programId: PROGRAM,
  caller: 'sandbox',
  keyId: null,
  operation: 'create_transfer',
  code,
  status: 409,
  type: 'Request Error',
  message: `The error ${code}.`,
  method: 'POST',
  path: '/',
  field: null,
  idempotencyKey: null,
  cardName: null,
  transferId: null,
  moneyMoved: 'no',
  request: null,
  traceparent: null,
  checks: null,
  causes: [],
});

test('old rows of the error log are listed by the new code, in every partition, and counts are added up', async () => {
  const codes = [...Object.keys(OLD_CODES), 'lost_card', 'card_lost', 'insufficient_funds'];
  await ledger.database.read(insertErrors(codes.map(logged)));
  // One of another month is in the default partition.
  const early = { ...logged('lost_card'), requestId: '01890000-0000-7000-8000-000000000001' };
  await ledger.database.read(insertErrors([early]));
  const counts = async () =>
    (
      await client.query(
        `select code, sum(count)::int as count from error_count
         where hour > now() - interval '2 hours' group by code order by code`,
      )
    ).rows;
  expect(await counts()).toContainEqual({ code: 'lost_card', count: 2 });

  await migrateFrom0009();
  const { body } = await ledger.call('list_errors', { code: 'card_lost' });
  const found = (JSON.parse(body) as { data: { error: { Message: string } }[] }).data;
  expect(found.map(({ error }) => error)).toHaveLength(4);
  const stored = await client.query<{ code: string; message: string }>('select code, message from error');
  expect(stored.rows.map(({ code, message }) => [message, code]).sort()).toEqual(
    [...codes, 'lost_card']
      .map((code) => [`The error ${code}.`, (OLD_CODES as Record<string, string>)[code] ?? code])
      .sort(),
  );
  const expected = [...Object.values(OLD_CODES), 'insufficient_funds'].map((code) => ({
    code,
    count: code === 'card_lost' ? 3 : 1,
  }));
  expect(await counts()).toEqual(expected.sort((one, other) => (one.code < other.code ? -1 : 1)));
  expect(
    (await client.query("select count::int from error_count where code = 'card_lost' order by hour")).rows,
  ).toEqual([{ count: 1 }, { count: 3 }]);
});

test('what an older version writes later is renamed as the migration renames it', () => {
  for (const [old, present] of Object.entries(OLD_CODES)) {
    expect(currentCode(old)).toBe(present);
    expect(currentCode(present)).toBe(present);
  }
});

test('counts of unauthenticated errors that were not recorded have the new reason', async () => {
  await client.query(
    `alter table error_drop drop constraint error_drop_reason_check;
     insert into error_drop (drop_id, reason, count, since, until)
       values (gen_random_uuid(), 'strangers', 3, now(), now()), (gen_random_uuid(), 'queue_full', 2, now(), now());
     alter table error_drop add constraint error_drop_reason_check check (reason in ('queue_full', 'strangers'))`,
  );
  await migrateFrom0009();
  const { rows } = await client.query('select reason, count::int as count from error_drop order by reason');
  expect(rows).toEqual([
    { reason: 'queue_full', count: 2 },
    { reason: 'unauthenticated', count: 3 },
  ]);
  expect(currentDropReason('strangers')).toBe('unauthenticated');
});
