import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { migrate } from '../../server/store/migrations/migrate.ts';
import { useConnection, useLedger, useServer } from '../harness/use-ledger.ts';
import { BEFORE_EVENTS } from './before-events.ts';

// Migrations 0012 to 0015 on a ledger with rows of the version before.

const server = await useServer();
const ledger = useLedger(server.connection);
const client = await useConnection(server.connection);

/** The tables as they were before, with each body in the row of its key. */
const BEFORE = `${BEFORE_EVENTS}
  update idempotency set body = payload, batch_id = null, event_index = null
    from event where event.batch_id = idempotency.batch_id and event.index = event_index;
  drop function event_payload;
  drop function idempotency_key_hash;
  revoke select on event from transfer_service_application;
  alter table idempotency drop column batch_id, drop column event_index, drop column key_hash,
    add primary key (program_id, operation, key);
  alter table posting drop constraint posting_source, add primary key (program_id, cause_id, index);
  drop index posting_destination, posting_movement, event_batch;
  create unique index posting_source on posting (program_id, source_account_id, source_sequence);
  create unique index posting_destination on posting (program_id, destination_account_id, destination_sequence);
  alter table event add primary key (batch_id, index, created_at), add column event_id uuid;
  create index hold_source on hold (program_id, source_account_id);
  create index hold_destination on hold (program_id, destination_account_id);
  alter table write_batch add unique (position);
  delete from schema_migration where name ~ '^001[234]_'`;

const ACTIVE = { params: { card_id: 'card_active' } };

test('every key of the version before is replayed, byte for byte, and moves no money', async () => {
  const keys = ['plain', 'quote " and \\ and \\x41', ...Array.from({ length: 5 }, () => randomUUID())];
  const send = (idempotencyKey: string) =>
    ledger.call('create_transfer', { amount: 5, card_id: 'card_active' }, { idempotencyKey });
  const refuse = () =>
    ledger
      .call('create_transfer', { amount: 5, card_id: 'card_closed' }, { idempotencyKey: 'x' })
      .catch((error) => error);
  const balance = async () => JSON.parse((await ledger.call('get_card', {}, ACTIVE)).body).balance as number;
  const first = await Promise.all(keys.map(send));
  const refused = await refuse();
  const before = await balance();

  await client.query(BEFORE);
  expect(await migrate(server.connection)).toEqual([
    '0012_responses_stored_once.sql',
    '0013_narrow_indexes.sql',
    '0014_no_event_id.sql',
    '0015_events.sql',
  ]);

  for (const [index, key] of keys.entries()) {
    const again = await send(key);
    expect([again.replayed, again.body]).toEqual([true, first[index]?.body]);
  }
  expect(await refuse()).toMatchObject({ code: 'card_closed', message: refused.message, details: { replayed: true } });
  expect(await balance()).toBe(before);
  const later = await send('later');
  expect([later.replayed, (await send('later')).body]).toEqual([undefined, later.body]);
  const { rows } = await client.query(
    'select bool_and(key_hash = idempotency_key_hash(program_id, operation, key)) as agree, count(*)::int from idempotency',
  );
  expect(rows).toEqual([{ agree: true, count: keys.length + 2 }]);
});
