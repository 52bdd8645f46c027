import type { Overview } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Highlights } from '../../components/details.tsx';
import { LinkedText } from '../../components/id.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { ProgramName } from '../../components/name.tsx';
import { Page, Section } from '../../components/page.tsx';
import { hrefTo } from '../../data/location.ts';
import { useProgramId } from '../../data/program.ts';
import { useOperation } from '../../data/use-operation.ts';
import { formatCount } from '../../format/amounts.ts';
import { formatLatency, formatShare, healthOf, UNAVAILABLE } from '../../format/overview.ts';
import './overview.css';
import { DayCharts, RecentCharts } from './overview-charts.tsx';
import { ProcessorConcernList, Support, useProcessorConcerns } from './overview-concerns.tsx';
import { State } from './overview-state.tsx';

/** The service updates the overview every second, but people need it less often. */
const POLL_MILLISECONDS = 2_000;

export function OverviewScreen() {
  const overview = useOperation((api, options) => api.status.overview(options), {
    pollMilliseconds: POLL_MILLISECONDS,
  });
  const processors = useProcessorConcerns();
  const { down, attention } = processors;
  return (
    <Page title="Overview">
      <Loaded state={overview}>
        {(found) => (
          <>
            <Health overview={found} others={down.length + (attention === undefined ? 0 : 1)} />
            <Yesterday status={found.status} />
            <Support proposed={found.proposed_incidents} />
            <ProcessorConcernList of={processors} />
            <Section title="The last minute">
              <Figures figures={found.all ?? found.now} queued={found.lane_waiting} />
            </Section>
            <Section title="Health">
              <State status={found.status} />
            </Section>
            <Processes processes={found.processes ?? []} />
            <RecentCharts recent={found.recent} now={found.now} isOneOfSeveral={(found.processes?.length ?? 1) > 1} />
            <DayCharts hours={found.hours} madeAt={found.made_at} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** During an upgrade, the response of an earlier version has no `yesterday`. */
type UpgradedStatus = Omit<Overview['status'], 'yesterday'> & Partial<Pick<Overview['status'], 'yesterday'>>;

/** Says whether yesterday added up, unless the list above says that it did not. Leads to the day of the chosen card program. */
function Yesterday({ status: { yesterday, degraded } }: { readonly status: UpgradedStatus }) {
  const programId = useProgramId();
  if (
    yesterday === undefined ||
    degraded.some(({ name }) => name === 'day_not_adding_up' || name === 'day_not_checked')
  )
    return null;
  return (
    <p class="quiet">
      {yesterday.message}{' '}
      {programId === undefined ? (
        <a href={hrefTo('/console/programs')}>See the day of a card program</a>
      ) : (
        <a href={hrefTo(`/console/programs/${programId}/day`)}>
          See the day of <ProgramName id={programId} plain linked={false} />
        </a>
      )}
    </p>
  );
}

/** Says whether the service works, and lists everything that needs attention, with its runbook page. */
function Health({ overview, others }: { readonly overview: Overview; readonly others: number }) {
  const { status, processes } = overview;
  const { readiness, degraded, unknown } = status;
  const { tone, sentence } = healthOf(overview, others);
  const shown = readiness.ready ? degraded : [{ ...readiness, name: readiness.reason }, ...degraded];
  const gone = (processes ?? []).filter(({ alive }) => !alive);
  return (
    <>
      <p class={`answer ${tone}`}>
        <b>{sentence}</b>
      </p>
      {shown.length + unknown.length + gone.length > 0 && (
        <ul class="concerns" aria-label="What needs attention">
          {shown.map(({ name, message, runbook }) => (
            <li key={name}>
              <LinkedText text={message} />
              {name === 'webhooks_failing' && (
                <>
                  {' '}
                  <a href={hrefTo('/console/failed-webhooks')}>What failed</a>
                </>
              )}
              {name === 'day_not_adding_up' &&
                status.yesterday.days?.map(({ program_id: id, program_name: program, day }) => (
                  <span key={`${id} ${day}`}>
                    {' '}
                    <a href={hrefTo(`/console/programs/${id}/day`, { day })}>
                      See {day} of {program}
                    </a>
                  </span>
                ))}
              {runbook !== null && (
                <>
                  {' '}
                  <a href={`/${runbook}`}>What to do</a>
                </>
              )}
            </li>
          ))}
          {gone.map(({ host, process_id: id, seen_at: at }) => (
            <li key={`${host} ${id}`}>
              The process {id} on {host} has not been seen since <Moment at={at} short actual />.
            </li>
          ))}
          {unknown.length > 0 && (
            <li>
              {UNAVAILABLE}: {unknown.join(', ')}.
            </li>
          )}
        </ul>
      )}
    </>
  );
}

/** Shows the results of requests that move money: rate, success and latency in large type, and other counts that are not 0. */
function Figures({ figures, queued }: { readonly figures: Overview['now']; readonly queued: number }) {
  const { requests, success_ratio: share, p50_milliseconds: p50, p99_milliseconds: p99 } = figures;
  const isQuiet = requests === 0 && figures.transfers_per_second === 0 && queued === 0;
  if (isQuiet) return <p class="quiet">Quiet: no requests to move money.</p>;
  const { refused, invalid, failed, transfers_per_second: rate } = figures;
  const rest = [
    refused > 0 && `${formatCount(refused)} declined`,
    invalid > 0 && `${formatCount(invalid)} other client ${invalid === 1 ? 'error' : 'errors'}`,
    queued > 0 && `${formatCount(queued)} queued now`,
  ].filter((text) => text !== false);
  return (
    <>
      <Highlights
        facts={[
          { name: 'Transfers per second', value: rate.toLocaleString('en-US') },
          share !== null && {
            name: 'Succeeded',
            value: formatShare(share),
            note: `of ${formatCount(requests)} ${requests === 1 ? 'request that moves' : 'requests that move'} money`,
          },
          p50 !== null &&
            p99 !== null && { name: 'Latency, p99', value: formatLatency(p99), note: `p50 ${formatLatency(p50)}` },
          failed > 0 && {
            name: 'Failed',
            value: <span class="failed">{formatCount(failed)}</span>,
            note: 'service faults',
          },
        ]}
      />
      {rest.length > 0 && <p class="quiet">Of these: {rest.join(', ')}.</p>}
    </>
  );
}

type Process = NonNullable<Overview['processes']>[number];

const COLUMNS: readonly Column<Process>[] = [
  {
    title: 'Process',
    onPhone: 'title',
    cell: ({ host, process_id: id, current }) => (
      <>
        {host} <span class="quiet">{id}</span>
        {current && <span class="quiet"> (this one)</span>}
      </>
    ),
  },
  {
    title: 'State',
    onPhone: 'value',
    cell: ({ alive }) => <Badge tone={alive ? 'good' : 'bad'}>{alive ? 'running' : 'not seen'}</Badge>,
  },
  {
    title: 'Transfers per second',
    align: 'end',
    onPhone: 'note',
    cell: ({ alive, figures }) => (alive ? figures.transfers_per_second.toLocaleString('en-US') : ''),
  },
  {
    title: 'Latency, p99',
    align: 'end',
    cell: ({ alive, figures: { p99_milliseconds: p99 } }) => (alive && p99 !== null ? formatLatency(p99) : ''),
  },
  { title: 'Version', onPhone: 'note', cell: ({ version }) => version },
  { title: 'Running since', cell: ({ started_at: at }) => <Moment at={at} short actual /> },
  { title: 'Last seen', onPhone: 'note', cell: ({ seen_at: at }) => <Moment at={at} distance actual /> },
];

/** Lists the processes if there are several or one is missing. */
function Processes({ processes }: { readonly processes: readonly Process[] }) {
  if (processes.length < 2) return null;
  return (
    <Section title="Processes">
      <DataTable
        label="Processes"
        columns={COLUMNS}
        rows={processes}
        rowKey={({ host, process_id, started_at }) => `${host} ${process_id} ${started_at}`}
      />
    </Section>
  );
}
