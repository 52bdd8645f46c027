import { median, whole } from '../figures.ts';
import { withLedger } from '../ledger/ledger.ts';
import { runGenerator } from '../load/run-generator.ts';
import { MANY_CONNECTIONS, measure, measureTransfers, warmUp, withCheckpoint } from '../measure.ts';
import type { Outcome } from '../outcome.ts';
import { interleave } from '../rounds.ts';
import type { Stage } from '../stage.ts';

/** Rows of one call: the most there may be. */
const ROWS = 1000;

/** Callers at once: one waits for its answer while the other's rows are committed. */
const CALLERS = 2;

/** Target 7: the batch operation with 1,000 rows a call against the single route, in transfers a second. */
export function batchAgainstSingle(stage: Stage): Promise<Outcome> {
  const { belongings, options } = stage;
  const { seconds, rounds } = options;
  return withLedger(stage, async (service, ledger) => {
    const { traffic } = service;
    const measured = { ledger, services: [service] };
    const sendBatches = (length: number) =>
      runGenerator(belongings, {
        ...traffic,
        mode: 'closed',
        connections: CALLERS,
        seconds: length,
        send: { kind: 'batches', rows: ROWS },
      });
    await warmUp(stage, ledger, traffic, MANY_CONNECTIONS);
    ledger.answered += (await sendBatches(options.warmUp_s)).answered;
    const runs = await interleave(rounds, {
      batch: () => measure(stage, measured, () => withCheckpoint(stage, seconds, () => sendBatches(seconds))),
      single: () => measureTransfers(stage, measured, { traffic, connections: MANY_CONNECTIONS, seconds }),
    });
    const batchRate = median(runs.batch.map(({ rate }) => rate));
    const singleRate = median(runs.single.map(({ rate }) => rate));
    const batch_us = median(runs.batch.map(({ service_us }) => service_us));
    const single_us = median(runs.single.map(({ service_us }) => service_us));
    return {
      target: 7,
      title: `create_transfer_batch with ${whole(ROWS)} rows, against single transfers`,
      measured: `${whole(batchRate)}/s with ${CALLERS} callers`,
      against: `${whole(singleRate)}/s`,
      ratio: batchRate / singleRate,
      bound: { at: 'least', ratio: 1.3 },
      aim: 2,
      runs: { batch: runs.batch.map(({ rate }) => rate), single: runs.single.map(({ rate }) => rate) },
      notes: [`CPU of the service for a transfer: ${whole(batch_us)} µs in a batch, ${whole(single_us)} µs alone.`],
    };
  });
}
