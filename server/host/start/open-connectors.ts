import { join } from 'node:path';
import { SIMULATOR_ID } from '../../../domain/sandbox.ts';
import type { OnFailure } from '../../background/jobs/rounds.ts';
import { openHttpConnector } from '../../background/processors/http-connector.ts';
import { openProcessors, type RunningProcessors } from '../../background/processors/open-processors.ts';
import { openSimulatorConnector, simulatorSettings } from '../../background/processors/simulator-connector.ts';
import { noticeVerifier } from '../../calls/processors.ts';
import type { Configuration } from '../../foundation/configuration/configuration.ts';
import type { Log } from '../../observe/log/log.ts';
import type { ServiceMetrics } from '../../observe/metrics/open-metrics.ts';
import type { Database } from '../../store/connection/database.ts';

const CONNECTOR_IS_DOWN =
  'a connector gives no valid answers: nothing new is sent to it until it answers that it works';

export type ConnectorParts = {
  readonly log: Log;
  readonly metrics: ServiceMetrics | undefined;
  readonly onFailure: OnFailure;
  /** The port of the service, to which the simulator sends notices; undefined before it listens. */
  readonly servicePort: () => number | undefined;
};

/** The connectors of the settings, and in a sandbox the simulator, which is started when it is first used. */
export function openConnectors(
  { mode, dataDirectory, connectors: configured }: Configuration,
  database: Database,
  { log, metrics, onFailure, servicePort }: ConnectorParts,
): RunningProcessors {
  const noticeUrl = (): string | null =>
    servicePort() === undefined ? null : `http://127.0.0.1:${servicePort()}/api/v0.1/connector/${SIMULATOR_ID}/notice`;
  const directory = join(dataDirectory, 'simulator');
  const others = configured?.connectors ?? [];
  const own = mode === 'sandbox' ? simulatorSettings() : undefined;
  const simulator = own && openSimulatorConnector(own, { directory, noticeUrl });
  const known = new Map([...others, ...(own === undefined ? [] : [own])].map((one) => [one.connectorId, one]));
  const processors = openProcessors({
    database,
    connectors: [...others.map((one) => openHttpConnector(one)), ...(simulator === undefined ? [] : [simulator])],
    verifyNotice: noticeVerifier((connectorId) => known.get(connectorId)?.secrets ?? []),
    admits: (connectorId, programId) => known.get(connectorId)?.programIds?.includes(programId) ?? true,
    obedient: new Set([SIMULATOR_ID]),
    onFailure,
    onCall: metrics?.onConnectorCall,
    onOpened: (connectorId, reason) => log.warn({ event: 'connector', connectorId, reason }, CONNECTOR_IS_DOWN),
  });
  const stop = async (): Promise<void> => {
    await processors.stop();
    await simulator?.stop();
  };
  return { ...processors, stop };
}
