import type { Limits } from '../../../domain/ledger/limits.ts';
import { MAXIMUM_BALANCE } from '../../../domain/ledger/money.ts';
import { SHARDS } from '../../../server/store/webhooks/shard.ts';
import { shardOf } from '../../../server/store/webhooks/webhook.ts';
import { sum } from '../../model/books.ts';
import type { Opening, OpeningCard, OpeningProgram } from '../../model/commands.ts';
import type { StoredRow } from '../memory-store/parameters.ts';
import { Tables, Transaction } from '../memory-store/transaction.ts';

/** The UUID of an object that exists from the start. */
const idOf = (kind: number, number: number): string =>
  `00000000-0000-7000-8${String(kind).padStart(3, '0')}-${String(number).padStart(12, '0')}`;

/** A card program. Its number is its position in an {@link Opening}. */
export type SimulatedProgram = { readonly programId: string; readonly webhookId: string };

export const PROGRAMS: readonly SimulatedProgram[] = [0, 1].map((index) => ({
  programId: idOf(1, index + 1),
  webhookId: idOf(4, index + 1),
}));

/** Returns a program by its name in the model, which is its number. */
export function programOf(name: string): SimulatedProgram {
  const program = PROGRAMS[Number(name)];
  if (program === undefined) throw new Error(`there is no program ${name}`);
  return program;
}

/** Returns the name of a program in the model. */
export function nameOf(programId: unknown): string {
  return String(PROGRAMS.findIndex((program) => program.programId === programId));
}

/** The connector of the cards whose money is at a processor. */
export const CONNECTOR_ID = 'processor';

/** The cards whose money is at a processor, in schedules with a processor. They are two of the busy cards. */
export const CARDS_AT_PROCESSOR: ReadonlySet<string> = new Set(['card_1_2', 'card_1_3']);

/**
 * The currencies and time zones of programs. The currencies have 2, 0 or 3 decimals. Some zones have summer time, and one has an
 * offset that is not a whole number of hours.
 */
export const PLACES = [
  ['USD', 'UTC'],
  ['JPY', 'Asia/Kathmandu'],
  ['KWD', 'Pacific/Auckland'],
  ['EUR', 'America/Havana'],
] as const;

/** The limits of a program: for its cards together (`limits`), and for each card (`cardLimits`). */
export type ProgramLimits = Pick<OpeningProgram, 'limits' | 'cardLimits'>;

/**
 * Two programs, one with three busy cards and one with a single card. They have little money, so that some transfers are refused.
 */
export function plainOpening(
  now: number,
  [currency, zone]: (typeof PLACES)[number],
  limits: ProgramLimits = { limits: null, cardLimits: null },
  elsewhere: ReadonlySet<string> = new Set(),
): Opening {
  const cardOf = (name: string): OpeningCard => {
    const isElsewhere = elsewhere.has(name);
    const balance = isElsewhere ? 0n : 30n;
    return { name, currency, status: 'active', expiresOn: null, limits: null, balance, isElsewhere };
  };
  const programs = [['card_1_1', 'card_1_2', 'card_1_3'], ['card_2_1']].map((names) => ({
    ...{ name: 'Simulated', zone, currency, threshold: null, ...limits },
    ...{ funding: { [currency]: 100n }, cards: names.map(cardOf) },
  }));
  return { now, programs };
}

/** The rows of the programs, by table, created at this time. */
export function firstRows({ programs }: Opening, createdAt: Date): Readonly<Record<string, readonly StoredRow[]>> {
  const rows = { program: [] as StoredRow[], account: [] as StoredRow[], card: [] as StoredRow[] };
  for (const [index, { name, zone, currency, threshold, limits, cardLimits, funding, cards }] of programs.entries()) {
    const { programId } = programOf(String(index));
    const common = { program_id: programId, created_at: createdAt };
    rows.program.push({
      ...common,
      ...{ name, currency, time_zone: zone, limits: asRow(limits), card_limits: asRow(cardLimits) },
      ...{ funding_low_threshold: threshold, metadata: {} },
    });
    const add = (number: number, kind: string, currency: string, balance: bigint, more: StoredRow = {}): string => {
      const account_id = idOf(2, number);
      // Each initial balance is one line on the statement of its account.
      const sums = { balance, held: 0n, incoming: 0n, sequence: balance === 0n ? 0n : 1n, version: 0n };
      rows.account.push({ ...common, account_id, kind, owner_id: programId, currency, floor: 0n, ...sums, ...more });
      return account_id;
    };
    const fundingIds = new Map<string, string>();
    for (const [place, [currency, balance]] of Object.entries(funding).entries()) {
      const own = [balance, ...cards.filter((card) => card.currency === currency).map((card) => card.balance)];
      const lines = BigInt(own.filter((each) => each > 0n).length);
      add(place * 100 + index * 10 + 9, 'world', currency, -sum(own), { floor: null, sequence: lines });
      fundingIds.set(currency, add(place * 100 + index * 10, 'funding', currency, balance));
    }
    for (const [number, card] of cards.entries()) {
      const { name, currency, status, expiresOn: expires_on, balance, isElsewhere } = card;
      const card_id = idOf(3, index * 10 + number + 1);
      const floor = isElsewhere ? -MAXIMUM_BALANCE : 0n;
      const kind = isElsewhere ? 'clearing' : 'card';
      const account_id = add(index * 10 + number + 1, kind, currency, balance, { owner_id: card_id, floor });
      rows.card.push({
        ...{ ...common, card_id, name, currency, status, account_id, funding_account_id: fundingIds.get(currency) },
        ...{ expires_on, limits: asRow(card.limits), holder_reference: `holder of ${name}`, last_four: '1234' },
        connector_id: isElsewhere ? CONNECTOR_ID : null,
        processor_token: isElsewhere ? `token of ${name}` : null,
        ...{ metadata: { tier: 'gold' }, updated_at: createdAt },
      });
    }
  }
  return rows;
}

/** Returns limits in the form of a stored row. */
function asRow(limits: Limits | null): unknown {
  if (limits === null) return null;
  const { in: incoming, out, maximumBalance } = limits;
  const most = maximumBalance === null ? {} : { maximum_balance: maximumBalance };
  const plain = (_: string, value: unknown) => (typeof value === 'bigint' ? Number(value) : value);
  return JSON.parse(JSON.stringify({ in: incoming, out, ...most }, plain));
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

/** Tables that contain the programs. */
export function openTables(opening: Opening, createdAt: Date): Tables {
  const tables = new Tables();
  const transaction = new Transaction(tables, () => createdAt.getTime());
  const first = { ...firstRows(opening, createdAt), ...webhookRows(createdAt), webhook_shard: SHARD_ROWS };
  for (const [table, rows] of Object.entries(first)) {
    for (const row of rows) [...transaction.insert(table, String(row[KEYS[table] ?? '']), row)];
  }
  transaction.commit();
  return tables;
}
