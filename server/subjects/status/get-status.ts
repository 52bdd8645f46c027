import { hostname } from 'node:os';
import type { ServiceStatus } from '../../../contract/service/status.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { requiredStandbys, type Survival, survivalOf } from '../../../domain/primary-loss.ts';
import {
  type DatabaseState,
  type DeliveryState,
  READINESS,
  type ReadinessReason,
  STATUS_PARTS,
  type StatusPart,
} from '../../../domain/service-status.ts';
import type { Reply, Service } from '../../calls/call.ts';
import { databaseTime } from '../../foundation/database-clock.ts';
import { runbookOf } from '../../foundation/runbook.ts';
import type { Database } from '../../store/connection/database.ts';
import type { UsedHost } from '../../store/connection/hosts/hosts.ts';
import {
  type LedgerFigures,
  largestLag,
  readLedgerFigures,
  readServerFigures,
  readWebhookFigures,
  type ServerFigures,
  type WebhookFigures,
} from '../../store/figures.ts';
import { readYesterday, type YesterdayFigures } from '../../store/ledger/day-check.ts';
import { findSchemaState, READ_NEWEST_MIGRATION, type SchemaState } from '../../store/migrations/compatibility.ts';
import { type Ages, findConcerns, yesterdaySentence } from './concerns.ts';

/** The facts that the process has without a query to the database. */
export type StatusSources = {
  readonly version: string;
  readonly mode: 'sandbox' | 'live';
  readonly readiness: {
    readonly find: () => Promise<ReadinessReason>;
    readonly latest: () => { readonly reason: ReadinessReason; readonly since: Date };
  };
  /** The state of the embedded server, as its supervisor sees it. Undefined for an external server. */
  readonly embedded: (() => Exclude<DatabaseState, 'up' | 'silent'> | 'running') | undefined;
  /** The host of DATABASE_URL that is in use. Undefined for the embedded PostgreSQL. */
  readonly host: () => UsedHost | undefined;
  readonly connections: () => {
    readonly max: number;
    readonly inUse: number;
    readonly idle: number;
    readonly waiting: number;
  };
  readonly delivery: () => DeliveryState;
  /** The backups of the embedded database. Undefined if the service makes none. */
  readonly backups:
    | (() => { readonly lastCopyAt: Date | undefined; readonly coveredUntil: Date | undefined })
    | undefined;
  readonly errors: () => { readonly spoolBytes: number; readonly maxSpoolBytes: number; readonly dropped: number };
};

/**
 * Time limit for each part that is read from the database. If a part takes longer, it is unknown. All parts are read in parallel.
 */
const READ_MILLISECONDS = 2_000;

/** The parts that are read from the database. Parts that could not be read are undefined. */
type Parts = {
  readonly ledger: LedgerFigures | undefined;
  readonly webhooks: WebhookFigures | undefined;
  readonly server: ServerFigures | undefined;
  readonly schema: { readonly state: SchemaState; readonly newest: string | null } | undefined;
  readonly days: YesterdayFigures | undefined;
};

/**
 * get_status: returns the facts that the process has, and parts that are read from the database in parallel, each with a time
 * limit. Parts that cannot be read are null and listed as unknown, so the status is useful even while the database is down.
 */
export async function getStatus(sources: StatusSources, service: Service): Promise<Reply<'get_status'>> {
  return { record: await readStatus(sources, service) };
}

export async function readStatus(sources: StatusSources, { database }: Service): Promise<ServiceStatus> {
  const [reason, ledger, webhooks, server, schema, days] = await Promise.all([
    sources.readiness.find(),
    inTime(readLedgerFigures(database)),
    inTime(readWebhookFigures(database)),
    inTime(readServerFigures(database)),
    inTime(readSchema(database)),
    inTime(readYesterday(database)),
  ]);
  return describe(sources, reason, { ledger, webhooks, server, schema, days });
}

async function readSchema(database: Database): Promise<Parts['schema']> {
  const [state, [row]] = await Promise.all([findSchemaState(database), database.read(READ_NEWEST_MIGRATION)]);
  return { state, newest: row?.name === null || row === undefined ? null : String(row.name) };
}

/** Returns undefined if the reading fails or takes too long. The limits of its connection then end the statement. */
async function inTime<Figures>(reading: Promise<Figures>): Promise<Figures | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), READ_MILLISECONDS);
  });
  const figures = await Promise.race([reading.catch(() => undefined), tooLate]);
  clearTimeout(timer);
  return figures;
}

function describe(sources: StatusSources, reason: ReadinessReason, parts: Parts): ServiceStatus {
  const { ledger, webhooks, server, schema, days } = parts;
  const { isReady, sentence } = READINESS[reason];
  const uptimeSeconds = Math.floor(performance.now() / 1000);
  const { max, inUse, idle, waiting } = sources.connections();
  const survival = server === undefined ? NOT_ASKED : survivalOf(server, sources.embedded !== undefined);
  const { spoolBytes, maxSpoolBytes, dropped } = sources.errors();
  const status: Omit<ServiceStatus, 'degraded' | 'unknown'> = {
    version: sources.version,
    mode: sources.mode,
    host: hostname(),
    process_id: process.pid,
    started_at: new Date(performance.timeOrigin).toISOString(),
    uptime_seconds: uptimeSeconds,
    readiness: {
      ready: isReady,
      reason,
      message: sentence,
      runbook: runbookOf(reason),
      since: sources.readiness.latest().since.toISOString(),
    },
    schema: { state: schema?.state ?? null, newest_migration: schema?.newest ?? null },
    database: {
      kind: sources.embedded === undefined ? 'external' : 'embedded',
      state: databaseState(sources, reason, parts),
      host: sources.host()?.name ?? null,
      host_since: sources.host()?.since.toISOString() ?? null,
      version: server?.version ?? null,
      size_bytes: server?.databaseBytes ?? null,
      ...replicationOf(server),
      survives_primary_loss: { answer: survival.answer, reason: survival.reason },
    },
    connections: { max, in_use: inUse, idle, waiting },
    webhooks: {
      delivery: sources.delivery(),
      enabled: webhooks?.enabled ?? null,
      paused: webhooks?.paused ?? null,
      failing: webhooks?.longFailing ?? null,
      oldest_undelivered_seconds: webhooks?.enabledLagSeconds ?? null,
    },
    error_log: { spool_bytes: spoolBytes, max_spool_bytes: maxSpoolBytes, dropped },
    relay_lag_seconds: ledger === undefined ? null : (ledger.relayLagSeconds ?? 0),
    due_late_seconds: ledger === undefined ? null : (ledger.dueLateSeconds ?? 0),
    switch: {
      service_disabled: ledger === undefined ? null : ledger.serviceDisabled > 0,
      programs_disabled: ledger?.programsDisabled ?? null,
      connectors_disabled: ledger?.disabledAtConnectors.length ?? null,
    },
    funding_low: ledger?.fundingLow ?? null,
    books: { verified_at: toMoment(ledger?.booksVerifiedAt), balanced: ledger?.booksBalanced ?? null },
    yesterday: yesterdayOf(days),
    backups: {
      last_copy_at: sources.backups?.().lastCopyAt?.toISOString() ?? null,
      last_archived_at: toMoment(server?.lastArchivedAt),
      restorable_until: sources.backups?.().coveredUntil?.toISOString() ?? null,
    },
  };
  return {
    ...status,
    degraded: findConcerns({
      ...status,
      ...agesOf(sources, parts, uptimeSeconds),
      days,
      isWaitingForStandby: survival.isWaiting,
      disabledInPrograms: ledger?.disabledInPrograms,
      disabledAtConnectors: ledger?.disabledAtConnectors,
    }),
    unknown: STATUS_PARTS.filter((part: StatusPart) => parts[part] === undefined),
  };
}

const NOT_ASKED: Survival = {
  answer: 'unknown',
  reason: 'The database did not respond in time.',
  isWaiting: false,
};

function replicationOf(server: ServerFigures | undefined) {
  const list = server?.standbyList ?? null;
  return {
    standbys: list?.length ?? null,
    waits_for_standby: server === undefined ? null : requiredStandbys(server) > 0n,
    replication_lag_bytes: list === null ? null : largestLag(list),
    standby_list:
      list?.map(({ name, state, syncState, lagBytes, lagSeconds }) => ({
        name,
        state,
        sync_state: syncState,
        lag_bytes: lagBytes,
        lag_seconds: lagSeconds,
      })) ?? null,
  };
}

function yesterdayOf(days: YesterdayFigures | undefined): ServiceStatus['yesterday'] {
  if (days === undefined)
    return { programs: null, checked: null, not_checked: null, not_adding_up: null, days: null, message: null };
  const { programs, checked, late, differing, earlier } = days;
  return {
    programs,
    checked,
    not_checked: late.count,
    not_adding_up: differing.count + earlier.count,
    days: [...differing.named, ...earlier.named].map(({ programId, name, day }) => ({
      program_id: toWireId('prog', programId),
      program_name: name,
      day,
    })),
    message: yesterdaySentence(days),
  };
}

/** Returns the ages of the last verification and the last base backup. If there was none, returns the age of the process. */
function agesOf({ backups }: StatusSources, { ledger, server }: Parts, uptimeSeconds: number): Ages {
  const since = (time: number | null | undefined): number =>
    time === null || time === undefined ? uptimeSeconds : (databaseTime() - time) / 1000;
  return {
    unverifiedSeconds: ledger === undefined ? null : since(ledger.booksVerifiedAt),
    verificationSeconds: ledger?.booksVerificationSeconds ?? 0,
    uncopiedSeconds: backups === undefined ? null : since(backups().lastCopyAt?.getTime()),
    isArchivingFailing: server?.archives === true && (server.lastArchiveFailedAt ?? 0) > (server.lastArchivedAt ?? 0),
  };
}

/**
 * Returns the state of the database: `up` if it has just responded. Otherwise the embedded server's state or the readiness decides.
 */
function databaseState({ embedded }: StatusSources, reason: ReadinessReason, parts: Parts): DatabaseState {
  if (STATUS_PARTS.some((part) => parts[part] !== undefined)) return 'up';
  const state = embedded?.() ?? 'running';
  if (state !== 'running') return state;
  if (reason === 'database_starting') return 'starting';
  return READINESS[reason].isReady ? 'up' : 'silent';
}

function toMoment(time: number | null | undefined): string | null {
  return time === null || time === undefined ? null : new Date(time).toISOString();
}
