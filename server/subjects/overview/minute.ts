import type { RequestFigures } from '../../../contract/service/overview.ts';
import { Latencies } from '../../calls/responses/latencies.ts';
import { OUTCOMES, type Outcomes } from '../../calls/responses/response-counter.ts';
import type { StoredMinute } from '../../store/overview/service-process.ts';

/** The figures of one or several processes: rates and counts are added up, and percentiles are those of all requests. */
export function figuresOf(minutes: readonly StoredMinute[]): RequestFigures {
  const outcomes: Outcomes = { succeeded: 0, refused: 0, invalid: 0, failed: 0 };
  const latencies = new Latencies();
  let perSecond = 0;
  for (const minute of minutes) {
    for (const name of OUTCOMES) outcomes[name] += minute[name];
    latencies.addCounts(minute.latencies);
    perSecond += minute.milliseconds === 0 ? 0 : (minute.transfers * 1000) / minute.milliseconds;
  }
  const { succeeded, refused, invalid, failed } = outcomes;
  const all = succeeded + refused + invalid + failed;
  return {
    seconds: Math.round(Math.max(0, ...minutes.map(({ milliseconds }) => milliseconds)) / 1000),
    transfers_per_second: Number(perSecond.toFixed(1)),
    requests: all,
    ...outcomes,
    success_ratio: all === 0 ? null : Number((succeeded / all).toFixed(4)),
    p50_milliseconds: latencies.quantile(0.5),
    p99_milliseconds: latencies.quantile(0.99),
  };
}
