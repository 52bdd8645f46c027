import { useMemo } from 'preact/hooks';
import { type Overview, TRANSFER_TYPES } from '../../../sdk/client.ts';
import { BarChart, LineChart } from '../../components/charts/chart.tsx';
import type { SeriesTone } from '../../components/charts/plot.ts';
import { ErrorRecord } from '../../components/error-record.tsx';
import { Section } from '../../components/page.tsx';
import { hrefTo } from '../../data/location.ts';
import { useOperation } from '../../data/use-operation.ts';
import { formatCount } from '../../format/amounts.ts';
import { endsOf, errorsByHour, formatLatency, padded, transfersByHour, UNAVAILABLE } from '../../format/overview.ts';
import { formatDuration } from '../../format/times.ts';

/** The maximum number of points of a chart: 15 minutes. */
const MAX_POINTS = 180;

/** The minimum number of points: one minute. The time axis needs some length even if the process has just started. */
const MIN_POINTS = 12;

/** Hourly counts change slowly, and reading them costs a query. */
const DAY_POLL_MILLISECONDS = 60_000;

/** Crimson is not in the list, because it is for faults, and most codes are refusals by a rule. */
const CODE_TONES: readonly SeriesTone[] = ['waiting', 'process', 'fourth', 'fifth', 'good', 'ink', 'quiet'];
const TYPE_TONES = { load: 'good', unload: 'fourth', card_to_card: 'process' } as const;

function toneOf(code: string, at: number): SeriesTone {
  return code === 'other' ? 'quiet' : (CODE_TONES[at % CODE_TONES.length] ?? 'quiet');
}

/** Shows the last 15 minutes of this process. */
export function RecentCharts({
  recent,
  now,
  isOneOfSeveral,
}: Pick<Overview, 'recent' | 'now'> & { readonly isOneOfSeveral: boolean }) {
  const { ends_at: endsAt, interval_seconds: seconds } = recent;
  const known = recent.transfers.length;
  const count = Math.max(known, MIN_POINTS);
  const times = useMemo(() => endsOf(endsAt, seconds, count), [endsAt, seconds, count]);
  const of = (values: readonly (number | null)[]) => padded(values, count);
  const perSecond = recent.transfers.map((made) => Math.round((made / seconds) * 10) / 10);
  const period =
    known < MAX_POINTS ? `Since the start ${formatDuration(known * seconds * 1000)} ago` : 'The last 15 minutes';
  const { transfers, succeeded, refused, invalid, failed } = recent;
  const isQuiet = !hasAny(transfers, succeeded, refused, invalid, failed);
  return (
    <Section title={isOneOfSeveral ? `${period}, this process` : period}>
      {isQuiet ? (
        <p class="quiet">Quiet: no requests to move money.</p>
      ) : (
        <div class="charts">
          <LineChart
            title="Transfers per second"
            times={times}
            series={[{ label: 'created', values: of(perSecond), tone: 'good' }]}
          />
          <LineChart
            title="Latency of requests that move money"
            times={times}
            format={formatLatency}
            series={[
              { label: 'p50', values: of(recent.p50_milliseconds), tone: 'good' },
              { label: 'p99', values: of(recent.p99_milliseconds), tone: 'waiting' },
            ]}
          />
          {hasAny(refused, invalid, failed) && (
            <BarChart
              title="Unsuccessful requests"
              times={times}
              series={[
                { label: 'declined', values: of(recent.refused), tone: 'waiting' },
                { label: 'other client errors', values: of(recent.invalid), tone: 'fourth' },
                { label: 'failed', values: of(recent.failed), tone: 'bad' },
              ]}
            />
          )}
          {hasAny(recent.lane_waiting) && (
            <LineChart
              title="Transfers queued"
              times={times}
              series={[{ label: 'queued', values: of(recent.lane_waiting), tone: 'process' }]}
            />
          )}
        </div>
      )}
      <Codes errors={recent.errors} isComing={now.refused + now.invalid + now.failed > 0} />
    </Section>
  );
}

function hasAny(...counts: readonly (readonly number[])[]): boolean {
  return counts.some((values) => values.some((value) => value > 0));
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
    return <p class="quiet">{isComing ? 'Their codes appear in a few seconds.' : 'No errors.'}</p>;
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
export function DayCharts({ hours, madeAt }: { readonly hours: Overview['hours']; readonly madeAt: string }) {
  const counted = useOperation((api, options) => api.errors.count({ interval: 'hour' }, options), {
    isOwn: true,
    pollMilliseconds: DAY_POLL_MILLISECONDS,
  });
  const now = Date.parse(madeAt);
  const hour = Math.floor(now / 3_600_000);
  const transfers = useMemo(() => transfersByHour(hours ?? [], TRANSFER_TYPES, now), [hours, hour]);
  const errors = useMemo(() => errorsByHour(counted.data?.data ?? [], now), [counted.data, hour]);
  return (
    <Section title="The last 24 hours">
      {counted.error !== undefined && <ErrorRecord error={counted.error} stale={counted.data !== undefined} />}
      <div class="charts">
        {hours === null ? (
          <p class="quiet">{UNAVAILABLE}.</p>
        ) : hours.length === 0 ? (
          <p class="quiet">No transfers.</p>
        ) : (
          <BarChart
            title="Transfers by hour"
            times={transfers.times}
            series={TRANSFER_TYPES.map((type) => ({
              label: type.replaceAll('_', ' '),
              values: transfers.values.get(type) ?? [],
              tone: TYPE_TONES[type],
            }))}
          />
        )}
        {errors.series.length === 0 ? (
          <p class="quiet">{counted.data === undefined ? 'Counting errors…' : 'No errors.'}</p>
        ) : (
          <BarChart
            title="Errors by hour and code"
            times={errors.times}
            series={errors.series.map(({ code, values }, at) => ({ label: code, values, tone: toneOf(code, at) }))}
          />
        )}
      </div>
    </Section>
  );
}
