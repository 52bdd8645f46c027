import type pg from 'pg';
import { toWireId } from '../../domain/identifier.ts';
import type { AccountKind } from '../../domain/ledger/ledger.ts';
import { payloadOf } from '../../test/fixtures/stored-events.ts';
import { KEY_TEXT } from '../../test/harness/ledger.ts';
import type { FoundEvent } from './books.ts';

/** An account after a transaction. */
export type CommittedAccount = {
  readonly accountId: string;
  readonly balance: bigint;
  readonly held: bigint;
  readonly incoming: bigint;
  readonly sequence: bigint;
};

/** A committed transaction: its events in the order of its decisions, and the accounts that it changed. */
export type Transaction = {
  readonly position: number;
  readonly events: readonly FoundEvent[];
  readonly accounts: readonly CommittedAccount[];
};

/**
 * The status of the first response to a key, and the position of the transaction that stored it. `now` is the time of
 * that transaction, in milliseconds since 1970.
 */
export type StoredKey = { readonly position: number; readonly status: number; readonly now: number };

/** The owner of an account, which never changes. */
export type AccountOwner = {
  /** The wire id of the program. */
  readonly programId: string;
  readonly kind: AccountKind;
  readonly currency: string;
  /** The name of the account's card, or null if the account belongs to no card. */
  readonly card: string | null;
};

/** Everything committed to a ledger, in the order of its commits. */
export type Commits = {
  readonly transactions: readonly Transaction[];
  /** The stored keys, by operation and key. */
  readonly keys: ReadonlyMap<string, StoredKey>;
  /** The owners of accounts, by the account's id. */
  readonly owners: ReadonlyMap<string, AccountOwner>;
  /** The number of transactions that `countChained` counts. */
  readonly chained: number;
};

/**
 * Records the order of transactions. Every update of an account, and the fence that each transaction inserts,
 * takes a number. Two transactions exclude each other if they need the same account, or if either changes the switch
 * or the rules of a program: the first takes its numbers under its locks before the second does. So the highest number of a
 * transaction is its position in an equivalent serial order. A chained group inserts its fence early, but it updates each
 * account that it has read after its predecessor does.
 */
const INSTALL = `
  create unlogged table commit_log (position bigserial, xid bigint not null, account jsonb, snapshot pg_snapshot);
  create function commit_log() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
  begin
    insert into commit_log (xid, account, snapshot) values (
      pg_current_xact_id()::text::bigint,
      case when tg_table_name = 'account' then to_jsonb(new) end,
      case when tg_table_name <> 'account' then pg_current_snapshot() end
    );
    return null;
  end $$;
  create trigger commit_log after update on account for each row execute function commit_log();
  create trigger commit_log after insert on write_batch for each row execute function commit_log();
`;

/** Starts recording. Call it before the first change that `readCommits` should return. */
export async function recordCommits(client: pg.Client): Promise<void> {
  await client.query(INSTALL);
}

/** Counts the transactions decided on accounts that their predecessors had not written yet. */
export async function countChained(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ chained: string }>(CHAINED);
  return Number(rows[0]?.chained);
}

type AccountRow = {
  readonly account_id: string;
  readonly balance: number;
  readonly held: number;
  readonly incoming: number;
  readonly sequence: number;
};

const POSITIONS = 'select xid, max(position) as position from commit_log group by xid';

/**
 * A transaction that locks its accounts before it decides inserts its fence after their last writer has committed. A
 * chained group may insert its fence earlier.
 */
const CHAINED = `select count(distinct written.xid) as chained from (
    select xid, lag(xid) over (partition by account->>'account_id' order by position) as writer
    from commit_log where account is not null
  ) as written
  join commit_log as fence on fence.xid = written.xid and fence.account is null
  where writer <> written.xid and not pg_visible_in_snapshot(writer::text::xid8, fence.snapshot)`;

const EVENTS = `select event.xmin::text as xid, type, subject_id, payload, program_id from event
  where created_at >= $1 order by batch_id, index`;

const KEYS = `select operation || ' ' || ${KEY_TEXT} as name, xmin::text as xid, status,
    (extract(epoch from created_at) * 1000)::bigint as now
  from idempotency where created_at >= $1`;

const ACCOUNTS = 'select xid, account from commit_log where account is not null order by position';

const OWNERS = `select account.account_id, account.program_id, kind, account.currency, card.name as card
  from account left join card using (program_id, account_id)`;

/** Reads the records since a moment, in one snapshot. */
export async function readCommits(client: pg.Client, since: Date): Promise<Commits> {
  await client.query('begin isolation level repeatable read, read only');
  const positions = await client.query<{ xid: string; position: string }>(POSITIONS);
  const events = await client.query<Record<'xid' | 'type' | 'subject_id' | 'payload', string>>(EVENTS, [since]);
  const keys = await client.query<{ name: string; xid: string; status: number; now: string }>(KEYS, [since]);
  const updates = await client.query<{ xid: string; account: AccountRow }>(ACCOUNTS);
  const chained = await countChained(client);
  const owners = await client.query<Omit<AccountOwner, 'programId'> & Record<'account_id' | 'program_id', string>>(
    OWNERS,
  );
  await client.query('rollback');

  const positionOf = new Map(positions.rows.map(({ xid, position }) => [xid, Number(position)]));
  const place = (xid: string): number => {
    const position = positionOf.get(xid);
    if (position === undefined) throw new Error(`transaction ${xid} has no number`);
    return position;
  };
  const eventsOf = Map.groupBy(events.rows, ({ xid }) => xid);
  const updatesOf = Map.groupBy(updates.rows, ({ xid }) => xid);
  const transactions = [...positionOf].map(([xid, position]) => ({
    position,
    events: (eventsOf.get(xid) ?? []).map((event) => ({
      type: event.type,
      subjectId: event.subject_id,
      payload: payloadOf(event),
    })),
    accounts: (updatesOf.get(xid) ?? []).map(({ account }) => toAccount(account)),
  }));
  for (const { xid } of events.rows) place(xid);
  return {
    transactions: transactions.toSorted((left, right) => left.position - right.position),
    keys: new Map(
      keys.rows.map(({ name, xid, status, now }) => [name, { position: place(xid), status, now: Number(now) }]),
    ),
    chained,
    owners: new Map(
      owners.rows.map(({ account_id, program_id, ...owner }) => [
        account_id,
        { ...owner, programId: toWireId('prog', program_id) },
      ]),
    ),
  };
}

function toAccount({ account_id, balance, held, incoming, sequence }: AccountRow): CommittedAccount {
  return {
    accountId: account_id,
    balance: BigInt(balance),
    held: BigInt(held),
    incoming: BigInt(incoming),
    sequence: BigInt(sequence),
  };
}
