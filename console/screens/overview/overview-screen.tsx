import type { Overview } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Facts } from '../../components/facts.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Page, Section } from '../../components/page.tsx';
import { hrefTo } from '../../data/location.ts';
import { useOperation } from '../../data/use-operation.ts';
import { formatCount } from '../../format/amounts.ts';
import { formatBytes, formatDelay, formatLatency, formatShare } from '../../format/overview.ts';
import { formatDuration } from '../../format/times.ts';
import { DayCharts, RecentCharts } from './overview-charts.tsx';

/** The service makes it once a second; the eye needs less. */
const POLL_MILLISECONDS = 2_000;

/** How the service does: what somebody looks at first. */
export function OverviewScreen() {
  const overview = useOperation((api, options) => api.status.overview(options), {
    pollMilliseconds: POLL_MILLISECONDS,
  });
  return (
    <Page title="Overview" lead={overview.data && <Process status={overview.data.status} />}>
      <Loaded state={overview}>
        {(found) => (
          <>
            <Concerns status={found.status} />
            <Section title={`Now: the last ${found.now.seconds} seconds`}>
              <Figures overview={found} />
            </Section>
            <RecentCharts recent={found.recent} now={found.now} />
            <DayCharts hours={found.hours} madeAt={found.made_at} />
            <Section title="State">
              <State overview={found} />
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Process({ status }: { readonly status: Overview['status'] }) {
  return (
    <>
      Version {status.version}, {status.mode} mode. Rates, latencies and errors are those of process {status.process_id}{' '}
      on {status.host}, which has run for {formatDuration(status.uptime_seconds * 1000)}.
    </>
  );
}

/** What is wrong, or what the service is short of, each with the page of the runbook that says what to do. */
function Concerns({ status: { readiness, degraded, unknown } }: { readonly status: Overview['status'] }) {
  const shown = readiness.ready ? degraded : [{ ...readiness, name: readiness.reason }, ...degraded];
  if (shown.length === 0 && unknown.length === 0) return null;
  return (
    <ul class="concerns" aria-label="What needs attention">
      {shown.map(({ name, message, runbook }) => (
        <li key={name}>
          <b>{name.replaceAll('_', ' ')}</b>: {message}
          {runbook !== null && (
            <>
              {' '}
              What to do:{' '}
              <a href={`/${runbook}`}>
                <code>{runbook}</code>
              </a>
            </>
          )}
        </li>
      ))}
      {unknown.length > 0 && <li>Not known, because the database did not say: {unknown.join(', ')}.</li>}
    </ul>
  );
}

/** The numbers of the last minute. */
function Figures({ overview: { now, lane_waiting: waiting } }: { readonly overview: Overview }) {
  const rest = now.requests - now.succeeded;
  return (
    <dl class="figures">
      <Figure name="Transfers a second" note="created by this process">
        {now.transfers_per_second.toLocaleString('en-US')}
      </Figure>
      <Figure name="Success" note={`${formatCount(now.requests)} requests that move money`} isBad={now.failed > 0}>
        {formatShare(now.success_ratio)}
      </Figure>
      <Figure name="Refused by rules" note="409, and 424 by the switch">
        {formatCount(now.refused)}
      </Figure>
      <Figure name="Other errors of callers" note={`of ${formatCount(rest)} that did not succeed`}>
        {formatCount(now.invalid)}
      </Figure>
      <Figure name="Failed" note="faults of the service" isBad={now.failed > 0}>
        {formatCount(now.failed)}
      </Figure>
      <Figure name="Latency" note={`99 of 100 within ${formatLatency(now.p99_milliseconds)}`}>
        {formatLatency(now.p50_milliseconds)}
      </Figure>
      <Figure name="Waiting" note="transfers in the lane, at this moment">
        {formatCount(waiting)}
      </Figure>
    </dl>
  );
}

function Figure({
  name,
  note,
  isBad = false,
  children,
}: {
  readonly name: string;
  readonly note: string;
  readonly isBad?: boolean;
  readonly children: string;
}) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class={isBad ? 'bad' : undefined}>
        {children}
        <small>{note}</small>
      </dd>
    </div>
  );
}

/** What only the database and the parts of the process know. */
function State({ overview: { status } }: { readonly overview: Overview }) {
  const { database, webhooks, backups, books, error_log: errors, connections, switch: switched } = status;
  const isDisabled = switched.service_disabled === true || (switched.programs_disabled ?? 0) > 0;
  return (
    <Facts
      facts={[
        ['Ready', <Badge tone={status.readiness.ready ? 'good' : 'bad'}>{status.readiness.reason}</Badge>],
        [
          'Switch',
          <a href={hrefTo('/console/switch')}>
            {switched.service_disabled === null
              ? 'not known'
              : isDisabled
                ? switchText(switched)
                : 'everything enabled'}
          </a>,
        ],
        ['Due transfers and holds', formatDelay(status.due_late_seconds)],
        ['Positions of events', formatDelay(status.relay_lag_seconds)],
        ['Database', `${database.kind}, ${database.state}${database.version === null ? '' : `, ${database.version}`}`],
        ['Size', database.size_bytes === null ? '–' : formatBytes(database.size_bytes)],
        ['Connections', `${connections.in_use} of ${connections.max} in use, ${connections.waiting} waiting`],
        ['Standbys', standbyText(database)],
        [
          'Last backup',
          backups.last_copy_at === null ? 'none taken here' : <Moment at={backups.last_copy_at} distance />,
        ],
        ['Restorable until', <Moment at={backups.restorable_until} distance />],
        [
          'Books',
          books.verified_at === null ? (
            'not verified yet'
          ) : (
            <>
              {books.balanced === true ? 'balanced ' : 'DIFFERENT '}
              <Moment at={books.verified_at} distance />
            </>
          ),
        ],
        ['Errors waiting on disk', `${formatBytes(errors.spool_bytes)} of ${formatBytes(errors.max_spool_bytes)}`],
        ['Errors dropped', formatCount(errors.dropped)],
        ['Webhooks', webhookText(webhooks)],
        ['Programs low on funds', status.funding_low === null ? '–' : formatCount(status.funding_low)],
        ['Schema', `${status.schema.state ?? '–'}`.replaceAll('_', ' ')],
      ]}
    />
  );
}

function switchText({ service_disabled: all, programs_disabled: count }: Overview['status']['switch']): string {
  if (all === true) return 'service disabled';
  return `${count} ${count === 1 ? 'program' : 'programs'} disabled`;
}

function standbyText({
  standbys,
  replication_lag_bytes: lag,
  waits_for_standby: waits,
}: Overview['status']['database']) {
  if (standbys === null) return 'not known';
  if (standbys === 0) return 'none';
  return `${standbys}, ${formatBytes(lag ?? 0)} behind${waits === true ? ', commits wait' : ''}`;
}

function webhookText({ delivery, enabled, paused, failing }: Overview['status']['webhooks']): string {
  const state = delivery.replaceAll('_', ' ');
  if (enabled === null || enabled + (paused ?? 0) === 0) return state;
  return `${state}: ${enabled} enabled, ${paused ?? 0} paused, ${failing ?? 0} failing`;
}
