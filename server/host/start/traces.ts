import { type Configuration, withoutVariables } from '../../foundation/configuration/configuration.ts';
import type { Log } from '../../observe/log/log.ts';
import type { Traces } from '../../observe/traces/open-traces.ts';

/** The traces that are sent to a collector; undefined where none are, and then their code is not even loaded. */
export async function openTraceExport(
  { tracesUrl: endpoint, tracesHeaders, tracesRatio: ratio, tracesServiceName: serviceName }: Configuration,
  log: Log,
): Promise<Traces | undefined> {
  if (endpoint === null) return undefined;
  const traces = { endpoint, headers: tracesHeaders ?? {}, ratio, serviceName };
  const { openTraces } = await import('../../observe/traces/open-traces.ts');
  const onFailure = (error: unknown, lost: number): void =>
    log.warn(
      { event: 'traces_not_sent', cause: String(error), lost },
      'the collector takes no traces; requests are served as ever, and later traces are tried again',
    );
  return withoutVariables('OTEL_', () => openTraces(traces, onFailure));
}
