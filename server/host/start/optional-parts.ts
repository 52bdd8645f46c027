import { join } from 'node:path';
import { SIMULATOR_ID } from '../../../domain/sandbox.ts';
import type { OnFailure } from '../../background/jobs/rounds.ts';
import { startAnnouncingBreaks, startFindingMissing } from '../../background/processors/find-missing.ts';
import { openHttpConnector } from '../../background/processors/http-connector.ts';
import { startMatchingSettlements } from '../../background/processors/match-settlements.ts';
import { openProcessors, type RunningProcessors } from '../../background/processors/open-processors.ts';
import { openSimulatorConnector, simulatorSettings } from '../../background/processors/start-simulator.ts';
import { noticeVerifier } from '../../calls/processors.ts';
import type { ResponseCounter } from '../../calls/responses/response-counter.ts';
import {
  type CommandConfiguration,
  type Configuration,
  withoutVariables,
} from '../../foundation/configuration/configuration.ts';
import { admits } from '../../foundation/configuration/connectors.ts';
import type { Log } from '../../observe/log/log.ts';
import type { ServiceMetrics } from '../../observe/metrics/open-metrics.ts';
import type { Traces } from '../../observe/traces/open-traces.ts';
import { BackupJob } from '../../postgres/backup/backup-job.ts';
import type { EmbeddedPostgres } from '../../postgres/embedded-postgres.ts';
import type { RunningSignIn, SignInSettings } from '../../sign-in/sign-in.ts';
import type { Database } from '../../store/connection/database.ts';
import type { Databases } from '../../store/connection/databases.ts';
import { readProgramName } from '../../store/session.ts';
import { endProviderSessions, signInPerson } from '../../subjects/sessions/sign-in-person.ts';

/** Opens the metrics of the process. If METRICS_PORT is not set, returns undefined without loading their code. */
export async function openMetricsPage(
  configuration: Configuration,
  responses: ResponseCounter,
): Promise<ServiceMetrics | undefined> {
  const { metricsPort, metricsHost, mode, dataDirectory } = configuration;
  if (metricsPort === null) return undefined;
  const { openMetrics } = await import('../../observe/metrics/open-metrics.ts');
  return openMetrics({ metricsPort, metricsHost, mode, dataDirectory }, responses);
}

/** Opens the traces for a collector. If there is no collector, returns undefined without loading their code. */
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
      'the collector is not accepting traces; requests are served as usual, and the service keeps trying to send later traces',
    );
  return withoutVariables('OTEL_', () => openTraces(traces, onFailure));
}

/** Returns the job that makes backups, without starting it. Undefined if BACKUP_DIR is not set. */
export function openBackupJob(
  { dataDirectory, backupRetentionDays: retentionDays }: Configuration,
  embedded: EmbeddedPostgres | undefined,
  log: Log,
): BackupJob | undefined {
  if (embedded?.archive === undefined) return undefined;
  const socketDirectory = embedded.connection.host;
  return new BackupJob({
    ...embedded.archive,
    socketDirectory,
    dataDirectory,
    retentionDays,
    onCopy: (name) => log.info({ event: 'backup', copy: name }, 'a copy of the ledger is complete'),
    onFailure: (problem) => log.error({ event: 'backup_failed' }, problem),
  });
}

/** Opens sign-in with the configured OpenID provider. If there is none, returns undefined without loading the code. */
export async function openSignInPart(
  configuration: Configuration,
  { background }: Pick<Databases, 'background'>,
  log: Log,
): Promise<RunningSignIn | undefined> {
  const settings = signInSettings(configuration);
  if (settings === undefined) return undefined;
  const { openSignIn } = await import('../../sign-in/sign-in.ts');
  return openSignIn(
    settings,
    {
      signInPerson: (deadline, person) => signInPerson(background, deadline, person),
      endProviderSessions: (deadline, ended) => endProviderSessions(background, deadline, ended),
      programName: async (programId) => {
        const [row] = await background.read(readProgramName(programId));
        return row === undefined ? null : String(row.program_name);
      },
    },
    (sentence, facts) => log.warn({ event: 'sign_in', ...facts }, sentence),
  );
}

const CONNECTOR_IS_DOWN =
  'a connector is not giving valid answers: nothing new is sent to it until it reports that it works';

export type ConnectorParts = {
  readonly log: Log;
  readonly metrics: ServiceMetrics | undefined;
  readonly onFailure: OnFailure;
  /** Returns the port of the service, where the simulator sends notices. Undefined before the service listens. */
  readonly servicePort: () => number | undefined;
};

/** Opens the configured connectors. In a sandbox, also opens the simulator, which starts on first use. */
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
    admits: (connectorId, programId) => admits(known.get(connectorId), programId),
    obedient: new Set([SIMULATOR_ID]),
    jobs: [startMatchingSettlements, startFindingMissing, startAnnouncingBreaks],
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

/** Returns the settings of sign-in. Undefined if OIDC_ISSUER is not set. The configuration has checked that none is missing. */
export function signInSettings(configuration: CommandConfiguration): SignInSettings | undefined {
  const { oidcIssuer, oidcClientId, oidcClientSecret, oidcRoles, publicUrl } = configuration;
  if (oidcIssuer === null || oidcClientId === null || oidcClientSecret === null) return undefined;
  if (oidcRoles === null || publicUrl === null) return undefined;
  return {
    issuer: oidcIssuer,
    name: configuration.oidcName,
    clientId: oidcClientId,
    clientSecret: oidcClientSecret,
    scopes: configuration.oidcScopes,
    roleClaim: configuration.oidcRoleClaim,
    roles: oidcRoles,
    publicUrl,
    allowedNetworks: configuration.webhookAllowedNetworks,
    ca: configuration.webhookCa?.certificates ?? null,
  };
}
