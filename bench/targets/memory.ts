import { setTimeout as sleep } from 'node:timers/promises';
import { inWords, median, short } from '../figures.ts';
import { withLedger } from '../ledger/ledger.ts';
import { runGenerator } from '../load/run-generator.ts';
import { MANY_CONNECTIONS } from '../measure.ts';
import type { Outcome } from '../outcome.ts';
import { residentBytes } from '../processor-time.ts';
import type { Stage } from '../stage.ts';

/** For sockets to close and the collector to have its turn, before memory is looked at. */
const SETTLE_MILLISECONDS = 2000;
const LOOKS = 5;

/** Target 9: what the service holds in memory after a million transfers, against after two hundred thousand. */
export function memoryStaysFlat(stage: Stage): Promise<Outcome> {
  const { belongings, options } = stage;
  const { first, last } = options.memory;
  return withLedger(stage, async ({ traffic, processId }, ledger) => {
    const connections = MANY_CONNECTIONS;
    const sendUpTo = async (total: number): Promise<number> => {
      const count = total - ledger.answered;
      const plan = { ...traffic, mode: 'closed', connections, count, send: { kind: 'transfers' } } as const;
      const result = await runGenerator(belongings, plan);
      if (result.failed > 0) throw new Error(`${result.failed} requests failed. The first: ${result.firstFailure}`);
      ledger.answered += result.answered;
      return restingBytes(processId);
    };
    const before = await sendUpTo(first);
    const after = await sendUpTo(last);
    const megabytes = (bytes: number): string => `${short(bytes / 1024 ** 2)} MB`;
    return {
      target: 9,
      title: `resident memory after ${inWords(last)} transfers, against after ${inWords(first)}`,
      measured: megabytes(after),
      against: megabytes(before),
      ratio: after / before,
      bound: { at: 'most', ratio: 1.1 },
      aim: null,
      runs: { 'bytes before': [before], 'bytes after': [after] },
      notes: [`One run; the load stopped, ${SETTLE_MILLISECONDS / 1000} s later the median of ${LOOKS} looks.`],
    };
  });
}

async function restingBytes(processId: number): Promise<number> {
  await sleep(SETTLE_MILLISECONDS);
  const looks: number[] = [];
  for (let look = 0; look < LOOKS; look += 1) {
    looks.push(residentBytes(processId));
    await sleep(100);
  }
  return median(looks);
}
