import type pg from 'pg';
import { fromWireId } from '../../domain/identifier.ts';
import { openDatabases } from '../../server/store/connection/databases.ts';
import { preparePartitions } from '../../server/store/partition.ts';
import { AMOUNT } from '../load/traffic.ts';
import type { Stage } from '../stage.ts';
import type { Ledger } from './ledger.ts';
import { HOT_CARDS } from './seed.ts';
import { databaseUrl } from './server.ts';

/** Rows of one transaction of the fill. */
const CHUNK = 250_000;

/** Transfers of one group, as a busy service commits them. */
const GROUP = 50;

/** The stored transfers lie this many days back, evenly. */
const DAYS = 28;

const CARDS = `
  create temporary table made on commit drop as
    select 'bench-' || lpad(number::text, 7, '0') as name, uuidv7(interval '-30 days') as card_id,
      uuidv7(interval '-30 days') as account_id, now() - interval '30 days' as moment
    from generate_series(%first, %last) as number;
  insert into account (program_id, account_id, kind, owner_id, currency, floor, created_at)
    select '%program', account_id, 'card', card_id, 'USD', 0, moment from made;
  insert into card (program_id, card_id, name, status, currency, account_id, funding_account_id, created_at, updated_at)
    select '%program', card_id, name, 'active', 'USD', account_id,
      (select account_id from account where program_id = '%program' and kind = 'funding'), moment, moment
    from made;`;

/** Each transfer with its place, its card, and how many of the same card are before it in the chunk. */
const TRANSFERS = `
  create temporary table batch on commit drop as
    select number, uuidv7() as batch_id from generate_series(0, (%last - %first) / ${GROUP}) as number;
  create temporary table fresh on commit drop as
    select named.*, format(
      '{"transfer_id":"tr_%s","program_id":"prog_%s","card_id":"%s","destination_card_id":null,"type":"load",'
      '"amount":${AMOUNT},"captured_amount":${AMOUNT},"reversed_amount":0,"currency":"USD","status":"completed",'
      '"outcome":"final","capture":"automatic","expires_at":null,"scheduled_for":null,"description":null,'
      '"reference":null,"metadata":{},"error":null,"created_at":"%s","updated_at":"%s","completed_at":"%s"}',
      replace(transfer_id::text, '-', ''), replace('%program', '-', ''), name, iso, iso, iso) as body
    from (
      select placed.*, row_number() over (partition by account_id order by place) as turn, batch_id,
        uuidv7(moment - clock_timestamp()) as transfer_id, uuidv7(moment - clock_timestamp()) as request_id,
        replace(gen_random_uuid()::text, '-', '') as key,
        to_char(moment at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as iso
      from (
        select place, place - %first + 1 as ordinal, card.card_id, card.name, card.account_id,
          date_trunc('milliseconds', now() - interval '${DAYS} days' * (1 - place::float8 / %total)) as moment
        from generate_series(%first, %last) as place
        join card on card.program_id = '%program' and card.name = 'bench-' || lpad((place % %cards + 1)::text, 7, '0')
      ) as placed
      join batch on batch.number = (placed.ordinal - 1) / ${GROUP}
    ) as named;`;

/** What the service writes for each of them, and the balances that follow from it. */
const ROWS = `
  insert into write_batch (batch_id, created_at) select batch_id, now() from batch;
  insert into transfer (program_id, transfer_id, type, card_id, amount, captured_amount, currency, status, outcome,
      capture, metadata, request_id, created_at, updated_at, completed_at)
    select '%program', transfer_id, 'load', card_id, ${AMOUNT}, ${AMOUNT}, 'USD', 'completed', 'final', 'automatic', '{}',
      request_id, moment, moment, moment
    from fresh order by place;
  insert into posting (program_id, cause_id, index, purpose, source_account_id, destination_account_id, amount, currency,
      source_balance, destination_balance, source_sequence, destination_sequence, created_at)
    select '%program', transfer_id, 0, 'load', funding.account_id, fresh.account_id, ${AMOUNT}, 'USD',
      funding.balance - ${AMOUNT} * ordinal, account.balance + ${AMOUNT} * turn, funding.sequence + ordinal,
      account.sequence + turn, moment
    from fresh
    join account on account.program_id = '%program' and account.account_id = fresh.account_id
    join account as funding on funding.program_id = '%program' and funding.kind = 'funding'
    order by place;
  insert into idempotency (program_id, operation, key, fingerprint, status, subject_id, body, created_at)
    select '%program', 'create_transfer', key, sha256(convert_to(
        E'1\\ncreate_transfer\\n[]\\n{"amount":${AMOUNT},"card_id":"' || name || '"}', 'UTF8')), 201, transfer_id, body, moment
    from fresh order by place;
  insert into event (batch_id, index, program_id, event_id, type, subject_id, payload, created_at)
    select batch_id, (ordinal - 1) % ${GROUP}, '%program', uuidv7(moment - clock_timestamp()), 'transfer.completed',
      'tr_' || replace(transfer_id::text, '-', ''), body, moment
    from fresh order by place;
  update account set balance = balance + ${AMOUNT} * moved.count, sequence = sequence + moved.count
    from (select account_id, count(*) as count from fresh group by account_id) as moved
    where account.program_id = '%program' and account.account_id = moved.account_id;
  update account set balance = balance - ${AMOUNT} * (select count(*) from fresh),
      sequence = sequence + (select count(*) from fresh)
    where program_id = '%program' and kind = 'funding';`;

/**
 * Fills ledgers with cards and transfers by set-based SQL, to the same rows that the service would have written for the
 * same requests, answers under their keys included: old keys can be replayed, and the books balance.
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

  /** Makes all cards, and the partition for the events of the last weeks, which a real service would have had. */
  async addCards(): Promise<void> {
    const { server, options } = this.#stage;
    const databases = openDatabases({ connectionString: databaseUrl(server, this.#ledger.database) });
    await preparePartitions(databases.background, new Date(Date.now() - DAYS * 86_400_000));
    await databases.close();
    const { cards } = options.stored;
    await this.#work(async (run) => {
      for (let first = HOT_CARDS + 1; first <= cards; first += CHUNK) {
        await run(CARDS, { first, last: Math.min(cards, first + CHUNK - 1) });
      }
    });
  }

  /** Goes on until so many transfers were filled in, then vacuums, as autovacuum would have done long ago. */
  async fillUpTo(transfers: number): Promise<void> {
    const { server, options } = this.#stage;
    const { cards, transfers: total } = options.stored;
    await this.#work(async (run) => {
      while (this.#filled < transfers) {
        const first = this.#filled;
        const last = Math.min(transfers, first + CHUNK) - 1;
        await run(TRANSFERS + ROWS, { first, last, cards, total });
        this.#filled = last + 1;
        this.#ledger.acknowledged += last - first + 1;
      }
    });
    await server.query(this.#ledger.database, 'vacuum analyze');
    await server.query(this.#ledger.database, 'checkpoint');
  }

  async #work(task: (run: (text: string, values: Record<string, number>) => Promise<void>) => Promise<void>) {
    const client: pg.Client = await this.#stage.server.connect(this.#ledger.database);
    try {
      await client.query("set synchronous_commit = off; set work_mem = '256MB'; set timezone = 'UTC'");
      await task(async (text, values) => {
        await client.query(`begin; ${this.#insert(text, values)} commit`);
      });
    } finally {
      await client.end();
    }
  }

  /** Statements without parameters, since several of them go as one; all values are numbers or an id of ours. */
  #insert(text: string, values: Record<string, number>): string {
    const all: Record<string, string | number> = { ...values, program: this.#program };
    return text.replaceAll(/%([a-z]{2,})\b/g, (found, name: string) => String(all[name] ?? found));
  }
}
