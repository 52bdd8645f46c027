import { fromWireId, toWireId } from '../../domain/identifier.ts';
import { readStoredResponses } from '../../server/store/idempotency.ts';
import { lockAccounts } from '../../server/store/ledger/account.ts';
import { readTransfer } from '../../server/store/transfers/transfer.ts';
import { listTransfers, type Stretch } from '../../server/store/transfers/transfer-list.ts';
import { NO_FILTER } from '../../server/store/transfers/transfer-route.ts';
import type { ListedRequest } from '../load/requests.ts';
import { runGenerator } from '../load/run-generator.ts';
import { AMOUNT, cardName } from '../load/traffic.ts';
import type { Stage } from '../stage.ts';
import type { Served } from './ledger.ts';
import { HOT_CARDS } from './seed.ts';

/** Reads of one kind, one after the other; the median latency in milliseconds. */
export type ReadLatencies = Readonly<Record<(typeof READS)[number], number>>;

/** The reads that must not slow down as a ledger grows. */
export const READS = ['get_transfer', 'list_transfers of a card', 'list_transfers', 'replay of an old key'] as const;

/** Measures each kind of read by a lone caller, on transfers and keys chosen at random from the whole ledger. */
export async function measureReads(stage: Stage, service: Served): Promise<ReadLatencies> {
  const count = stage.options.quick ? 300 : 2000;
  const drawn = await drawTransfers(stage, service.database, count);
  const requests: Record<(typeof READS)[number], readonly ListedRequest[]> = {
    get_transfer: drawn.map(({ id }) => ({ method: 'GET', path: `/api/v0.1/core/transfer/${id}` })),
    'list_transfers of a card': Array.from({ length: HOT_CARDS }, (_, index) => ({
      method: 'GET',
      path: `/api/v0.1/core/transfer?card_id=${cardName(index + 1)}`,
    })),
    list_transfers: [{ method: 'GET', path: '/api/v0.1/core/transfer' }],
    'replay of an old key': drawn.map(({ key, card }) => ({
      method: 'POST',
      path: '/api/v0.1/core/transfer',
      idempotencyKey: key,
      body: `{"amount":${AMOUNT},"card_id":"${card}"}`,
    })),
  };
  const medians = {} as Record<(typeof READS)[number], number>;
  for (const name of READS) {
    const plan = { ...service.traffic, mode: 'closed', connections: 1, count } as const;
    const result = await runGenerator(stage.belongings, {
      ...plan,
      send: { kind: 'listed', requests: requests[name] },
    });
    if (result.failed > 0) throw new Error(`${name}: ${result.failed} failed. The first: ${result.firstFailure}`);
    medians[name] = result.latenciesMilliseconds.p50;
  }
  return medians;
}

type Drawn = { readonly id: string; readonly key: string; readonly card: string };

async function drawTransfers(stage: Stage, database: string, count: number): Promise<readonly Drawn[]> {
  const { rows } = await stage.server.query(
    database,
    `select transfer.transfer_id, idempotency.key, card.name
      from (select * from idempotency where operation = 'create_transfer' order by random() limit $1) as idempotency
      join transfer on transfer.program_id = idempotency.program_id and transfer.transfer_id = idempotency.subject_id
      join card on card.program_id = transfer.program_id and card.card_id = transfer.card_id`,
    [count],
  );
  return rows.map(({ transfer_id, key, name }) => ({ id: toWireId('tr', transfer_id), key, card: name }));
}

/** The generic plans of the reads, and of the locks of every transfer: made without knowing the values. */
export async function explainReads(
  stage: Stage,
  database: string,
): Promise<Readonly<Record<string, readonly string[]>>> {
  const programId = fromWireId('prog', stage.seed.hot.programId) ?? '';
  const page: Stretch = { order: 'newest_first', after: null, until: null, count: 21, look: 21 };
  const statements = {
    get_transfer: readTransfer(programId, programId),
    'list_transfers of a card': listTransfers(programId, { ...NO_FILTER, cardName: cardName(1) }, page),
    list_transfers: listTransfers(programId, NO_FILTER, page),
    'stored responses of keys': readStoredResponses([]),
    'locks of accounts': lockAccounts([], []),
  };
  const plans: Record<string, readonly string[]> = {};
  for (const [name, { text }] of Object.entries(statements)) {
    const { rows } = await stage.server.query(database, `explain (generic_plan, costs off) ${text}`);
    plans[name] = rows.map((row) => row['QUERY PLAN']);
  }
  return plans;
}

/** Where the cost of a plan grows with the table: a growing table read in full, or a list sorted before its limit. */
export function growingPlans(plans: Readonly<Record<string, readonly string[]>>): readonly string[] {
  return Object.entries(plans).flatMap(([name, lines]) => {
    const scan = lines.find((line) => /Seq Scan on (transfer|posting|idempotency|account|card|event)/.test(line));
    const sort = name.startsWith('list_') ? lines.find((line) => /-> {2}(Incremental )?Sort/.test(line)) : undefined;
    return [scan, sort].flatMap((line) => (line === undefined ? [] : [`${name} (${line.replace('->', '').trim()})`]));
  });
}
