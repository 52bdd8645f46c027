import { printable } from '../../domain/printable-text.ts';
import { type Overview, type ServiceStatus, TransferServiceError } from '../../sdk/client.ts';
import { type AddCommands, addCommand } from '../command.ts';
import { EXIT_CODES } from '../failure.ts';
import { alignedLines, type Pair } from '../output.ts';
import { bad, good, warning } from '../paint.ts';
import { plainTime } from '../times.ts';
import { pageOf } from './doctor.ts';

type Standby = NonNullable<ServiceStatus['database']['standby_list']>[number];

/** Adds `status`. It exits with 3 if the service is not ready, so that a scheduler can alert. */
export const addStatus: AddCommands = (program, context) =>
  addCommand(program, context, {
    name: 'status',
    description: 'show whether the service is ready, what needs attention, and what to do',
    notes: '\nExits with 3 if the service is not ready, and with 4 if no service responds.',
    run: async ({ service, url, writeError, showText, exitWith }) => {
      const status = await service.status.get().catch((error: unknown) => {
        if (error instanceof TransferServiceError)
          writeError(`${url}/health/ready needs no key, and names the state.\n`);
        throw error;
      });
      showText(status, describe(status, url));
      if (!status.readiness.ready) exitWith(EXIT_CODES.serviceFault);
    },
  });

function describe(status: ServiceStatus, url: string): string {
  const { readiness, degraded, unknown } = status;
  const head = alignedLines([['ready', readyText(readiness)], ...factsOf(status)]).replace(
    /yes|no/,
    readiness.ready ? good('yes') : bad('no'),
  );
  const problems = readiness.ready ? [] : [{ ...readiness, name: readiness.reason }];
  const shown = [...problems, ...degraded].map(
    ({ name, message, runbook }) =>
      `\n${readiness.ready ? warning(name) : bad(name)}: ${printable(message)}\n${runbook === null ? '' : `  Runbook: ${url}/guides/runbook/${printable(pageOf(runbook))}\n`}`,
  );
  const missing = unknown.length === 0 ? '' : `\nUnavailable while the database is down: ${unknown.join(', ')}.\n`;
  return `${head}${shown.join('')}${missing}`;
}

function factsOf(status: ServiceStatus): readonly Pair[] {
  const { database, schema, connections, webhooks, error_log: errors, books, backups, switch: disabled } = status;
  const facts: readonly (readonly [string, string | null])[] = [
    ['service', `${status.version}, ${status.mode} mode, process ${status.process_id} on ${status.host}`],
    ['running for', durationText(status.uptime_seconds)],
    ['database', `${database.kind}, ${database.state}`],
    ['host', database.host === null ? null : `${database.host} since ${plainTimeOf(database.host_since)}`],
    ['PostgreSQL', database.version],
    ['size', bytesText(database.size_bytes)],
    ['standbys', database.standbys === null ? null : `${database.standbys}, ${replicationText(database)}`],
    ...(database.standby_list ?? []).map(standbyFact),
    ['primary lost', isSandboxOfOneMachine(status) ? null : survivalText(database.survives_primary_loss)],
    ['schema', schema.state === null ? null : `${schema.state}, ${schema.newest_migration ?? 'no migration'}`],
    [
      'connections',
      `${connections.in_use} in use, ${connections.idle} idle, of ${connections.max}; ${connections.waiting} requests waiting`,
    ],
    ['webhooks', webhooksText(webhooks)],
    [
      'error spool',
      `${bytesText(errors.spool_bytes)} of ${bytesText(errors.max_spool_bytes)}; ${errors.dropped} errors dropped`,
    ],
    ['events', secondsText(status.relay_lag_seconds, 'up to date')],
    ['due transfers', secondsText(status.due_late_seconds, 'on time')],
    [
      'disabled',
      disabled.service_disabled === null
        ? null
        : `${disabled.service_disabled ? 'the service, ' : ''}${disabled.programs_disabled} card programs, ${disabled.connectors_disabled} connectors`,
    ],
    [
      'books',
      books.verified_at === null
        ? null
        : `${books.balanced === true ? 'balanced' : 'NOT BALANCED'} at ${plainTime(books.verified_at)}`,
    ],
    ['days', yesterdayText(status)],
    ['last copy', plainTimeOf(backups.last_copy_at)],
    ['restorable until', plainTimeOf(backups.restorable_until)],
    ['last archived', plainTimeOf(backups.last_archived_at)],
  ];
  return facts.flatMap(([name, text]): Pair[] => (text === null ? [] : [[name, text]]));
}

/** A process of an earlier version has no such part during an upgrade. */
function yesterdayText({ yesterday }: Partial<ServiceStatus>): string | null {
  const message = yesterday?.message ?? null;
  return message === null ? null : printable(message);
}

function bytesText(bytes: number | null): string | null {
  return bytes === null ? null : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Formats a duration with its two largest units: 26 s, 3 h 12 min, 5 d 2 h. */
function durationText(seconds: number): string {
  const units = [
    ['d', 86_400],
    ['h', 3_600],
    ['min', 60],
    ['s', 1],
  ] as const;
  const first = units.findIndex(([, length]) => seconds >= length);
  if (first === -1) return '0 s';
  let rest = seconds;
  const parts = units.slice(first, first + 2).map(([unit, length]) => {
    const count = Math.floor(rest / length);
    rest -= count * length;
    return count === 0 ? '' : `${count} ${unit}`;
  });
  return parts.filter((part) => part !== '').join(' ');
}

/** Says how late something is. Delays below one second are not mentioned. */
function secondsText(seconds: number | null, otherwise: string): string | null {
  if (seconds === null) return null;
  return seconds < 1 ? otherwise : `${seconds.toFixed(1)} s late`;
}

function replicationText({ replication_lag_bytes: lag, waits_for_standby: waits }: ServiceStatus['database']): string {
  return `${lag ?? 'unknown'} bytes behind, commits ${waits === true ? 'wait' : 'do not wait'} for one`;
}

function standbyFact(standby: Standby): readonly [string, string] {
  const { name, state, sync_state: sync, lag_bytes: bytes, lag_seconds: seconds } = standby;
  const late = seconds === null ? '' : `, ${seconds.toFixed(1)} s`;
  return ['standby', `${printable(name)}, ${printable(state)}, ${printable(sync)}, ${bytes} bytes${late} behind`];
}

/** Whether this is a sandbox on one machine. Such a sandbox has no standby on purpose, so the output does not mention it. */
function isSandboxOfOneMachine({ mode, database }: ServiceStatus): boolean {
  return mode === 'sandbox' && database.kind === 'embedded' && database.waits_for_standby !== true;
}

const SURVIVALS = {
  yes: 'acknowledged transfers survive',
  no: 'acknowledged transfers can be lost',
  unknown: 'not known whether acknowledged transfers survive',
} as const;

function survivalText({ answer, reason }: ServiceStatus['database']['survives_primary_loss']): string {
  return `${SURVIVALS[answer]}. ${reason}`;
}

function webhooksText({ delivery, enabled, paused, failing }: ServiceStatus['webhooks']): string {
  if (delivery === 'no_webhooks') return 'none';
  return enabled === null
    ? delivery
    : `delivery ${delivery}; ${enabled} enabled, ${paused ?? 0} paused, ${failing ?? 0} failing`;
}

function readyText({ ready, reason, since }: ServiceStatus['readiness']): string {
  return `${ready ? 'yes' : 'no'} (${reason}) since ${plainTime(since)}`;
}

function plainTimeOf(time: string | null): string | null {
  return time === null ? null : plainTime(time);
}

/** The maximum number of open breaks to count. */
const MAX_BREAKS = 100;

export const addOverview: AddCommands = (program, context) =>
  addCommand(program, context, {
    name: 'overview',
    description: 'show rates, latencies and errors of the last minute, and what is queued',
    notes: '\nFigures cover all processes; error codes are from the process that responds.',
    run: async ({ service, showText }) => {
      const overview = await service.status.overview();
      const { data, next_cursor: next } = await service.breaks.list({ limit: MAX_BREAKS });
      showText(overview, describeOverview(overview, `${next === null ? '' : 'more than '}${data.length}`));
    },
  });

function describeOverview(
  { all, now: own, processes, lane_waiting: waiting, recent, hours, status }: Overview,
  breaks: string,
): string {
  const now = all ?? own;
  const concerns = [...status.degraded.map(({ name }) => name), ...(breaks === '0' ? [] : [`breaks (${breaks})`])];
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
    ['days', yesterdayText(status) ?? 'unknown while the database is down'],
    ['open breaks', breaks],
    ['needs attention', concerns.join(', ') || 'nothing'],
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
