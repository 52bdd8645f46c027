import type { ResponseCounter } from '../../calls/responses/response-counter.ts';
import type { Configuration } from '../../foundation/configuration/configuration.ts';
import type { ServiceMetrics } from '../../observe/metrics/open-metrics.ts';

/** The metrics of the process; undefined without METRICS_PORT, and then their code is not even loaded. */
export async function openMetricsPage(
  configuration: Configuration,
  responses: ResponseCounter,
): Promise<ServiceMetrics | undefined> {
  const { metricsPort, metricsHost, mode, dataDirectory } = configuration;
  if (metricsPort === null) return undefined;
  const { openMetrics } = await import('../../observe/metrics/open-metrics.ts');
  return openMetrics({ metricsPort, metricsHost, mode, dataDirectory }, responses);
}
