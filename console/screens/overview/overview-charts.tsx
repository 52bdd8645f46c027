import { useMemo } from 'preact/hooks';
import { type Overview, TRANSFER_TYPES } from '../../../sdk/client.ts';
import { BarChart, LineChart } from '../../components/charts/chart.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { Section } from '../../components/page.tsx';
import { hrefTo } from '../../data/location.ts';
import { useOperation } from '../../data/use-operation.ts';
import { formatCount } from '../../format/amounts.ts';
import type { SeriesTone } from '../../format/charts/paths.ts';
import { endsOf, errorsByHour, formatLatency, padded, transfersByHour } from '../../format/overview.ts';
import { formatRate } from '../../format/overview-figures.ts';
import { formatDuration } from '../../format/times.ts';

/** The number of points of a chart: 15 minutes. */
const POINTS = 180;

/** Hourly counts change slowly, and reading them costs a query. */
const DAY_POLL_MILLISECONDS = 60_000;

/** Crimson is not in the list, because it is for faults, and most codes are refusals by a rule. */
const CODE_TONES: readonly SeriesTone[] = ['waiting', 'process', 'fourth', 'fifth', 'good', 'ink', 'quiet'];
const TYPE_TONES = { load: 'good', unload: 'fourth', card_to_card: 'process' } as const;

function toneOf(code: string, at: number): SeriesTone {
  return code === 'other' ? 'quiet' : (CODE_TONES[at % CODE_TONES.length] ?? 'quiet');
}

export function Charts({ overview }: { readonly overview: Overview }) {
  const { recent, now, processes, hours, made_at: madeAt } = overview;
  return (
    <>
      <RecentCharts recent={recent} now={now} isOneOfSeveral={(processes?.length ?? 1) > 1} />
      <DayCharts hours={hours} madeAt={madeAt} />
    </>
  );
}

/** Shows the last 15 minutes of this process. The time before its start is a gap. */
function RecentCharts({
  recent,
  now,
  isOneOfSeveral,
}: Pick<Overview, 'recent' | 'now'> & { readonly isOneOfSeveral: boolean }) {
  const { ends_at: endsAt, interval_seconds: seconds } = recent;
  const known = recent.transfers.length;
  const times = useMemo(() => endsOf(endsAt, seconds, POINTS), [endsAt, seconds]);
  const of = (values: readonly (number | null)[]) => padded(values, POINTS);
  const perSecond = recent.transfers.map((made) => (made === null ? null : made / seconds));
  const measured = of(recent.transfers);
  const started = known === 0 ? 'it has just started' : `it started ${formatDuration(known * seconds * 1000)} ago`;
  return (
    <Section
      title={isOneOfSeveral ? 'The last 15 minutes, this process' : 'The last 15 minutes'}
      actions={known < POINTS && <span class="quiet">no data before the start of the process: {started}</span>}
    >
      <div class="charts">
        <LineChart
          title="Transfers per second"
          times={times}
          isWhole={false}
          format={formatRate}
          series={[{ label: 'created', values: of(perSecond), tone: 'good' }]}
        />
        <LineChart
          title="Latency of requests that move money"
          times={times}
          isWhole={false}
          format={formatLatency}
          measured={measured}
          series={[
            { label: 'p50', values: of(recent.p50_milliseconds), tone: 'good' },
            { label: 'p99', values: of(recent.p99_milliseconds), tone: 'waiting' },
          ]}
        />
        <BarChart
          title="Unsuccessful requests"
          times={times}
          series={[
            { label: 'declined', values: of(recent.refused), tone: 'waiting' },
            { label: 'other client errors', values: of(recent.invalid), tone: 'fourth' },
            { label: 'failed', values: of(recent.failed), tone: 'bad' },
          ]}
        />
        <LineChart
          title="Transfers queued"
          times={times}
          series={[{ label: 'queued', values: of(recent.lane_waiting), tone: 'process' }]}
        />
      </div>
      <Codes errors={recent.errors} isComing={now.refused + now.invalid + now.failed > 0} />
    </Section>
  );
}

/** Shows the codes of these minutes, with links to their requests. */
function Codes({
  errors,
  isComing,
}: {
  readonly errors: Overview['recent']['errors'];
  /** Whether there were errors in the last seconds, which the charts don't show yet. */
  readonly isComing: boolean;
}) {
  if (errors.length === 0) {
    return <p class="quiet">{isComing ? 'The codes of the errors appear in a few seconds.' : 'No errors.'}</p>;
  }
  return (
    <p>
      Error responses:{' '}
      {errors.map(({ code, counts }, at) => (
        <span key={code}>
          {at > 0 && ', '}
          {code === 'other' ? 'other codes' : <a href={hrefTo('/console/errors', { code })}>{code}</a>}{' '}
          {formatCount(counts.reduce((sum, count) => sum + count, 0))}
        </span>
      ))}
    </p>
  );
}

/** Shows the last 24 hours of all processes. */
function DayCharts({ hours, madeAt }: { readonly hours: Overview['hours']; readonly madeAt: string }) {
  const counted = useOperation((api, options) => api.errors.count({ interval: 'hour' }, options), {
    isOwn: true,
    pollMilliseconds: DAY_POLL_MILLISECONDS,
  });
  const now = Date.parse(madeAt);
  const hour = Math.floor(now / 3_600_000);
  const transfers = useMemo(() => transfersByHour(hours ?? [], TRANSFER_TYPES, now), [hours, hour]);
  const errors = useMemo(() => errorsByHour(counted.data?.data ?? [], now), [counted.data, hour]);
  const { times } = transfers;
  // Without a response, nothing is known about any hour.
  const unknown = times.map(() => null);
  const none = {
    label: 'errors',
    values: counted.data === undefined ? unknown : times.map(() => 0),
    tone: 'quiet',
  } as const;
  return (
    <Section title="The last 24 hours">
      {counted.error !== undefined && <ErrorRecord error={counted.error} stale={counted.data !== undefined} />}
      <div class="charts">
        <BarChart
          title="Transfers by hour"
          times={times}
          series={TRANSFER_TYPES.map((type) => ({
            label: type.replaceAll('_', ' '),
            values: hours === null ? unknown : (transfers.values.get(type) ?? []),
            tone: TYPE_TONES[type],
          }))}
        />
        <BarChart
          title="Errors by hour and code"
          times={times}
          series={
            errors.series.length === 0
              ? [none]
              : errors.series.map(({ code, values }, at) => ({ label: code, values, tone: toneOf(code, at) }))
          }
        />
      </div>
    </Section>
  );
}
