import type { Overview } from '../../sdk/client.ts';
import { type AddCommands, addCommand } from '../command.ts';
import { alignedLines, type Pair } from '../output.ts';

export const addOverview: AddCommands = (program, context) =>
  addCommand(program, context, {
    name: 'overview',
    description: 'show rates, latencies and errors of the last minute, and what is queued',
    notes: '\nFigures cover all processes; error codes are from the process that responds.',
    run: async ({ service, showText }) => {
      const overview = await service.status.overview();
      showText(overview, describe(overview));
    },
  });

function describe({ all, now: own, processes, lane_waiting: waiting, recent, hours, status }: Overview): string {
  const now = all ?? own;
  const pairs: readonly Pair[] = [
    ['ready', `${status.readiness.ready ? 'yes' : 'no'} (${status.readiness.reason})`],
    ['processes', processesText(processes)],
    ['transfers', `${now.transfers_per_second} a second in the last ${now.seconds} seconds, ${waiting} queued now`],
    ['last 24 hours', dayText(hours)],
    ['requests', `${now.requests} that move money`],
    ['succeeded', String(now.succeeded)],
    ['declined', String(now.refused)],
    ['other client errors', String(now.invalid)],
    ['failed', String(now.failed)],
    ['latency', `p50 ${millisecondsText(now.p50_milliseconds)}, p99 ${millisecondsText(now.p99_milliseconds)}`],
    ['needs attention', status.degraded.map(({ name }) => name).join(', ') || 'nothing'],
  ];
  return alignedLines([...pairs, ...errorPairs(recent)]);
}

function processesText(processes: Overview['processes']): string {
  if (processes === null) return 'unknown while the database is down';
  const gone = processes.filter(({ alive }) => !alive);
  const silent = gone.map(({ host, process_id: id, seen_at: at }) => `; ${id} on ${host} was last seen at ${at}`);
  return `${processes.length - gone.length} running${silent.join('')}`;
}

function dayText(hours: Overview['hours']): string {
  if (hours === null) return 'unknown while the database is down';
  return `${hours.reduce((sum, { transfers }) => sum + transfers, 0)} transfers`;
}

function millisecondsText(milliseconds: number | null): string {
  return milliseconds === null ? 'unknown' : `${milliseconds} ms`;
}

function errorPairs({ errors }: Overview['recent']): readonly Pair[] {
  return errors.map(
    ({ code, counts }): Pair => [code, `${counts.reduce((sum, count) => sum + count, 0)} in 15 minutes`],
  );
}
