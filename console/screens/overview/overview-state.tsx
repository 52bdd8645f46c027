import type { ComponentChildren } from 'preact';
import type { Overview } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Details } from '../../components/details.tsx';
import { Moment } from '../../components/moment.tsx';
import { hrefTo } from '../../data/location.ts';
import { formatCount } from '../../format/amounts.ts';
import { formatNumber } from '../../format/operators/switch.ts';
import { formatBytes, formatDelay, UNAVAILABLE } from '../../format/overview.ts';
import { formatDuration } from '../../format/times.ts';

type Status = Overview['status'];

/** Shows the state of each part of the service in words, as details of the first line. */
export function State({ status }: { readonly status: Status }) {
  const { database, webhooks, backups, error_log: errors, connections, version, mode } = status;
  const standbys = database.standby_list ?? [];
  return (
    <Details
      facts={[
        ['Transfers', switchFact(status.switch)],
        ['Scheduled transfers and holds', formatDelay(status.due_late_seconds)],
        ['Events', formatDelay(status.relay_lag_seconds, 'up to date')],
        ['Webhooks', webhookFact(webhooks)],
        ['Books', booksText(status.books)],
        (status.funding_low ?? 0) > 0 && ['Programs low on funds', formatCount(status.funding_low ?? 0)],
        ['Database', databaseText(database)],
        ['Connections', `${connections.in_use} of ${connections.max} in use`],
        connections.waiting > 0 && ['Waiting for a connection', formatCount(connections.waiting)],
        standbys.length > 0 && ['Standbys', standbys.map((standby) => <div>{standbyText(standby)}</div>)],
        !isSandboxOfOneMachine(status) && ['If the primary is lost', survivalText(database.survives_primary_loss)],
        [
          'Last backup',
          backups.last_copy_at === null ? 'None taken here' : <Moment at={backups.last_copy_at} distance actual />,
        ],
        backups.restorable_until !== null && [
          'Restorable until',
          <Moment at={backups.restorable_until} distance actual />,
        ],
        errors.spool_bytes > 0 && [
          'Errors waiting on disk',
          `${formatBytes(errors.spool_bytes)} of ${formatBytes(errors.max_spool_bytes)}`,
        ],
        errors.dropped > 0 && ['Errors not recorded', formatCount(errors.dropped)],
        status.schema.state !== null &&
          status.schema.state !== 'current' && ['Schema', status.schema.state.replaceAll('_', ' ')],
        [
          'Version',
          `${version}, ${mode} mode, running for ${formatDuration(status.uptime_seconds * 1000)} on ${status.host} (process ${status.process_id})`,
        ],
      ]}
    />
  );
}

/** The state keeps its badge colors, because the color of a link would make every state green. */
function switchFact({
  service_disabled: all,
  programs_disabled: programs,
  connectors_disabled: connectors,
}: Status['switch']): ComponentChildren {
  if (all === null) return <Badge tone="waiting">{UNAVAILABLE}</Badge>;
  const parts = [
    ...(programs === null || programs === 0 ? [] : [`in ${formatNumber(programs, 'program')}`]),
    ...(connectors === null || connectors === 0 ? [] : [`at ${formatNumber(connectors, 'connector')}`]),
  ];
  if (!all && parts.length === 0) return <Badge tone="good">All enabled</Badge>;
  return (
    <a href={hrefTo('/console/switch')}>
      <Badge tone="bad">{all ? 'All stopped' : `Stopped ${parts.join(' and ')}`}</Badge>
    </a>
  );
}

function booksText({ verified_at: at, balanced }: Status['books']): ComponentChildren {
  if (at === null) return 'Not verified yet';
  return (
    <>
      {balanced === true ? 'Balanced' : <b class="failed">Not balanced</b>}, checked <Moment at={at} distance actual />
    </>
  );
}

function databaseText({ kind, state, host, version, size_bytes: bytes }: Status['database']): string {
  const parts = [
    kind,
    state,
    host,
    version === null ? null : `PostgreSQL ${version}`,
    bytes === null ? null : formatBytes(bytes),
  ];
  return parts.filter((part) => part !== null).join(', ');
}

function standbyText(standby: NonNullable<Status['database']['standby_list']>[number]): string {
  const { name, state, sync_state: sync, lag_bytes: bytes, lag_seconds: seconds } = standby;
  const late = seconds === null ? '' : `, ${formatDuration(seconds * 1000)}`;
  return `${name}: ${state}, ${sync}, ${formatBytes(bytes)}${late} behind`;
}

/** Whether this is a sandbox on one machine. It has no standby on purpose, so the console does not mention that. */
function isSandboxOfOneMachine({ mode, database }: Status): boolean {
  return mode === 'sandbox' && database.kind === 'embedded' && database.waits_for_standby !== true;
}

function survivalText({ answer, reason }: Status['database']['survives_primary_loss']): ComponentChildren {
  if (answer === 'yes') return `Acknowledged transfers survive. ${reason}`;
  if (answer === 'unknown') return `Not known. ${reason}`;
  return `Acknowledged transfers can be lost. ${reason}`;
}

function webhookFact({ delivery, enabled, paused, failing }: Status['webhooks']): ComponentChildren {
  const state = delivery.replaceAll('_', ' ');
  if (enabled === null) return <Badge tone="waiting">{UNAVAILABLE}</Badge>;
  if (enabled + (paused ?? 0) === 0) return 'None';
  const some = [
    [enabled, 'enabled', 'good'],
    [paused ?? 0, 'paused', 'waiting'],
    [failing ?? 0, 'failing', 'bad'],
  ] as const;
  return (
    <a href={hrefTo('/console/failed-webhooks')}>
      {state}:{' '}
      {some.flatMap(([count, word, tone]) =>
        count > 0 ? [<Badge key={word} tone={tone}>{`${count} ${word}`}</Badge>, ' '] : [],
      )}
    </a>
  );
}
