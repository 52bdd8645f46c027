import './overview.css';
import '../../components/charts/charts.css';
import type { Overview } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { CopyButton } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Page, Section } from '../../components/page.tsx';
import { hrefTo } from '../../data/location.ts';
import { useSession } from '../../data/session.ts';
import { useOperation } from '../../data/use-operation.ts';
import { type Area, linePath, type SeriesTone, type Value } from '../../format/charts/paths.ts';
import { formatLatency, healthOf, isUnused } from '../../format/overview.ts';
import { formatRate, overviewFigures } from '../../format/overview-figures.ts';
import { type Attention, AttentionSection, useAttention } from './attention.tsx';
import { Charts } from './overview-charts.tsx';
import { State } from './overview-state.tsx';

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

/** Says what to do first, while there are no transfers. */
function Start({ mode }: { readonly mode: Overview['status']['mode'] }) {
  return (
    <Section title="No transfers in the last 24 hours">
      <p>Figures and charts appear here with the first transfer.</p>
      {mode === 'sandbox' ? <StartInSandbox /> : <StartLive />}
    </Section>
  );
}

function StartInSandbox() {
  const { caller } = useSession();
  // A sandbox needs no key from a caller on its machine, and then uses the demo program.
  const key = caller === 'sandbox' ? '' : '-H "Authorization: Bearer <key>" -H "Program-Id: <program_id>" ';
  const body = `'{"amount": 1000, "card_id": "card_active"}'`;
  const command = `curl ${window.location.origin}/api/v0.1/core/transfer ${key}-d ${body}`;
  return (
    <ol class="start">
      <li>
        Load 10.00 USD onto a card of the demo program:
        <div class="start-command">
          <code>{command}</code>
          <CopyButton text={command} label="Copy the command" />
        </div>
      </li>
      <li>
        <a href={hrefTo('/console/sandbox')}>Provoke an error</a> to see how the service explains a failure.
      </li>
      <li>
        Read the <a href="/guides/quickstart">Quickstart</a>: a transfer, an error and a webhook in ten minutes.
      </li>
    </ol>
  );
}

function StartLive() {
  return (
    <ol class="start">
      <li>
        Create a <a href={hrefTo('/console/programs')}>card program</a> and deposit money, if there is none.
      </li>
      <li>
        Create a <a href={hrefTo('/console/keys')}>key</a> for the program that will send transfers.
      </li>
      <li>
        Read <a href="/guides/go-live">Go live</a>.
      </li>
    </ol>
  );
}

/** Shows four figures of the last minute, each with its value in the 14 minutes before. */
function Figures({ overview }: { readonly overview: Overview }) {
  const isOneOfSeveral = (overview.processes?.length ?? 1) > 1;
  return (
    <Section
      title="The last minute"
      actions={<span class="quiet">compared with the 14 minutes before{isOneOfSeveral && ', in this process'}</span>}
    >
      <dl class="figures">
        {overviewFigures(overview).map(({ name, value, note, before, tone, trend, floor }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class={tone === 'bad' || tone === 'waiting' ? `figure tone-${tone}` : 'figure'}>
              {value ?? <span class="figure-none">no requests</span>}
            </dd>
            {value !== undefined && <dd>{note}</dd>}
            <dd>before: {before}</dd>
            <dd class="figure-trend">
              <Sparkline values={trend} floor={floor} tone={tone} />
            </dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}

const WIDTH = 120;
const HEIGHT = 28;

/** Keeps the line off the edges. */
const MARGIN = 3;

/** Shows how a number has changed, without axes. It is interrupted where the number is unknown. The last value has a dot. */
function Sparkline({
  values,
  floor,
  tone,
}: {
  readonly values: readonly Value[];
  /** The minimum value at the upper edge, so that a tiny change doesn't look large. */
  readonly floor: number;
  readonly tone: SeriesTone;
}) {
  const times = values.map((_, at) => at);
  const area: Area = {
    width: WIDTH - 2 * MARGIN,
    height: HEIGHT - 2 * MARGIN,
    first: 0,
    last: values.length - 1,
    top: Math.max(floor, ...values.map((value) => value ?? 0)),
  };
  const lastOnly = values.map((value, at) => (at === values.length - 1 ? value : null));
  return (
    <svg class={`sparkline tone-${tone}`} viewBox={`${-MARGIN} ${-MARGIN} ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      <path class="sparkline-base" d={`M0 ${area.height}h${area.width}`} />
      <path d={linePath(times, values, area)} />
      <path class="sparkline-end" d={linePath(times, lastOnly, area)} />
    </svg>
  );
}
