import { ERROR_URGENCIES, partsOf, SEVERITIES } from '../../../domain/support/case.ts';
import type { SupportFigures } from '../../store/figures.ts';
import { leaveOutOld } from './parts.ts';
import type { BoundGauge, Metrics } from './registry.ts';

/**
 * Shows the latest figures of cases and incidents. Old figures are not shown, because a case would seem not to age.
 */
export function showSupport(metrics: Metrics): (figures: SupportFigures) => void {
  const open = metrics.gauge({
    name: 'cases_open',
    help: 'Cases that wait for support, by the urgency of the error and the severity set by the caller.',
    labels: ['urgency', 'severity'],
  });
  const unanswered = metrics.gauge({
    name: 'case_oldest_unanswered_seconds',
    help: 'Age of the oldest open case without a reply from support, by the urgency of the error.',
    labels: ['urgency'],
  });
  const incident = metrics.gauge({
    name: 'incident_oldest_update_seconds',
    help: 'Longest time that an open incident has gone without an update.',
  })();
  const ofLatest = (name: string, help: string) => {
    const gauge = metrics.gauge({ name, help: `${help} (latest 100 resolved cases).`, labels: ['share'] });
    return [gauge('0.5'), gauge('0.9')] as const;
  };
  const response = ofLatest(
    'case_first_response_seconds',
    'Time within which 50 % and 90 % of cases got a first response',
  );
  const resolution = ofLatest('case_resolution_seconds', 'Time within which 50 % and 90 % of cases were resolved');
  const byUrgency = ERROR_URGENCIES.map((byError) => ({
    byError,
    oldest: unanswered(byError),
    bySeverity: SEVERITIES.map((severity) => ({ severity, count: open(byError, severity) })),
  }));
  const counts = byUrgency.flatMap(({ bySeverity }) => bySeverity.map(({ count }) => count));
  const all = [...counts, ...byUrgency.map(({ oldest }) => oldest), incident, ...response, ...resolution];
  const renew = leaveOutOld(metrics, all);
  return (figures) => {
    renew();
    const cases = figures.openCases.map((found) => ({ ...found, ...partsOf(found.urgency) }));
    for (const { byError, oldest, bySeverity } of byUrgency) {
      const own = cases.filter((found) => found.byError === byError);
      // If no case waits, the age is 0: a gap in a graph would look like a failure.
      oldest.set(Math.max(0, ...own.map(({ unansweredSeconds }) => unansweredSeconds ?? 0)));
      for (const { severity, count } of bySeverity)
        count.set(own.find((found) => found.severity === severity)?.count ?? 0);
    }
    incident.set(figures.incidentUpdateSeconds ?? 0);
    show(response, [figures.firstResponseSeconds, figures.slowFirstResponseSeconds]);
    show(resolution, [figures.resolutionSeconds, figures.slowResolutionSeconds]);
  };
}

/** Durations without a case are absent, because 0 would be a very good figure. */
function show(gauges: readonly BoundGauge[], values: readonly (number | null)[]): void {
  for (const [place, gauge] of gauges.entries()) {
    const value = values[place] ?? null;
    if (value === null) gauge.remove();
    else gauge.set(value);
  }
}
