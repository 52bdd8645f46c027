import pg from 'pg';
import { toWireId } from '../../domain/identifier.ts';
import type { TransferService } from '../../sdk/client.ts';
import { embeddedServerOf } from '../harness/process.ts';
import type { Books, Found, Terms } from './checker.ts';

type TransferRow = {
  readonly transfer_id: string;
  readonly request_id: string;
  readonly key: string;
  readonly type: Terms['type'];
  readonly amount: string;
  readonly card: string;
  readonly destination: string | null;
  readonly status: string;
};

/** Every transfer that a load has made, past the service: an error of its own reading would hide what it wrote. */
const TRANSFERS = `select transfer.transfer_id, transfer.request_id, transfer.metadata->>'key' as key, transfer.type,
    transfer.amount, card.name as card, destination.name as destination, transfer.status
  from transfer
  join card on card.program_id = transfer.program_id and card.card_id = transfer.card_id
  left join card as destination
    on destination.program_id = transfer.program_id and destination.card_id = transfer.destination_card_id
  where transfer.metadata ? 'key'`;

/** What the postings and the accounts say by themselves; all of it is zero when the books are right. */
const FAULTS = `select
    (select count(*) from (
      select currency from account group by currency having sum(balance) <> 0
    ) as unbalanced) as unbalanced_currencies,
    (select count(*) from account where floor is not null and balance - held < floor) as accounts_below_floor,
    (select count(*) from account where held <> 0) as accounts_with_holds,
    (select count(*) from account
      left join lateral (
        select coalesce(sum(case when destination_account_id = account_id then amount else -amount end), 0) as postings
        from posting where account_id in (source_account_id, destination_account_id)
      ) as moved on true
      where balance <> postings) as accounts_that_differ,
    (select count(*) from transfer where not exists (
      select from posting where posting.program_id = transfer.program_id and cause_id = transfer_id
    )) as transfers_without_posting,
    (select count(*) from posting where purpose in ('load', 'unload', 'card_to_card') and not exists (
      select from transfer where transfer.program_id = posting.program_id and transfer_id = cause_id
    )) as postings_without_transfer`;

/** Opens the books of a data directory whose PostgreSQL runs; `texts` are records as the service shows them. */
export async function readBooks(
  dataDirectory: string,
  cards: readonly string[],
  texts: ReadonlyMap<string, string> = new Map(),
): Promise<Books & { readonly faults: Readonly<Record<string, string>> }> {
  const { databaseUrl } = await embeddedServerOf(dataDirectory);
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const transfers = await client.query<TransferRow>(TRANSFERS);
    const balances = await client.query<{ name: string; balance: string }>(
      'select name, balance from card join account using (program_id, account_id) where name = any($1)',
      [cards],
    );
    const faults = await client.query<Record<string, string>>(FAULTS);
    return {
      transfers: transfers.rows.map((row) => toFound(row, texts)),
      opening: new Map(cards.map((card) => [card, 0])),
      balances: new Map(balances.rows.map(({ name, balance }) => [name, Number(balance)])),
      faults: Object.fromEntries(Object.entries(faults.rows[0] ?? {}).filter(([, count]) => count !== '0')),
    };
  } finally {
    await client.end();
  }
}

function toFound(row: TransferRow, texts: ReadonlyMap<string, string>): Found {
  const transferId = toWireId('tr', row.transfer_id);
  return {
    transferId,
    requestId: toWireId('req', row.request_id),
    key: row.key,
    terms: { type: row.type, amount: Number(row.amount), cardId: row.card, destinationCardId: row.destination },
    status: row.status,
    text: texts.get(transferId),
  };
}

/** Every transfer as the service shows it now, by id. */
export async function readTexts({ transfers }: TransferService): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  for await (const transfer of transfers.listAll({ limit: 100 })) {
    texts.set(transfer.transfer_id, JSON.stringify(transfer));
  }
  return texts;
}
