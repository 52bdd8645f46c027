import type { Row, Statement } from './connection/database.ts';
import {
  BYTES,
  columns,
  DATE,
  insertRow,
  many,
  NUMBER,
  nullable,
  type RowOf,
  statement,
  statementOfRows,
  TEXT,
  UUID,
  word,
} from './sql.ts';

export const IDLE_MINUTES = 15;

/** How long a session stays valid in any case. */
export const MAX_HOURS = 12;

/** Maximum number of sessions of a key. One more ends the oldest. A team that shares a key has fewer. */
const MAX_SESSIONS_OF_KEY = 100;

const CALLER_NAMES = columns({
  keyName: TEXT,
  keyExpiresAt: nullable(DATE),
  programName: nullable(TEXT),
  sessionCreatedAt: nullable(DATE),
  lastActiveAt: nullable(DATE),
  secondsAhead: NUMBER,
});

/** How far the clock of the sandbox is ahead, or 0 if it was never moved. */
const SECONDS_AHEAD = `coalesce((select extract(epoch from ahead) from sandbox_clock where singleton), 0)::integer
      as seconds_ahead`;

/** The names of a key and its card program, the times of the session, and how far the clock is ahead, in seconds. */
export type CallerNames = RowOf<typeof CALLER_NAMES.columns>;

const READ_CALLER_NAMES = statement(
  'read_caller_names',
  { keyId: UUID, sessionId: nullable(UUID) },
  `select api_key.name as key_name, api_key.expires_at as key_expires_at, program.name as program_name,
      console_session.created_at as session_created_at, console_session.last_active_at, ${SECONDS_AHEAD}
    from api_key left join program using (program_id)
      left join console_session on console_session.session_id = :sessionId
    where api_key.key_id = :keyId`,
);

/** Reads {@link CallerNames}. No row if the key does not exist. */
export function readCallerNames(keyId: string, sessionId: string | null): Statement {
  return READ_CALLER_NAMES({ keyId, sessionId });
}

export function toCallerNames(row: Row): CallerNames {
  return CALLER_NAMES.read(row);
}

const READ_PROGRAM_NAME = statement(
  'read_program_name',
  { programId: UUID },
  `select name as program_name, ${SECONDS_AHEAD} from program where program_id = :programId`,
);

/** Reads the name of a card program, as `program_name`, and how far the clock is ahead, as `seconds_ahead`. */
export function readProgramName(programId: string): Statement {
  return READ_PROGRAM_NAME({ programId });
}

const BEARER = columns({
  sessionId: UUID,
  keyId: UUID,
  programId: nullable(UUID),
  scopes: many(word()),
  revokedAt: nullable(DATE),
  replacedBy: nullable(UUID),
});

export type FoundSession = RowOf<typeof BEARER.columns> & {
  /** Milliseconds until its key expires, or null for never. */
  readonly keyLeft: number | null;
  /** Milliseconds until it ends if it is not used. */
  readonly idleLeft: number;
  /** Milliseconds until it ends in any case. */
  readonly left: number;
};

const milliseconds = (span: string): string => `(extract(epoch from ${span}) * 1000)::bigint`;
const IDLE_LEFT = `console_session.last_active_at + interval '${IDLE_MINUTES} minutes' - statement_timestamp()`;
const LEFT = `console_session.created_at + interval '${MAX_HOURS} hours' - statement_timestamp()`;

const FIND_SESSION = statement(
  'find_session',
  { tokenHash: BYTES },
  `select ${BEARER.names}, ${milliseconds('expires_at - service_now()')} as key_left,
      ${milliseconds(IDLE_LEFT)} as idle_left, ${milliseconds(LEFT)} as left_ms
    from console_session join api_key using (key_id) where token_hash = :tokenHash`,
);

/** Finds a session by the hash of its token, with its key, whether it has ended or not. */
export function findSession(tokenHash: Buffer): Statement {
  return FIND_SESSION({ tokenHash });
}

export function toFoundSession(row: Row): FoundSession {
  return {
    ...BEARER.read(row),
    keyLeft: row.key_left === null ? null : Number(row.key_left),
    idleLeft: Number(row.idle_left),
    left: Number(row.left_ms),
  };
}

const KEY_OF_SESSION = columns({
  programId: nullable(UUID),
  name: TEXT,
  scopes: many(word()),
  expiresAt: nullable(DATE),
  revokedAt: nullable(DATE),
  replacedBy: nullable(UUID),
});

const LOCK_KEY_OF_SESSION = statement(
  'lock_key_of_session',
  { keyId: UUID },
  `select ${KEY_OF_SESSION.names}, coalesce(expires_at <= service_now(), false) as expired, statement_timestamp() as now
    from api_key where key_id = :keyId for no key update`,
);

/** Locks the key of a new session. `now` is the real time. No row if the key does not exist. */
export function lockKeyOfSession(keyId: string): Statement {
  return LOCK_KEY_OF_SESSION({ keyId });
}

export function toKeyOfSession(row: Row): RowOf<typeof KEY_OF_SESSION.columns> {
  return KEY_OF_SESSION.read(row);
}

const SESSION = columns({
  sessionId: UUID,
  /** SHA-256 of the token, which is never stored itself. */
  tokenHash: BYTES,
  keyId: UUID,
  createdAt: DATE,
  lastActiveAt: DATE,
});

export const insertSession = insertRow('insert_session', 'console_session', SESSION);

const DELETE_OLDEST_SESSIONS = statement(
  'delete_oldest_sessions',
  { keyId: UUID, kept: NUMBER },
  `delete from console_session where session_id in (
      select session_id from console_session where key_id = :keyId order by session_id desc offset :kept limit 100
    )`,
);

/** Makes room for one more session of a key, which must be locked. Ends the oldest sessions above the maximum. */
export function deleteOldestSessions(keyId: string): Statement {
  return DELETE_OLDEST_SESSIONS({ keyId, kept: MAX_SESSIONS_OF_KEY - 1 });
}

const LISTED = columns({
  sessionId: UUID,
  keyId: UUID,
  createdAt: DATE,
  lastActiveAt: DATE,
});
const LISTED_KEY = columns({ keyName: TEXT, programId: nullable(UUID), scopes: many(word()) });
const LISTED_NAMES = `${LISTED.of('console_session')}, api_key.name as key_name, api_key.program_id, api_key.scopes`;

export type ListedSession = RowOf<typeof LISTED.columns> & RowOf<typeof LISTED_KEY.columns>;

const IS_OPEN = `${IDLE_LEFT} > '0' and ${LEFT} > '0' and api_key.revoked_at is null and api_key.replaced_by is null
  and (api_key.expires_at is null or api_key.expires_at > service_now())`;

const LIST_SESSIONS = statement(
  'list_sessions',
  { after: nullable(UUID), count: NUMBER },
  `select ${LISTED_NAMES} from console_session join api_key using (key_id)
    where (:after::uuid is null or session_id < :after) and ${IS_OPEN}
    order by session_id desc limit :count`,
);

/** Reads a page of the sessions that have not ended, newest first, after the session `after`. */
export function listSessions(after: string | null, count: number): Statement {
  return LIST_SESSIONS({ after, count });
}

const LOCK_SESSION = statement(
  'lock_session',
  { sessionId: UUID },
  `select ${LISTED_NAMES}, statement_timestamp() as now from console_session join api_key using (key_id)
    where session_id = :sessionId and ${IS_OPEN} for update of console_session`,
);

/** Locks a session that has not ended. `now` is the real time. */
export function lockSession(sessionId: string): Statement {
  return LOCK_SESSION({ sessionId });
}

export function toListedSession(row: Row): ListedSession {
  return { ...LISTED.read(row), ...LISTED_KEY.read(row) };
}

const DELETE_SESSION = statement(
  'delete_session',
  { sessionId: UUID },
  'delete from console_session where session_id = :sessionId',
);

/** Ends a session, which must be locked. */
export function deleteSession(sessionId: string): Statement {
  return DELETE_SESSION({ sessionId });
}

const SESSION_USE = columns({ sessionId: UUID, age: NUMBER });

/** The use of a session, as a number of milliseconds ago. */
export type SessionUse = RowOf<typeof SESSION_USE.columns>;

/** Stores when sessions were last used, unless a later use is stored. Skips rows that another transaction has locked. */
export const noteSessionUses = statementOfRows(
  'note_session_uses',
  SESSION_USE,
  `update console_session set last_active_at = statement_timestamp() - used.age * interval '1 millisecond'
    from (
      select session_id, sent.age from console_session join :sent using (session_id)
      where last_active_at < statement_timestamp() - sent.age * interval '1 millisecond'
      order by session_id for no key update of console_session skip locked
    ) as used where console_session.session_id = used.session_id`,
);

const FORGET_SESSIONS = statement(
  'forget_sessions',
  { count: NUMBER },
  `with forgotten as (
      delete from console_session where session_id in (
        select session_id from console_session where created_at < statement_timestamp() - interval '${MAX_HOURS} hours'
        limit :count for update skip locked
      ) returning 1
    ) select count(*) as forgotten from forgotten`,
);

/** Deletes some of the sessions that ended by age. The table is too small to need an index for it. */
export function forgetSessions(count: number): Statement {
  return FORGET_SESSIONS({ count });
}
