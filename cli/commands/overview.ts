import type { Overview } from '../../sdk/client.ts';
import { type AddCommands, addCommand } from '../command.ts';
import { alignedLines, type Pair } from '../output.ts';

/** Adds `overview`. */
export const addOverview: AddCommands = (program, context) =>
  addCommand(program, context, {
    name: 'overview',
    description: 'show rates, latencies and errors of the last minute, and what waits',
    notes: '\nRates, latencies and errors are those of the process that responds.',
    run: async ({ service, showText }) => {
      const overview = await service.status.overview();
      showText(overview, describe(overview));
    },
  });

function describe({ now, lane_waiting: waiting, recent, hours, status }: Overview): string {
  const pairs: readonly Pair[] = [
    ['ready', `${status.readiness.ready ? 'yes' : 'no'} (${status.readiness.reason})`],
    ['transfers', `${now.transfers_per_second} a second in the last ${now.seconds} seconds, ${waiting} waiting`],
    ['last 24 hours', dayText(hours)],
    ['requests', `${now.requests} that move money`],
    ['succeeded', String(now.succeeded)],
    ['refused (409)', String(now.refused)],
    ['other 4xx', String(now.invalid)],
    ['failed', String(now.failed)],
    ['latency', `p50 ${millisecondsText(now.p50_milliseconds)}, p99 ${millisecondsText(now.p99_milliseconds)}`],
    ['short of', status.degraded.map(({ name }) => name).join(', ') || 'nothing'],
  ];
  return alignedLines([...pairs, ...errorPairs(recent)]);
}

function dayText(hours: Overview['hours']): string {
  if (hours === null) return 'not known, because the database did not say';
  return `${hours.reduce((sum, { transfers }) => sum + transfers, 0)} transfers`;
}

function millisecondsText(milliseconds: number | null): string {
  return milliseconds === null ? 'unknown' : `${milliseconds} ms`;
}

/** The errors of the last quarter of an hour. */
function errorPairs({ errors }: Overview['recent']): readonly Pair[] {
  return errors.map(
    ({ code, counts }): Pair => [code, `${counts.reduce((sum, count) => sum + count, 0)} in 15 minutes`],
  );
}
