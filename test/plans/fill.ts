import type pg from 'pg';
import { DEMO_PROGRAM_ID as PROGRAM } from '../../domain/sandbox.ts';

/** The number of cards. The tables are so large that reading one in full is never the cheapest plan. */
export const CARDS = 20_000;
const TRANSFERS = 60_000;

/** Tables that grow with use. No statement may read one of them in full. */
export const GROWING: readonly string[] = [
  'transfer',
  'card',
  'account',
  'posting',
  'idempotency',
  'event',
  'write_batch',
  'hold',
  'reversal',
  'limit_counter',
  'transfer_metadata',
  'card_metadata',
  'funding_movement',
  'funding_movement_metadata',
  'processor_attempt',
  'api_key',
];

/**
 * Inserts cards, transfers and related rows in bulk. The planner has no statistics yet, as for a new table. The books
 * do not balance, because this suite checks only plans.
 */
export async function fill(client: pg.Client): Promise<void> {
  for (const table of GROWING.filter((name) => name !== 'event' && name !== 'write_batch')) {
    await client.query(`alter table ${table} set (autovacuum_enabled = off)`);
  }
  await fillCards(client);
  await fillTransfers(client);
  await fillAround(client);
}

/** Inserts the cards. Their ids ascend, as in the service. */
async function fillCards(client: pg.Client): Promise<void> {
  await client.query(
    `with made as (
       insert into account (program_id, account_id, kind, owner_id, currency, floor, created_at)
       select $1, gen_random_uuid(), 'card',
         (left(uuid_at(now() - ($2 - number) * interval '1 minute')::text, 14) || right(gen_random_uuid()::text, 22))::uuid,
         'USD', 0, now()
       from generate_series(1, $2) as number
       returning account_id, owner_id
     )
     insert into card (program_id, card_id, name, status, currency, account_id, funding_account_id, last_four,
       holder_reference, created_at, updated_at)
     select $1, owner_id, 'filled_' || owner_id, case when number % 100 = 0 then 'lost' else 'active' end, 'USD', account_id,
       (select account_id from account where program_id = $1 and kind = 'funding' and currency = 'USD'),
       lpad((number % 10000)::text, 4, '0'), 'holder ' || number % 5000, now(), now()
     from (select *, row_number() over () as number from made) as numbered`,
    [PROGRAM, CARDS],
  );
}

/**
 * Inserts the transfers. Their ids ascend, as in the service. Every status and type occurs, and some occur only among
 * old transfers.
 */
async function fillTransfers(client: pg.Client): Promise<void> {
  await client.query(
    `with numbered as (
       select card_id, row_number() over () as number from card, generate_series(1, $2) where name like 'filled\\_%'
     ), described as (
       select card_id, number,
         uuid_at(now() - (100000 - number) * interval '1 second') as earliest,
         case when number % 10 = 0 then 'unload' when number % 97 = 0 then 'card_to_card' else 'load' end as type,
         case when number > 5000 then 'completed'
           else (array['failed', 'canceled', 'expired', 'pending', 'scheduled'])[1 + number % 5] end as status
       from numbered
     )
     insert into transfer (program_id, transfer_id, type, card_id, destination_card_id, amount, captured_amount, currency,
       status, outcome, capture, expires_at, scheduled_for, reference, metadata, request_id, created_at, updated_at)
     select $1, (left(earliest::text, 14) || right(gen_random_uuid()::text, 22))::uuid, type, card_id,
       case when type = 'card_to_card' then (select card_id from card where program_id = $1 and name = 'card_active') end,
       1 + number % 500, 0, 'USD', status, 'final', 'automatic',
       case when status = 'pending' then now() + (number - 2500) * interval '1 second' end,
       case when status = 'scheduled' then now() + (number - 2500) * interval '1 second' end,
       'filled ' || number, '{}', gen_random_uuid(), now() - (100000 - number) * interval '1 second', now()
     from described`,
    [PROGRAM, TRANSFERS / CARDS],
  );
}

async function fillAround(client: pg.Client): Promise<void> {
  await client.query(
    `insert into idempotency (key_hash, program_id, operation, key, fingerprint, status, subject_id, created_at)
     select gen_random_uuid(), program_id, 'create_transfer', 'key ' || transfer_id, sha256(transfer_id::text::bytea), 201, transfer_id, now()
     from transfer`,
  );
  await client.query(
    `insert into posting (program_id, cause_id, index, purpose, source_account_id, destination_account_id, amount,
       currency, source_balance, destination_balance, source_sequence, destination_sequence, created_at)
     select program_id, transfer_id, 1, 'load', '00000000-0000-7000-8000-000000000001', account_id, amount, 'USD', 0, 0,
       1000 + row_number() over (), 1000 + row_number() over (partition by account_id), transfer.created_at
     from transfer join card using (program_id, card_id)`,
  );
  await client.query(
    `insert into reversal (program_id, reversal_id, transfer_id, amount, currency, request_id, created_at)
     select program_id, gen_random_uuid(), transfer_id, 1, 'USD', gen_random_uuid(), now() from transfer limit 20000`,
  );
  await client.query(
    `insert into transfer_metadata (program_id, name, value, transfer_id)
     select program_id, 'shop', (row_number() over () % 100)::text, transfer_id from transfer`,
  );
  await client.query(
    `insert into api_key (key_id, public_part, secret_hash, name, scopes, created_at)
     select gen_random_uuid(), lpad(to_hex(number), 16, '0'), sha256(number::text::bytea), 'x', '{transfers:read}', now()
     from generate_series(1, 5000) as number`,
  );
  await client.query(
    `insert into card_metadata (program_id, name, value, card_id)
     select program_id, 'shop', (row_number() over () % 1000)::text, card_id from card`,
  );
  await client.query(
    `with made as (
       insert into funding_movement (program_id, movement_id, kind, amount, currency, reference, actor, created_at)
       select $1, uuid_at(now() - (20000 - number) * interval '1 minute'), 'deposit', 1, 'USD', 'bank ' || number, 'x', now()
       from generate_series(1, 20000) as number returning movement_id
     )
     insert into funding_movement_metadata (program_id, name, value, movement_id)
     select $1, 'shop', (row_number() over () % 1000)::text, movement_id from made`,
    [PROGRAM],
  );
  await client.query(
    `insert into hold (program_id, transfer_id, source_account_id, destination_account_id, amount, expires_at, day_start)
     select program_id, transfer_id, gen_random_uuid(), gen_random_uuid(), 1, now() + random() * interval '7 days', now()
     from transfer limit 20000`,
  );
  // Nearly all attempts are approved. A few ended differently, and even fewer are open.
  await client.query(
    `insert into processor_attempt (program_id, attempt_id, transfer_id, card_id, connector_id, kind, amount, currency, status,
       tries, looks, misses, created_at, updated_at)
     select program_id, transfer_id, transfer_id, card_id, 'bank', 'push', 1, 'USD',
       case number % 500 when 0 then 'unknown' when 1 then 'declined' else 'approved' end, 1, 0, 0, created_at, created_at
     from (select *, row_number() over () as number from transfer) as numbered`,
  );
  await client.query(
    `insert into limit_counter (program_id, account_id, direction, day_start, amount, count)
     select program_id, account_id, 'in', date_trunc('day', now()) - day * interval '1 day', 1, 1
     from account, generate_series(0, 1) as day`,
  );
}
