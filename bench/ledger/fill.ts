import type pg from 'pg';
import { fromWireId } from '../../domain/identifier.ts';
import { openDatabases } from '../../server/store/connection/databases.ts';
import { preparePartitions } from '../../server/store/partition.ts';
import { AMOUNT } from '../load/traffic.ts';
import type { Stage } from '../stage.ts';
import type { Ledger } from './ledger.ts';
import { HOT_CARDS } from './seed.ts';
import { databaseUrl } from './server.ts';

/** Transfers or cards per transaction. */
const CHUNK = 250_000;

/** The number of transfers in a group, as a busy service commits them. */
const GROUP = 50;

/** The stored transfers are spread evenly over this many past days. */
const DAYS = 28;

const CARDS = `
  create temporary table made on commit drop as
    select 'bench-' || lpad(number::text, 7, '0') as name, uuidv7(interval '-30 days') as card_id,
      uuidv7(interval '-30 days') as account_id, now() - interval '30 days' as moment
    from generate_series(%first, %last) as number;
  insert into account (program_id, account_id, kind, owner_id, currency, floor, created_at)
    select '%program', account_id, 'card', card_id, 'USD', 0, moment from made;
  insert into card (program_id, card_id, name, status, currency, account_id, funding_account_id, limits, created_at,
      updated_at)
    select '%program', made.card_id, made.name, 'active', 'USD', made.account_id, one.funding_account_id, one.limits,
      moment, moment
    from made, (select * from card where program_id = '%program' and name = 'bench-0000001') as one;`;

/** Tables of the fill. Several connections read them at the same time. */
const PREPARE = `
  create schema if not exists bench_fill;
  drop table if exists bench_fill.batch, bench_fill.fresh;
  create unlogged table bench_fill.batch as
    select number, uuidv7() as batch_id from generate_series(0, (%last - %first) / ${GROUP}) as number;
  create unlogged table bench_fill.fresh (place bigint, ordinal bigint, card_id uuid, name text, account_id uuid,
    funding_account_id uuid, moment timestamptz, turn bigint, batch_id uuid, transfer_id uuid, request_id uuid, key text,
    body text);
  insert into write_batch (batch_id, created_at, relayed) select batch_id, now(), true from bench_fill.batch;`;

/**
 * Each transfer with its place, its group, its card, and its turn among the card's transfers in the chunk. `from` and
 * `to` delimit a part of the chunk.
 */
const TRANSFERS = `
  insert into bench_fill.fresh
    select place, ordinal, card_id, name, account_id, funding_account_id, moment, turn, batch_id, transfer_id, request_id,
      key, format('[1,"load",${AMOUNT},"USD","%s","req_%s","%s",null,%s]', name,
        replace(request_id::text, '-', ''), key, (extract(epoch from moment) * 1000)::bigint)
    from (
      select placed.*, batch_id, uuidv7(moment - clock_timestamp()) as transfer_id,
        uuidv7(moment - clock_timestamp()) as request_id, replace(gen_random_uuid()::text, '-', '') as key
      from (
        select place, place - %first + 1 as ordinal, (place - %first) / %cards + 1 as turn, card.card_id, card.name,
          card.account_id, card.funding_account_id,
          date_trunc('milliseconds', now() - interval '${DAYS} days' * (1 - place::float8 / %total)) as moment
        from generate_series(%from, %to) as place
        join card on card.program_id = '%program' and card.name = 'bench-' || lpad((place % %cards + 1)::text, 7, '0')
      ) as placed
      join bench_fill.batch on batch.number = (placed.ordinal - 1) / ${GROUP}
    ) as named
    order by place;`;

/** The rows that the service writes for each transfer, and the resulting balances, by table. All are written at the same time. */
const ROWS = [
  `insert into posting (program_id, cause_id, index, purpose, source_account_id, destination_account_id, amount, currency,
      source_balance, destination_balance, source_sequence, destination_sequence, created_at)
    select '%program', transfer_id, 0, 'load', funding.account_id, fresh.account_id, ${AMOUNT}, 'USD',
      funding.balance - ${AMOUNT} * ordinal, account.balance + ${AMOUNT} * turn, funding.sequence + ordinal,
      account.sequence + turn, moment
    from bench_fill.fresh
    join account on account.program_id = '%program' and account.account_id = fresh.account_id
    join account as funding on funding.program_id = '%program' and funding.kind = 'funding'
    order by place;
  update account set balance = balance + ${AMOUNT} * moved.count, sequence = sequence + moved.count
    from (select account_id, count(*) as count from bench_fill.fresh group by account_id) as moved
    where account.program_id = '%program' and account.account_id = moved.account_id;
  update account set balance = balance - ${AMOUNT} * (select count(*) from bench_fill.fresh),
      sequence = sequence + (select count(*) from bench_fill.fresh)
    where program_id = '%program' and kind = 'funding';`,
  `insert into transfer (program_id, transfer_id, type, card_id, amount, captured_amount, currency, status, outcome,
      capture, metadata, request_id, idempotency_key, created_at, updated_at, completed_at)
    select '%program', transfer_id, 'load', card_id, ${AMOUNT}, ${AMOUNT}, 'USD', 'completed', 'final', 'automatic', '{}',
      request_id, key, moment, moment, moment
    from bench_fill.fresh order by place;`,
  `insert into idempotency (key_hash, program_id, operation, fingerprint, status, subject_id, batch_id, event_index,
      created_at)
    select idempotency_key_hash('%program', 'create_transfer', key), '%program', 'create_transfer', sha256(convert_to(
        E'1\\ncreate_transfer\\n[]\\n{"amount":${AMOUNT},"card_id":"' || name || '"}', 'UTF8')), 201, transfer_id,
      batch_id, (ordinal - 1) % ${GROUP}, moment
    from bench_fill.fresh order by place;`,
  `insert into event (batch_id, index, program_id, type, subject_id, payload, created_at)
    select batch_id, (ordinal - 1) % ${GROUP}, '%program', 'transfer.completed',
      'tr_' || replace(transfer_id::text, '-', ''), body, moment
    from bench_fill.fresh order by place;`,
  `insert into limit_counter (program_id, account_id, direction, day_start, amount, count)
    select '%program', counted.account_id, 'in', date_trunc('day', moment), ${AMOUNT} * count(*), count(*)
    from bench_fill.fresh
    cross join lateral (values (fresh.account_id), (fresh.funding_account_id)) as counted (account_id)
    group by counted.account_id, date_trunc('day', moment)
    on conflict (program_id, account_id, direction, day_start) do update
      set amount = limit_counter.amount + excluded.amount, count = limit_counter.count + excluded.count;`,
] as const;

/**
 * Fills ledgers with cards and transfers by set-based SQL. The rows, including the stored responses, are the same as if
 * the service had served these requests. So old keys can be replayed, and the books balance.
 */
export class Fill {
  readonly #stage: Stage;
  readonly #ledger: Ledger;
  readonly #program: string;
  #filled = 0;

  constructor(stage: Stage, ledger: Ledger) {
    this.#stage = stage;
    this.#ledger = ledger;
    this.#program = fromWireId('prog', stage.seed.hot.programId) ?? '';
  }

  /** Makes all cards, and the partitions for the events of the last weeks, as a real service has them. */
  async addCards(): Promise<void> {
    const { server, options } = this.#stage;
    const databases = openDatabases({ connectionString: databaseUrl(server, this.#ledger.database) });
    for (let days = DAYS; days > 0; days -= 7) {
      await preparePartitions(databases.background, new Date(Date.now() - days * 86_400_000));
    }
    await databases.close();
    const { cards } = options.stored;
    const firsts = Array.from({ length: Math.ceil(cards / CHUNK) }, (_, index) => HOT_CARDS + 1 + index * CHUNK);
    await this.#runAll(
      firsts
        .filter((first) => first <= cards)
        .map((first) => this.#insert(CARDS, { first, last: Math.min(cards, first + CHUNK - 1) })),
    );
    // Without statistics, the first transfers would find their cards by reading all of them.
    await server.query(this.#ledger.database, 'vacuum analyze');
  }

  /** Adds transfers up to a number, then vacuums, as autovacuum would have done. */
  async fillUpTo(transfers: number): Promise<void> {
    const { server, options } = this.#stage;
    const { cards, transfers: total } = options.stored;
    while (this.#filled < transfers) {
      const first = this.#filled;
      const last = Math.min(transfers, first + CHUNK) - 1;
      const values = { first, last, cards, total };
      await this.#runAll([this.#insert(PREPARE, values)]);
      await this.#runAll(partsOf(first, last).map((part) => this.#insert(TRANSFERS, { ...values, ...part })));
      await this.#runAll(ROWS.map((text) => this.#insert(text, values)));
      this.#filled = last + 1;
      this.#ledger.acknowledged += last - first + 1;
    }
    await server.query(this.#ledger.database, 'drop schema bench_fill cascade');
    await server.query(this.#ledger.database, 'vacuum analyze');
    await server.query(this.#ledger.database, 'checkpoint');
  }

  /** Runs several texts at the same time, each as one transaction on its own connection. */
  async #runAll(texts: readonly string[]): Promise<void> {
    await Promise.all(
      texts.map(async (text) => {
        const client: pg.Client = await this.#stage.server.connect(this.#ledger.database);
        try {
          await client.query("set synchronous_commit = off; set work_mem = '256MB'; set timezone = 'UTC'");
          await client.query(`begin; ${text} commit`);
        } finally {
          await client.end();
        }
      }),
    );
  }

  /** Builds a statement without parameters, because several are sent as one. All values are numbers or an id of ours. */
  #insert(text: string, values: Record<string, number>): string {
    const all: Record<string, string | number> = { ...values, program: this.#program };
    return text.replaceAll(/%([a-z]{2,})\b/g, (found, name: string) => String(all[name] ?? found));
  }
}

/** The number of connections that prepare the transfers of a chunk. */
const PARTS = 4;

/** The places of a chunk, divided evenly. */
function partsOf(first: number, last: number): readonly { readonly from: number; readonly to: number }[] {
  const size = Math.ceil((last - first + 1) / PARTS);
  return Array.from({ length: PARTS }, (_, index) => ({
    from: first + index * size,
    to: Math.min(last, first + (index + 1) * size - 1),
  }));
}
