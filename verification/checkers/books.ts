import pg from 'pg';
import { toWireId } from '../../domain/identifier.ts';
import type { TransferService } from '../../sdk/client.ts';
import { payloadOf } from '../../test/fixtures/stored-events.ts';
import { KEY_TEXT } from '../../test/harness/ledger.ts';
import { embeddedServerOf } from '../../test/harness/process.ts';
import type { Creation } from './history.ts';

export type FoundReversal = {
  readonly reversalId: string;
  readonly requestId: string;
  /** The idempotency key, which every request also has as its description. */
  readonly key: string;
  readonly amount: number;
};

/** A transfer in the ledger. */
export type Found = {
  readonly transferId: string;
  readonly requestId: string;
  /** The idempotency key, which every request also has in its metadata. */
  readonly key: string;
  readonly terms: Omit<Creation, 'does' | 'expiresAt'>;
  readonly status: string;
  readonly capturedAmount: number;
  readonly reversals: readonly FoundReversal[];
  /** The exact record that the service shows, or undefined if it was not read. */
  readonly text?: string | undefined;
};

/** The stored first response to a key. */
export type StoredResponse = {
  /** The operation of the key, such as `create_transfer`. */
  readonly operation: string;
  readonly key: string;
  readonly status: number;
  /** The wire id of the transfer or reversal, or null for a refusal. */
  readonly subjectId: string | null;
  readonly body: string | null;
  /** The `Code` of a refusal. */
  readonly code: string | null;
  /** The `Message` of a refusal. */
  readonly message: string | null;
};

export type FoundEvent = { readonly type: string; readonly subjectId: string; readonly payload: string };

/** The transfers in the ledger, their records and the balances of their cards. Undefined parts are not compared. */
export type Books = {
  readonly transfers: readonly Found[];
  /** The balances of the cards before the transfers. */
  readonly opening: ReadonlyMap<string, number>;
  readonly balances?: ReadonlyMap<string, number> | undefined;
  readonly stored?: readonly StoredResponse[] | undefined;
  readonly events?: readonly FoundEvent[] | undefined;
  /** The count of each fault of the books, without zeros. */
  readonly faults: Readonly<Record<string, string>>;
  /** The members of a transfer record to compare, which every tested version has. If undefined, all members are compared. */
  readonly members?: readonly string[];
};

type TransferRow = Pick<Creation, 'type' | 'capture' | 'card' | 'destination' | 'reference'> & {
  readonly transfer_id: string;
  readonly request_id: string;
  readonly key: string;
  readonly amount: string;
  readonly captured_amount: string;
  readonly status: string;
  readonly reversals: readonly {
    readonly reversal_id: string;
    readonly request_id: string;
    readonly key: string;
    readonly amount: number;
  }[];
};

/** Reads every transfer of a load directly from the database: a mistake in the service's reads could hide one in its writes. */
const TRANSFERS = `select transfer.transfer_id, transfer.request_id, transfer.metadata->>'key' as key, transfer.type,
    transfer.capture, transfer.amount, transfer.captured_amount, card.name as card, destination.name as destination,
    transfer.reference, transfer.status, coalesce((
      select json_agg(json_build_object('reversal_id', reversal_id, 'request_id', reversal.request_id,
        'key', reversal.description, 'amount', reversal.amount))
      from reversal
      where reversal.program_id = transfer.program_id and reversal.transfer_id = transfer.transfer_id
    ), '[]') as reversals
  from transfer
  join card on card.program_id = transfer.program_id and card.card_id = transfer.card_id
  left join card as destination
    on destination.program_id = transfer.program_id and destination.card_id = transfer.destination_card_id
  where transfer.metadata ? 'key'`;

/**
 * Counts the sums that are wrong in any snapshot, even in the middle of a load: currencies that do not sum to zero,
 * accounts below their floor, and held amounts that differ from the sums of their holds.
 */
export const SUMS = `
    (select count(*) from (
      select currency from account group by currency having sum(balance) <> 0
    ) as unbalanced) as unbalanced_currencies,
    (select count(*) from account where floor is not null and balance - held < floor) as accounts_below_floor,
    (select count(*) from account where held <> (
      select coalesce(sum(amount), 0) from hold
      where hold.program_id = account.program_id and source_account_id = account_id
    ) or incoming <> (
      select coalesce(sum(amount), 0) from hold
      where hold.program_id = account.program_id and destination_account_id = account_id
    )) as accounts_with_other_holds`;

/**
 * Counts the faults of the books. All counts are zero if the books are right. The sum of each cause's postings is computed once:
 * no index of postings begins with the cause, so a look-up per transfer would read all postings each time.
 */
const FAULTS = `with moved as materialized (
    select program_id, cause_id, sum(amount) as amount from posting group by program_id, cause_id
  ), taken_back as materialized (
    select program_id, transfer_id, sum(amount) as amount from reversal group by program_id, transfer_id
  )
  select ${SUMS},
    (select count(*) from transfer full join hold using (program_id, transfer_id)
      where (status is not distinct from 'pending') <> (hold.amount is not null)) as holds_without_pending,
    (select count(*) from transfer left join taken_back using (program_id, transfer_id)
      where reversed_amount <> coalesce(taken_back.amount, 0)) as transfers_with_other_reversals,
    (select count(*) from account
      left join lateral (
        select coalesce(sum(case when destination_account_id = account_id then amount else -amount end), 0) as postings
        from posting where account_id in (source_account_id, destination_account_id)
      ) as posted on true
      where balance <> postings) as accounts_that_differ,
    (select count(*) from transfer
      left join moved on moved.program_id = transfer.program_id and cause_id = transfer_id
      where captured_amount <> coalesce(moved.amount, 0) or (status = 'completed') <> (captured_amount > 0)
    ) as transfers_with_other_postings,
    (select count(*) from reversal
      left join moved on moved.program_id = reversal.program_id and cause_id = reversal_id
      where reversal.amount <> coalesce(moved.amount, 0)) as reversals_with_other_postings,
    (select count(*) from posting where purpose = 'reversal' and not exists (
      select from reversal where reversal.program_id = posting.program_id and reversal_id = cause_id
    )) as postings_without_reversal,
    (select count(*) from posting where purpose in ('load', 'unload', 'card_to_card') and not exists (
      select from transfer where transfer.program_id = posting.program_id and transfer_id = cause_id
    )) as postings_without_transfer`;

/** Reads the stored responses of the operations that create or change transfers. */
const STORED = `select operation, ${KEY_TEXT} as key, status, idempotency.subject_id, body, payload, code, message,
    idempotency.program_id, event.subject_id as event_subject
  from idempotency
  left join event on event.batch_id = idempotency.batch_id and event.index = event_index
    and event.created_at = idempotency.created_at
  where operation in ('create_transfer', 'capture_transfer', 'cancel_transfer', 'reverse_transfer')`;

/** Reads the events of transfers and reversals, except the events of transfers that no load has created. */
const EVENTS = `select type, subject_id, payload, program_id from event
  where (type like 'transfer.%' or type like 'reversal.%') and subject_id not in (
    select 'tr_' || replace(transfer_id::text, '-', '') from transfer where not metadata ? 'key'
  )`;

type StoredRow = Omit<StoredResponse, 'subjectId'> & {
  readonly subject_id: string | null;
  readonly payload: string | null;
  readonly event_subject: string | null;
  readonly program_id: string;
};
type EventRow = Omit<FoundEvent, 'subjectId'> & { readonly subject_id: string };

/** Reads the books of a data directory whose PostgreSQL runs. `texts` are the records that the service shows. */
export async function readBooks(
  dataDirectory: string,
  cards: readonly string[],
  texts: ReadonlyMap<string, string> = new Map(),
): Promise<Books> {
  const { databaseUrl } = await embeddedServerOf(dataDirectory);
  return readBooksAt({ connectionString: databaseUrl }, cards, texts);
}

/** The error codes of a server that is starting or recovering: it refuses connections, or has no socket yet. */
const NOT_UP: readonly unknown[] = ['57P03', 'ECONNREFUSED', 'ENOENT'];

/** Ten minutes: a recovery can take a long time on a busy machine, and a recovery that never ends must fail the test. */
const MAX_CONNECTION_ATTEMPTS = 6_000;

/** Connects when the server is up. After a full disk, for example, a server can stop again for a second recovery. */
async function connectWhenUp(connection: pg.ClientConfig): Promise<pg.Client> {
  for (let left = MAX_CONNECTION_ATTEMPTS; ; left -= 1) {
    const client = new pg.Client(connection);
    // If the server stops, the next query fails. Without a listener the error would also end this process.
    client.on('error', () => undefined);
    try {
      await client.connect();
      return client;
    } catch (error) {
      if (left === 0 || !NOT_UP.includes((error as NodeJS.ErrnoException).code)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** Reads the books of any server. */
export async function readBooksAt(
  connection: pg.ClientConfig,
  cards: readonly string[],
  texts: ReadonlyMap<string, string> = new Map(),
): Promise<Books> {
  const client = await connectWhenUp(connection);
  try {
    // Reads in one snapshot, because a backend may still commit after its service was killed.
    await client.query('begin isolation level repeatable read read only');
    const transfers = await client.query<TransferRow>(TRANSFERS);
    const balances = await client.query<{ name: string; balance: string }>(
      'select name, balance from card join account using (program_id, account_id) where name = any($1)',
      [cards],
    );
    const faults = await client.query<Record<string, string>>(FAULTS);
    const stored = await client.query<StoredRow>(STORED);
    const events = await client.query<EventRow>(EVENTS);
    return {
      transfers: transfers.rows.map((row) => toFound(row, texts)),
      opening: new Map(cards.map((card) => [card, 0])),
      balances: new Map(balances.rows.map(({ name, balance }) => [name, Number(balance)])),
      stored: stored.rows.map(toStored),
      events: events.rows.map(toEvent),
      faults: countsIn(faults.rows),
    };
  } finally {
    await client.end();
  }
}

/** Returns the counts of a query that are not zero. */
export function countsIn([row = {}]: readonly Readonly<Record<string, string>>[]): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(row).filter(([, count]) => count !== '0'));
}

function toStored({ subject_id, event_subject, program_id, payload, ...row }: StoredRow): StoredResponse {
  const prefix = row.operation === 'reverse_transfer' ? 'rev' : 'tr';
  const event = { payload, program_id, subject_id: event_subject };
  return {
    ...row,
    body: row.body ?? (payload === null ? null : payloadOf(event)),
    subjectId: subject_id === null ? null : toWireId(prefix, subject_id),
  };
}

function toEvent(row: EventRow): FoundEvent {
  return { type: row.type, subjectId: row.subject_id, payload: payloadOf(row) };
}

function toFound(row: TransferRow, texts: ReadonlyMap<string, string>): Found {
  const { key, type, card, destination, capture, reference, status } = row;
  const transferId = toWireId('tr', row.transfer_id);
  return {
    transferId,
    requestId: toWireId('req', row.request_id),
    key,
    terms: { type, amount: Number(row.amount), card, destination, capture, reference },
    status,
    capturedAmount: Number(row.captured_amount),
    reversals: row.reversals.map(({ reversal_id, request_id, key, amount }) => ({
      reversalId: toWireId('rev', reversal_id),
      requestId: toWireId('req', request_id),
      key,
      amount,
    })),
    text: texts.get(transferId),
  };
}

/** Returns the record that the service shows for every transfer, by id. */
export async function readTexts({ transfers }: TransferService): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  for await (const transfer of transfers.listAll({ limit: 100 })) {
    texts.set(transfer.transfer_id, JSON.stringify(transfer));
  }
  return texts;
}
