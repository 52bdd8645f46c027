import { type Static, type TProperties, Type } from 'typebox';
import { SURVIVALS } from '../../domain/primary-loss.ts';
import {
  CONCERNS,
  DATABASE_STATES,
  DELIVERY_STATES,
  READINESS_REASONS,
  SCHEMA_STATES,
  STATUS_PARTS,
} from '../../domain/service-status.ts';
import { operation } from '../operation.ts';
import { listed, literals, moment, nullable, programId, textOrNull } from '../schema-parts.ts';

const count = (description: string) => Type.Integer({ minimum: 0, description });
/** The description of a field that is null if it could not be read in time, unless it already says when it is null. */
const orNull = (description: string) =>
  description.includes('null') ? description : `${description}; null if not known`;
const countOrNull = (description: string) => nullable(count(orNull(description)));
const secondsOrNull = (description: string) =>
  nullable(Type.Number({ minimum: 0, description: `${orNull(description)}, or if there is none` }));
const momentOrNull = (description: string) => nullable(moment(`${orNull(description)}, or never`));
const booleanOrNull = (description: string) => nullable(Type.Boolean({ description: orNull(description) }));
const runbook = 'Page of the runbook, from the root of the project';

const part = <Fields extends TProperties>(description: string, fields: Fields) => Type.Object(fields, { description });

const StandbyRecord = Type.Object({
  name: Type.String({ description: 'Its application_name' }),
  state: Type.String({ description: 'State of its connection, such as streaming or catchup' }),
  sync_state: Type.String({
    description:
      'sync or quorum: commits wait for this standby; potential: they will wait for it if another standby is lost; async: they never wait for it',
  }),
  lag_bytes: count('WAL that it has not replayed'),
  lag_seconds: nullable(
    Type.Number({
      minimum: 0,
      description: 'How long it took to replay the latest WAL; null once it has replayed everything',
    }),
  ),
});

/** A problem that does not keep the service from working. */
const ConcernRecord = Type.Object({
  name: literals(CONCERNS, 'Name of the problem'),
  message: Type.String({ description: 'A sentence with the figures' }),
  runbook: Type.String({ description: runbook }),
});

/**
 * The state of one process of the service. Null means not known, for example because the database that has the value does
 * not respond.
 */
export const ServiceStatus = Type.Object({
  version: Type.String({ description: 'Version of the service' }),
  mode: literals(['sandbox', 'live'], 'Mode of the service'),
  host: Type.String({ description: 'Name of the machine' }),
  process_id: count('Id of the process on that machine'),
  started_at: moment('When the process was started'),
  uptime_seconds: count('Time since then'),
  readiness: part('Whether the service can serve requests, and why not', {
    ready: Type.Boolean({ description: 'Whether it serves requests, as /health/ready says' }),
    reason: { ...literals(READINESS_REASONS, 'The state, by its stable name'), 'x-checked': listed('ReadinessReason') },
    message: Type.String({ description: 'The state in a sentence' }),
    runbook: textOrNull(`${runbook}; null if there is nothing to do`),
    since: moment('When this state began'),
  }),
  degraded: Type.Array(ConcernRecord, { description: 'Problems that do not keep the service from working' }),
  unknown: Type.Array(literals(STATUS_PARTS, 'Part'), {
    description: 'Parts that could not be read from the database in time; their fields are null',
  }),
  schema: part('The tables of the database', {
    state: nullable(literals(SCHEMA_STATES, orNull('Whether they fit the version of the service'))),
    newest_migration: textOrNull(orNull('Newest migration of the database')),
  }),
  database: part('The PostgreSQL that has the ledger', {
    kind: literals(['embedded', 'external'], 'The PostgreSQL that comes with the service, or the one in DATABASE_URL'),
    state: literals(DATABASE_STATES, 'State, as far as the service knows'),
    host: textOrNull('Host of DATABASE_URL that this process uses, with its port; null for the embedded PostgreSQL'),
    host_since: nullable(moment('When this process started to use that host; null for the embedded PostgreSQL')),
    version: textOrNull(orNull('Version of PostgreSQL')),
    size_bytes: countOrNull('Size of the database on its disk'),
    survives_primary_loss: part('Whether a commit that is acknowledged now would survive the loss of the primary', {
      answer: literals(SURVIVALS, 'yes if the commit is on the disk of a standby when it is acknowledged'),
      reason: Type.String({ description: 'Why, in a sentence' }),
    }),
    standby_list: nullable(
      Type.Array(StandbyRecord, { description: 'The connected standbys; null without the right to see them' }),
    ),
    standbys: countOrNull('Connected standbys; null without the right to see them'),
    waits_for_standby: booleanOrNull('Whether commits wait for a standby'),
    replication_lag_bytes: countOrNull('How far behind the slowest standby is'),
  }),
  connections: part('The connections of this process to the database', {
    max: count('Database connections that this process may open'),
    in_use: count('Connections in use'),
    idle: count('Open connections that are not in use'),
    waiting: count('Requests that are waiting for a connection'),
  }),
  webhooks: part('The delivery of events to webhooks', {
    delivery: literals(DELIVERY_STATES, 'Whether this process delivers'),
    enabled: countOrNull('Webhooks that are enabled'),
    paused: countOrNull('Webhooks that are paused after failures'),
    failing: countOrNull('Webhooks whose attempts have all failed for 15 minutes or more'),
    oldest_undelivered_seconds: secondsOrNull('Age of the oldest event that was not sent to an enabled webhook yet'),
  }),
  error_log: part('The error log', {
    spool_bytes: count('Bytes of errors on this machine that are waiting for the database'),
    max_spool_bytes: count('Maximum bytes of errors that can wait for the database'),
    dropped: count('Errors that this process could not record'),
  }),
  relay_lag_seconds: secondsOrNull('Age of the oldest event without a position'),
  due_late_seconds: secondsOrNull('How late the oldest scheduled transfer or expired hold is'),
  switch: part('The switch that disables transfers', {
    service_disabled: booleanOrNull('Whether all transfers of the service, or all of one type, are disabled'),
    programs_disabled: countOrNull('Card programs with a separate setting that disables transfers'),
    connectors_disabled: countOrNull('Connectors that are disabled, in all card programs or in some'),
  }),
  funding_low: countOrNull('Card programs whose funding is below its threshold'),
  books: part('The verification of the books', {
    verified_at: momentOrNull('When the books were last compared with all postings'),
    balanced: booleanOrNull('Whether they balanced'),
  }),
  yesterday: part('Whether the last day of each card program adds up (see get_day), and which earlier days do not', {
    programs: countOrNull('Card programs that existed before their last day ended'),
    checked: countOrNull('Card programs whose last day was checked; a check begins a minute after the day ends'),
    not_checked: countOrNull('Card programs whose last day was not checked within an hour after its end'),
    not_adding_up: countOrNull(
      'Days that do not add up: the last day of each card program, and earlier days that are not closed',
    ),
    days: nullable(
      Type.Array(
        Type.Object({
          program_id: programId,
          program_name: Type.String({ description: 'Name of the card program' }),
          day: Type.String({ format: 'date', description: 'The day, such as 2026-01-31' }),
        }),
        {
          description: orNull(
            'Up to six of these days: the last days of three card programs, by name, and the three newest earlier days',
          ),
        },
      ),
    ),
    message: textOrNull(orNull('All of this in a sentence')),
  }),
  backups: part('The backups of the embedded PostgreSQL', {
    last_copy_at: momentOrNull('When the last copy of the ledger was taken'),
    last_archived_at: momentOrNull('When the log of changes was last archived'),
    restorable_until: momentOrNull('Everything that was committed until then can be restored from BACKUP_DIR'),
  }),
});

export const STATUS = [
  operation({
    id: 'get_status',
    method: 'GET',
    path: '/api/v0.1/operator/status',
    summary: 'Get the state of the service: whether it is ready, its problems, and what to do about them',
    reach: 'operator',
    scope: 'operator:read',
    reply: ServiceStatus,
    failure: 'The status could not be read',
    example: {
      reply: {
        readiness: {
          ready: true,
          reason: 'ready',
          message: 'Every operation can be served.',
          runbook: null,
          since: '2026-01-31T09:30:00.000Z',
        },
        degraded: [
          {
            name: 'books_not_verified',
            message: 'The books were last verified 9 hours ago.',
            runbook: 'docs/runbook/books-not-verified.md',
          },
        ],
        unknown: [],
      },
    },
  }),
] as const;

export type ServiceStatus = Static<typeof ServiceStatus>;
