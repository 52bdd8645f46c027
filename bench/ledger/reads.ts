import { toWireId } from '../../domain/identifier.ts';
import type { ListedRequest } from '../load/requests.ts';
import { runGenerator } from '../load/run-generator.ts';
import { AMOUNT, cardName } from '../load/traffic.ts';
import type { Stage } from '../stage.ts';
import type { Served } from './ledger.ts';
import { HOT_CARDS } from './seed.ts';

/** The median latency of each kind of read, in milliseconds. The reads run one after the other. */
export type ReadLatencies = Readonly<Record<(typeof READS)[number], number>>;

/** The reads that must not slow down as a ledger grows. */
export const READS = ['get_transfer', 'list_transfers of a card', 'list_transfers', 'replay of an old key'] as const;

/** Measures each kind of read by a single caller, on random transfers and keys of the whole ledger. */
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
    const result = await runGenerator(stage.resources, {
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
    `select transfer.transfer_id, transfer.idempotency_key as key, card.name
      from (select * from idempotency where operation = 'create_transfer' order by random() limit $1) as idempotency
      join transfer on transfer.program_id = idempotency.program_id and transfer.transfer_id = idempotency.subject_id
      join card on card.program_id = transfer.program_id and card.card_id = transfer.card_id`,
    [count],
  );
  return rows.map(({ transfer_id, key, name }) => ({ id: toWireId('tr', transfer_id), key, card: name }));
}
