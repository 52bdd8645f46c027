import { MAXIMUM_BALANCE } from '../../../domain/ledger/money.ts';
import { SHARDS } from '../../../server/store/webhooks/shard.ts';
import { shardOf } from '../../../server/store/webhooks/webhook.ts';
import type { StoredRow } from '../memory-store/parameters.ts';
import { Tables, Transaction } from '../memory-store/transaction.ts';

/** The UUID of an object that exists from the start. */
const idOf = (kind: number, number: number): string =>
  `00000000-0000-7000-8${String(kind).padStart(3, '0')}-${String(number).padStart(12, '0')}`;

/** The initial funding of each program. It is low, so that some transfers are refused. */
const FUNDING = 100n;

/** The initial balance of each card. */
const ON_CARD = 30n;

/** The currency of both programs. */
export const CURRENCY = 'USD';

/** A card program with its cards. They exist from the start. */
export type SimulatedProgram = {
  readonly programId: string;
  readonly worldId: string;
  readonly fundingId: string;
  readonly webhookId: string;
  readonly cards: readonly { readonly cardId: string; readonly accountId: string; readonly name: string }[];
};

/** Two programs: one with three busy cards, and one with a single card. */
export const PROGRAMS: readonly SimulatedProgram[] = [3, 1].map((cards, index) => ({
  programId: idOf(1, index + 1),
  worldId: idOf(2, index * 10 + 9),
  fundingId: idOf(2, index * 10),
  webhookId: idOf(4, index + 1),
  cards: Array.from({ length: cards }, (_, number) => ({
    cardId: idOf(3, index * 10 + number + 1),
    accountId: idOf(2, index * 10 + number + 1),
    name: `card_${index + 1}_${number + 1}`,
  })),
}));

/** A program by its name in the model, which is its number. */
export function programOf(name: string): SimulatedProgram {
  const program = PROGRAMS[Number(name)];
  if (program === undefined) throw new Error(`there is no program ${name}`);
  return program;
}

/** The name of a program in the model. */
export function nameOf(programId: unknown): string {
  return String(PROGRAMS.findIndex((program) => program.programId === programId));
}

/** The connector of the cards whose money is at a processor. */
export const CONNECTOR_ID = 'processor';

/** The cards whose money is at a processor, in schedules with a processor: two of the busy ones. */
export const CARDS_AT_PROCESSOR: ReadonlySet<string> = new Set(['card_1_2', 'card_1_3']);

const NO_CARDS: ReadonlySet<string> = new Set();

/** The rows of the programs, by table, created at this time. The money of some cards is at a processor. */
export function firstRows(
  createdAt: Date,
  elsewhere: ReadonlySet<string> = NO_CARDS,
): Readonly<Record<string, readonly StoredRow[]>> {
  const rows = { program: [] as StoredRow[], account: [] as StoredRow[], card: [] as StoredRow[] };
  for (const { programId, worldId, fundingId, cards } of PROGRAMS) {
    const common = { program_id: programId, currency: CURRENCY, created_at: createdAt };
    const zero = { held: 0n, incoming: 0n, sequence: 0n, version: 0n };
    const given = FUNDING + ON_CARD * BigInt(cards.filter(({ name }) => !elsewhere.has(name)).length);
    rows.program.push({
      ...common,
      ...{ name: 'Simulated', time_zone: 'UTC', limits: null, card_limits: null, funding_low_threshold: null },
      metadata: {},
    });
    const account = (account_id: string, kind: string, owner_id: string, balance: bigint, floor: bigint | null): void =>
      void rows.account.push({ ...common, ...zero, account_id, kind, owner_id, balance, floor });
    account(worldId, 'world', programId, -given, null);
    account(fundingId, 'funding', programId, FUNDING, 0n);
    for (const { cardId, accountId, name } of cards) {
      const isElsewhere = elsewhere.has(name);
      if (isElsewhere) account(accountId, 'clearing', cardId, 0n, -MAXIMUM_BALANCE);
      else account(accountId, 'card', cardId, ON_CARD, 0n);
      rows.card.push({
        ...common,
        ...{ card_id: cardId, name, status: 'active', account_id: accountId, funding_account_id: fundingId },
        ...{
          expires_on: null,
          limits: null,
          connector_id: isElsewhere ? CONNECTOR_ID : null,
          processor_token: isElsewhere ? `token of ${name}` : null,
          holder_reference: `holder of ${name}`,
          last_four: '1234',
        },
        metadata: { tier: 'gold' },
        updated_at: createdAt,
      });
    }
  }
  return rows;
}

/** A webhook for each program. Its next failure pauses it. */
export function webhookRows(createdAt: Date): Readonly<Record<'webhook' | 'webhook_state', readonly StoredRow[]>> {
  const failing = { failures: 9, failing_since: createdAt, last_failure_at: createdAt, last_success_at: null };
  return {
    webhook: PROGRAMS.map(({ programId: program_id, webhookId: webhook_id }) => ({
      ...{ webhook_id, program_id, url: 'https://example.com', description: null, types: null, payload: 'full' },
      ...{ delivery_order: 'parallel', concurrency: 3, rate: null, header_names: [], headers: null, version: '1' },
      ...{ created_at: createdAt, updated_at: createdAt, revision: 1n },
    })),
    webhook_state: PROGRAMS.map(({ programId: program_id, webhookId: webhook_id }) => ({
      ...{ webhook_id, program_id, shard: shardOf(webhook_id), cursor: 0n, ahead: '{}', ...failing },
      ...{ status: 'enabled', status_reason: null, probe_tries: 0, next_probe_at: null, is_failing_told: false },
    })),
  };
}

const SHARD_ROWS: readonly StoredRow[] = Array.from({ length: SHARDS }, (_, shard) => ({
  ...{ shard, epoch: 0n, owner: null, expires_at: null },
}));

const KEYS: Readonly<Record<string, string>> = {
  program: 'program_id',
  account: 'account_id',
  card: 'card_id',
  webhook: 'webhook_id',
  webhook_shard: 'shard',
  webhook_state: 'webhook_id',
};

/** The limits of a program: for its cards together (`limits`), and for each card (`card_limits`). */
export type ProgramLimits = { readonly limits: StoredRow | null; readonly card_limits: StoredRow | null };

const UNLIMITED: ProgramLimits = { limits: null, card_limits: null };

/** Tables that contain the programs. */
export function openTables(
  createdAt: Date,
  limits: ProgramLimits = UNLIMITED,
  elsewhere: ReadonlySet<string> = NO_CARDS,
): Tables {
  const tables = new Tables();
  const transaction = new Transaction(tables, () => createdAt.getTime());
  const first = { ...firstRows(createdAt, elsewhere), ...webhookRows(createdAt), webhook_shard: SHARD_ROWS };
  for (const [table, rows] of Object.entries(first)) {
    for (const row of rows) {
      const opened = table === 'program' ? { ...row, ...limits } : row;
      [...transaction.insert(table, String(row[KEYS[table] ?? '']), opened)];
    }
  }
  transaction.commit();
  return tables;
}
