import type { Overview } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Page, Section } from '../../components/page.tsx';
import { useOperation } from '../../data/use-operation.ts';
import { formatLatency, healthOf, isUnused } from '../../format/overview.ts';
import { formatRate } from '../../format/overview-figures.ts';
import './overview.css';
import { AttentionSection } from './overview-attention.tsx';
import { Charts } from './overview-charts.tsx';
import { Figures } from './overview-figures.tsx';
import { Start } from './overview-start.tsx';
import { State } from './overview-state.tsx';
import { type Attention, useAttention } from './use-attention.tsx';

/** The service updates the overview every second, but people need it less often. */
const POLL_MILLISECONDS = 2_000;

export function OverviewScreen() {
  const overview = useOperation((api, options) => api.status.overview(options), {
    pollMilliseconds: POLL_MILLISECONDS,
  });
  const attention = useAttention(overview.data);
  return (
    <Page title="Overview">
      <Loaded state={overview}>
        {(found) => (
          <>
            <Health overview={found} attention={attention} />
            {isUnused(found) ? <Start mode={found.status.mode} /> : <Figures overview={found} />}
            <AttentionSection attention={attention} status={found.status} />
            {!isUnused(found) && <Charts overview={found} />}
            <Section title="Parts of the service">
              <State status={found.status} />
            </Section>
            <Processes processes={found.processes ?? []} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** Says in one sentence whether the service works. */
function Health({ overview, attention }: { readonly overview: Overview; readonly attention: Attention }) {
  const concerns = attention.concerns.length + attention.bursts.length;
  const { tone, sentence } = healthOf(overview, concerns);
  return (
    <p class={`answer ${tone}`}>
      <b>{sentence}</b>
    </p>
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
    cell: ({ alive, figures }) => (alive ? formatRate(figures.transfers_per_second) : ''),
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
