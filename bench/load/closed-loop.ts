import { randomInt } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { Belongings } from '../belongings.ts';
import { runProgram } from '../child-program.ts';
import { runGenerator } from './run-generator.ts';
import { AMOUNT, type LoadResult, type Traffic } from './traffic.ts';

const SCRIPT = fileURLToPath(new URL('transfers.lua', import.meta.url));

type Summary = Readonly<
  Record<'requests' | 'elapsed_us' | 'refused' | 'broken' | 'p50' | 'p90' | 'p99' | 'p999' | 'most', number>
>;

/** A closed loop: each connection sends its next request when it has the answer to the one before. */
export type ClosedLoop = {
  readonly belongings: Belongings;
  /** Where wrk is. It costs a third of the CPU of our own generator, which on few cores the service would miss. */
  readonly wrk: string | undefined;
};

/** Sends transfers over so many connections for so many seconds. */
export async function runClosedLoop(
  { belongings, wrk }: ClosedLoop,
  traffic: Traffic,
  connections: number,
  seconds: number,
): Promise<LoadResult> {
  if (wrk === undefined) {
    return runGenerator(belongings, { ...traffic, mode: 'closed', connections, seconds, send: { kind: 'transfers' } });
  }
  const settings = ['-t', '1', '-c', `${connections}`, '-d', `${seconds}s`, '--timeout', '10s', '-s', SCRIPT];
  const words = [randomInt(2 ** 31), traffic.key, traffic.cards, AMOUNT, traffic.programs.join(',')].map(String);
  const ending = await runProgram(belongings, wrk, [...settings, traffic.url, '--', ...words]);
  const summary = JSON.parse(ending.output.trim().split('\n').at(-1) ?? '') as Summary;
  const milliseconds = (name: 'p50' | 'p90' | 'p99' | 'p999' | 'most'): number => summary[name] / 1000;
  return {
    answered: summary.requests - summary.refused,
    failed: summary.refused + summary.broken,
    elapsed_s: summary.elapsed_us / 1e6,
    latenciesMilliseconds: {
      p50: milliseconds('p50'),
      p90: milliseconds('p90'),
      p99: milliseconds('p99'),
      p999: milliseconds('p999'),
      most: milliseconds('most'),
    },
    generatorCores: ending.processorTimeMilliseconds / ending.elapsedMilliseconds,
    firstFailure:
      summary.refused + summary.broken === 0 ? null : `wrk: ${summary.refused} refused, ${summary.broken} broken`,
  };
}
