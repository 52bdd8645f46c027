import { EVERY_PROGRAM } from '../../domain/event.ts';
import type { AttemptStatus } from '../../domain/processors/attempt.ts';
import type { BreakKind } from '../../domain/processors/break.ts';
import type { SwitchSetting } from '../../domain/switch.ts';
import type { TransferType } from '../../domain/transfers/transfer.ts';
import type { Database, Row, Statement } from './connection/database.ts';
import { LAST_VERIFICATION } from './ledger/books-verification.ts';
import { BOOLEAN, columns, json, NUMBER, nullable, type RowOf, statement, TEXT, TIME, UUID, word } from './sql.ts';
import { isEnabled, settingsInForce } from './switch.ts';
import { CONNECTOR_OF_TRANSFER } from './transfers/transfer.ts';

// Figures for operators, read from the database. Each statement reads one snapshot. Ages are in seconds by the database's
// clock, and null if there is nothing to measure.

/** Types of disabled transfers. Null means all types. */
type DisabledTypes = readonly (TransferType | null)[];

/** The disabled parts of card programs: the first {@link MAX_NAMED_PROGRAMS} programs by name, and the types in all of them. */
export type DisabledInPrograms = {
  readonly programs: readonly { readonly name: string; readonly types: DisabledTypes }[];
  readonly types: DisabledTypes;
};

/** Maximum number of card programs that a sentence names. If there are more, the sentence gives their number. */
export const MAX_NAMED_PROGRAMS = 3;

export type DisabledAtConnector = {
  readonly connectorId: string;
  readonly types: DisabledTypes;
  readonly inEveryProgram: boolean;
  /**
   * The number of settings that disable the connector. If there is exactly one, `only` is that setting, with times in
   * milliseconds since 1970.
   */
  readonly settings: number;
  readonly only: Pick<SwitchSetting, 'since' | 'until' | 'reason'> | null;
};

const LEDGER = columns({
  /** Age of the oldest transaction whose events have no position. */
  relayLagSeconds: nullable(NUMBER),
  /** How late the oldest scheduled transfer or expired hold is. */
  dueLateSeconds: nullable(NUMBER),
  /** Settings of the switch that are in force: for the whole service, and for programs. */
  serviceDisabled: NUMBER,
  programsDisabled: NUMBER,
  disabledInPrograms: json<DisabledInPrograms>('json'),
  /** This list is short, because only a few connectors are configured. */
  disabledAtConnectors: json<readonly DisabledAtConnector[]>('json'),
  /** Programs with a threshold, and programs whose available funds are below their threshold. */
  fundingWatched: NUMBER,
  fundingLow: NUMBER,
  /** Keys that the command `operator-key` has created on the host in the last hour. */
  hostKeys: NUMBER,
  /** Age of the oldest request that is waiting for an approval. */
  approvalPendingSeconds: nullable(NUMBER),
  /** The last verification of the books, or null before the first. */
  booksVerifiedAt: nullable(TIME),
  booksVerificationSeconds: nullable(NUMBER),
  booksBalanced: nullable(BOOLEAN),
});

export type LedgerFigures = RowOf<typeof LEDGER.columns>;

/** SQL: the seconds since a time, never negative. */
const since = (moment: string, now: string) =>
  `extract(epoch from greatest(${now} - ${moment}, interval '0'))::double precision`;

const READ_LEDGER_FIGURES: Statement = {
  name: 'read_ledger_figures',
  text: `with clock as materialized (select service_now() as now),
    in_force as materialized (
      ${settingsInForce('(select now from clock)')}
    ), disabled_in as (
      select name, array_agg(transfer_type order by transfer_type) as types from in_force join program using (program_id)
      where connector_id is null
      group by program_id, name order by name, program_id limit ${MAX_NAMED_PROGRAMS}
    ), due as (
      (select expires_at as moment from hold where expires_at <= (select now from clock) order by expires_at limit 1)
      union all
      (select scheduled_for from transfer
        where status = 'scheduled' and scheduled_for <= (select now from clock)
          and ${isEnabled({
            programId: 'transfer.program_id',
            type: 'transfer.type',
            connectorId: CONNECTOR_OF_TRANSFER,
            now: '(select now from clock)',
          })}
        order by scheduled_for limit 1)
    ), funding as (
      select account.balance - account.held < program.funding_low_threshold as is_low
      from program join account on account.owner_id = program.program_id and account.kind = 'funding'
        and account.currency = program.currency
      where program.funding_low_threshold is not null
    ), books as (
      select finished_at, started_at, balanced ${LAST_VERIFICATION}
    )
    select (
        select ${since('created_at', 'clock_timestamp()')} from write_batch where not relayed and not abandoned
        order by created_at, batch_id limit 1
      ) as relay_lag_seconds,
      (select ${since('min(moment)', '(select now from clock)')} from due) as due_late_seconds,
      (select count(*) from in_force where program_id is null and connector_id is null) as service_disabled,
      (select count(distinct program_id) from in_force where program_id is not null and connector_id is null) as programs_disabled,
      json_build_object(
        'programs', (select coalesce(json_agg(json_build_object('name', name, 'types', types)), '[]') from disabled_in),
        'types', (select json_agg(distinct transfer_type order by transfer_type) from in_force
          where program_id is not null and connector_id is null)
      ) as disabled_in_programs,
      (
        select coalesce(json_agg(json_build_object('connectorId', connector_id, 'types', types,
          'inEveryProgram', in_every_program, 'settings', settings, 'only', only_setting) order by connector_id), '[]')
        from (
          select connector_id, array_agg(distinct transfer_type order by transfer_type) as types,
            bool_or(program_id is null) as in_every_program, count(*) as settings,
            case when count(*) = 1 then json_build_object('since', (extract(epoch from min(since)) * 1000)::bigint,
              'until', (extract(epoch from min(until)) * 1000)::bigint, 'reason', min(reason)) end as only_setting
          from in_force where connector_id is not null group by connector_id
        ) as at_connector
      ) as disabled_at_connectors,
      (select count(*) from funding) as funding_watched,
      (select count(*) from funding where is_low) as funding_low,
      (select count(*) from audit_entry
        where created_at > clock_timestamp() - interval '1 hour' and actor = 'host' and action = 'create_key') as host_keys,
      (select ${since('min(requested_at)', '(select now from clock)')} from approval
        where status = 'pending' and expires_at > (select now from clock)) as approval_pending_seconds,
      (select finished_at from books) as books_verified_at,
      (select ${since('started_at', 'finished_at')} from books) as books_verification_seconds,
      (select balanced from books) as books_balanced`,
  values: [],
};

export async function readLedgerFigures(database: Database): Promise<LedgerFigures> {
  return LEDGER.read(onlyRow(await database.read(READ_LEDGER_FIGURES)));
}

const WEBHOOKS = columns({
  enabled: NUMBER,
  paused: NUMBER,
  disabled: NUMBER,
  /** Webhooks that are not disabled and whose last attempts all failed. */
  failing: NUMBER,
  /** Webhooks that have failed for a quarter of an hour. An operator must look at them. */
  longFailing: NUMBER,
  /** Age of the oldest event that has not been sent to an enabled webhook, and to a paused one. */
  enabledLagSeconds: nullable(NUMBER),
  pausedLagSeconds: nullable(NUMBER),
  /** Events that failed and will be sent again, and dead events. Both are counted only up to a maximum. */
  retrying: NUMBER,
  dead: NUMBER,
});

export type WebhookFigures = RowOf<typeof WEBHOOKS.columns>;

/** Failed events are counted up to this number. It is enough to show that there are many. Counting millions would take seconds. */
export const MAX_COUNTED_DELIVERIES = 10_000;

const READ_WEBHOOK_FIGURES = statement(
  'read_webhook_figures',
  { most: NUMBER, everyProgram: UUID },
  `with behind as (
      select cursor, webhook_state.program_id, status from webhook_state
      join event_head on event_head.program_id = coalesce(webhook_state.program_id, :everyProgram)
        and event_head.position > cursor
      where status <> 'disabled'
    ), next as materialized (
      select behind.status, place.relayed_at from behind cross join lateral (
        select relayed_at from event_position
        where event_position.program_id = behind.program_id
          and position >= coalesce((
            select position from event_position
            where event_position.program_id = behind.program_id and position <= cursor + 1
            order by position desc limit 1), 0)
          and position + event_position.count > cursor + 1
        order by position limit 1
      ) as place where behind.program_id is not null
      union all
      select behind.status, place.relayed_at from behind cross join lateral (
        select relayed_at from event_position
        where not is_shared
          and number >= coalesce((
            select number from event_position where not is_shared and number <= cursor + 1
            order by number desc limit 1), 0)
          and number + event_position.count > cursor + 1
        order by number limit 1
      ) as place where behind.program_id is null
    )
    select count(*) filter (where status = 'enabled') as enabled, count(*) filter (where status = 'paused') as paused,
      count(*) filter (where status = 'disabled') as disabled,
      count(*) filter (where status <> 'disabled' and failing_since is not null) as failing,
      count(*) filter (where status <> 'disabled' and last_failure_at - failing_since >= interval '15 minutes') as long_failing,
      (select ${since('min(relayed_at)', 'clock_timestamp()')} from next where next.status = 'enabled')
        as enabled_lag_seconds,
      (select ${since('min(relayed_at)', 'clock_timestamp()')} from next where next.status = 'paused')
        as paused_lag_seconds,
      (select count(*) from (select from webhook_delivery where state = 'waiting' and kind = 'event' limit :most) as counted)
        as retrying,
      (select count(*) from (select from webhook_delivery where state = 'dead' and kind = 'event' limit :most) as counted)
        as dead
    from webhook_state`,
);

export async function readWebhookFigures(database: Database): Promise<WebhookFigures> {
  const reading = READ_WEBHOOK_FIGURES({ most: MAX_COUNTED_DELIVERIES, everyProgram: EVERY_PROGRAM });
  return WEBHOOKS.read(onlyRow(await database.read(reading)));
}

const SUPPORT = columns({
  /** Age of the oldest open incident, measured from its last update. */
  incidentUpdateSeconds: nullable(NUMBER),
  /** The median and the 90th percentile of the time to the first response and to the resolution, for the latest resolved cases. */
  firstResponseSeconds: nullable(NUMBER),
  slowFirstResponseSeconds: nullable(NUMBER),
  resolutionSeconds: nullable(NUMBER),
  slowResolutionSeconds: nullable(NUMBER),
});

const OPEN_CASES = columns({
  /** The position in the queue. See domain/support/case.ts. */
  urgency: NUMBER,
  count: NUMBER,
  /** Age of the oldest case that support has not answered yet. */
  unansweredSeconds: nullable(NUMBER),
});

/** The figures from the tables of support, including the cases that wait for support, by urgency. */
export type SupportFigures = RowOf<typeof SUPPORT.columns> & {
  readonly openCases: readonly RowOf<typeof OPEN_CASES.columns>[];
};

/** Number of cases over which durations are measured. It is enough for a 90th percentile, and quick to read from the index. */
export const MAX_MEASURED_CASES = 100;

const READ_SUPPORT_FIGURES = statement(
  'read_support_figures',
  { most: NUMBER },
  `with clock as materialized (select service_now() as now),
    queue as (
      select urgency, count(*) as count,
        ${since('min(created_at) filter (where first_response_at is null)', '(select now from clock)')} as unanswered_seconds
      from support_case where status = 'open' group by urgency
    ), latest as (
      select extract(epoch from first_response_at - created_at)::double precision as response,
        extract(epoch from resolved_at - created_at)::double precision as resolution
      from support_case where status = 'resolved' order by resolved_at desc limit :most
    ), others as (
      select percentile_cont(0.5) within group (order by response) as first_response_seconds,
        percentile_cont(0.9) within group (order by response) as slow_first_response_seconds,
        percentile_cont(0.5) within group (order by resolution) as resolution_seconds,
        percentile_cont(0.9) within group (order by resolution) as slow_resolution_seconds,
        (select ${since('min(updated_at)', '(select now from clock)')} from incident
          where not is_settled and resolved_at is null) as incident_update_seconds
      from latest
    )
    select others.*, queue.* from others left join queue on true`,
);

export async function readSupportFigures(database: Database): Promise<SupportFigures> {
  const rows = await database.read(READ_SUPPORT_FIGURES({ most: MAX_MEASURED_CASES }));
  const open = rows.filter(({ urgency }) => urgency !== null);
  return { ...SUPPORT.read(onlyRow(rows)), openCases: open.map((row) => OPEN_CASES.read(row)) };
}

const OPEN_ATTEMPTS = columns({
  connectorId: TEXT,
  status: word<AttemptStatus>(),
  count: NUMBER,
  /** How long the outcome of the oldest of these attempts has been unknown. */
  unknownSeconds: nullable(NUMBER),
});

const OPEN_BREAKS = columns({
  kind: word<BreakKind>(),
  count: NUMBER,
  /** Age of the oldest of these breaks. */
  oldestSeconds: NUMBER,
});

/** The figures from the tables of processors: attempts that have not ended, by connector and status, and open breaks. */
export type ProcessorFigures = {
  readonly openAttempts: readonly RowOf<typeof OPEN_ATTEMPTS.columns>[];
  readonly openBreaks: readonly RowOf<typeof OPEN_BREAKS.columns>[];
};

const READ_PROCESSOR_FIGURES: Statement = {
  name: 'read_processor_figures',
  text: `with clock as materialized (select service_now() as now)
    select connector_id, status, null as kind, count(*) as count,
      ${since('min(unknown_since)', '(select now from clock)')} as unknown_seconds, null::double precision as oldest_seconds
    from processor_attempt where status not in ('approved', 'declined', 'failed', 'reversed')
    group by connector_id, status
    union all
    select null, null, kind, count(*), null, ${since('min(created_at)', '(select now from clock)')}
    from processor_break where closed_at is null group by kind`,
  values: [],
};

/** Reads the figures from the tables of processors. Without connectors, both lists are empty. */
export async function readProcessorFigures(database: Database): Promise<ProcessorFigures> {
  const rows = await database.read(READ_PROCESSOR_FIGURES);
  return {
    openAttempts: rows.filter(({ kind }) => kind === null).map(OPEN_ATTEMPTS.read),
    openBreaks: rows.filter(({ kind }) => kind !== null).map(OPEN_BREAKS.read),
  };
}

/** A connected standby, as shown by `pg_stat_replication` to users that may see it (pg_monitor). */
export type StandbyFigures = {
  readonly name: string;
  readonly state: string;
  readonly syncState: string;
  readonly lagBytes: number;
  /** How long the standby took to replay the latest writes. Null if it has replayed everything or does not report this. */
  readonly lagSeconds: number | null;
};

/** Returns the amount of WAL that the slowest standby has not replayed, in bytes. 0 without standbys. */
export function largestLag(standbys: readonly StandbyFigures[]): number {
  return Math.max(0, ...standbys.map(({ lagBytes }) => lagBytes));
}

const SERVER = columns({
  version: TEXT,
  databaseBytes: NUMBER,
  /** The number of connections of all clients to the server, and the maximum. */
  connections: NUMBER,
  maxConnections: NUMBER,
  /** `synchronous_standby_names`. Commits wait for a standby unless it is empty. */
  standbyNames: TEXT,
  /** Maximum number of standbys that may connect. */
  maxWalSenders: NUMBER,
  /** `synchronous_commit` in the sessions of the service. */
  synchronousCommit: TEXT,
  /** The standbys by name. Null if the user lacks the privilege to see them. */
  standbyList: nullable(json<readonly StandbyFigures[]>('json')),
  /** The managed service that runs the server. It is recognized by a role that only its servers have. */
  managedBy: nullable(TEXT),
  archives: BOOLEAN,
  archivedCount: NUMBER,
  archiveFailedCount: NUMBER,
  lastArchivedAt: nullable(TIME),
  lastArchiveFailedAt: nullable(TIME),
});

export type ServerFigures = RowOf<typeof SERVER.columns>;

const READ_SERVER_FIGURES: Statement = {
  name: 'read_server_figures',
  text: `with sight as materialized (
      select pg_has_role('pg_read_all_stats', 'usage') as is_given
    ), standby as materialized (
      select json_build_object('name', application_name, 'state', state, 'syncState', sync_state,
        'lagBytes', coalesce(greatest(0, pg_wal_lsn_diff(
          case when pg_is_in_recovery() then null else pg_current_wal_lsn() end, replay_lsn)), 0),
        'lagSeconds', extract(epoch from replay_lag)) as described, application_name, pid
      from pg_stat_replication where state <> 'backup'
    )
    select current_setting('server_version') as version, pg_database_size(current_database()) as database_bytes,
      (select count(*) from pg_stat_activity where datid is not null) as connections,
      current_setting('max_connections')::integer as max_connections,
      current_setting('synchronous_standby_names') as standby_names, current_setting('max_wal_senders')::integer as max_wal_senders,
      current_setting('synchronous_commit') as synchronous_commit,
      case when (select is_given from sight) then
        (select coalesce(json_agg(described order by application_name, pid), '[]') from standby) end as standby_list,
      (select case rolname when 'cloudsqlsuperuser' then 'Google Cloud SQL' when 'alloydbsuperuser' then 'AlloyDB'
          when 'azure_pg_admin' then 'Azure Database for PostgreSQL'
          else case when to_regproc('aurora_version') is null then 'Amazon RDS' else 'Amazon Aurora' end end
        from pg_roles where rolname in ('rds_superuser', 'cloudsqlsuperuser', 'alloydbsuperuser', 'azure_pg_admin')
        limit 1) as managed_by,
      current_setting('archive_mode') <> 'off' as archives, archived_count, failed_count as archive_failed_count,
      last_archived_time as last_archived_at, last_failed_time as last_archive_failed_at
    from pg_stat_archiver`,
  values: [],
};

/** Begins a transaction as the user of the database, which may have privileges that the role of the service lacks. */
const AS_USER = 'begin read only; set local role none';

/**
 * Reads the server's figures about itself. It does not use the role of the service, because the privileges of the database's user
 * decide whether the server shows its standbys.
 */
export async function readServerFigures(database: Database): Promise<ServerFigures> {
  const [rows] = await database.inOnePacket([READ_SERVER_FIGURES], AS_USER);
  return SERVER.read(onlyRow(rows));
}

/** Each statement returns at least one row, even for an empty ledger. */
function onlyRow(rows: readonly Row[] | undefined): Row {
  const [row] = rows ?? [];
  if (row === undefined) throw new Error('the statement returned no row');
  return row;
}
