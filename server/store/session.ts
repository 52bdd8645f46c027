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

/** Maximum lifetime of a session, even if it is used. */
export const MAX_HOURS = 12;

/** Maximum number of sessions of a key or a person. If one more begins, the oldest ends. */
const MAX_SESSIONS_OF_OWNER = 100;

const CALLER_NAMES = columns({
  keyName: nullable(TEXT),
  keyExpiresAt: nullable(DATE),
  personName: nullable(TEXT),
  programName: nullable(TEXT),
  sessionCreatedAt: nullable(DATE),
  lastActiveAt: nullable(DATE),
  secondsAhead: NUMBER,
});

/** SQL: how far the sandbox clock is ahead, or 0 if it was never moved. */
const SECONDS_AHEAD = `coalesce((select extract(epoch from ahead) from sandbox_clock where singleton), 0)::integer
      as seconds_ahead`;

/** The names of a key or a person and of the card program, the times of the session, and how far the clock is ahead, in seconds. */
export type CallerNames = RowOf<typeof CALLER_NAMES.columns>;

const READ_CALLER_NAMES = statement(
  'read_caller_names',
  { keyId: UUID, sessionId: nullable(UUID) },
  `select api_key.name as key_name, api_key.expires_at as key_expires_at, null as person_name, program.name as program_name,
      console_session.created_at as session_created_at, console_session.last_active_at, ${SECONDS_AHEAD}
    from api_key left join program using (program_id)
      left join console_session on console_session.session_id = :sessionId
    where api_key.key_id = :keyId`,
);

const READ_PERSON_NAMES = statement(
  'read_person_names',
  { sessionId: UUID },
  `select null as key_name, null as key_expires_at, person.name as person_name, program.name as program_name,
      console_session.created_at as session_created_at, console_session.last_active_at, ${SECONDS_AHEAD}
    from console_session join person using (person_id) left join program on program.program_id = console_session.program_id
    where console_session.session_id = :sessionId`,
);

/** Reads {@link CallerNames}. Returns no row if the key or the person's session does not exist. */
export function readCallerNames(caller: ScopedId): Statement {
  return 'keyId' in caller
    ? READ_CALLER_NAMES({ keyId: caller.keyId, sessionId: caller.sessionId ?? null })
    : READ_PERSON_NAMES({ sessionId: caller.sessionId });
}

/** The key of a caller, with its session if it has one, or the session of a person. Ids are inner UUIDs. */
export type ScopedId = { readonly keyId: string; readonly sessionId?: string } | { readonly sessionId: string };

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

/**
 * A session of a key has the program and the scopes of the key. A session of a person has the program and the scopes of the
 * sign-in.
 */
const BEARER = columns({
  sessionId: UUID,
  keyId: nullable(UUID),
  personId: nullable(UUID),
  signedInAt: nullable(DATE),
  programId: nullable(UUID),
  scopes: many(word()),
  revokedAt: nullable(DATE),
  replacedBy: nullable(UUID),
  /** The person that the key belongs to. */
  ownerId: nullable(UUID),
  /** When the person of the session or of its key was blocked. */
  blockedAt: nullable(DATE),
});

const OWNERS = 'console_session left join api_key using (key_id) left join person using (person_id)';
const OWN_PROGRAM = 'coalesce(console_session.program_id, api_key.program_id) as program_id';
const OWN_BLOCK =
  'coalesce(person.blocked_at, (select blocked_at from person as owner where owner.person_id = owner_id)) as blocked_at';
const OWN_SCOPES = 'coalesce(console_session.scopes, api_key.scopes) as scopes';

export type FoundSession = RowOf<typeof BEARER.columns> & {
  /** Milliseconds until the key of the session expires. Null for never. */
  readonly keyLeft: number | null;
  /** Milliseconds until the session ends if it is not used. */
  readonly idleLeft: number;
  /** Milliseconds until the session ends even if it is used. */
  readonly left: number;
};

const milliseconds = (span: string): string => `(extract(epoch from ${span}) * 1000)::bigint`;
const IDLE_LEFT = `console_session.last_active_at + interval '${IDLE_MINUTES} minutes' - statement_timestamp()`;
const LEFT = `console_session.created_at + interval '${MAX_HOURS} hours' - statement_timestamp()`;

const FIND_SESSION = statement(
  'find_session',
  { tokenHash: BYTES },
  `select ${BEARER.omit('programId', 'scopes', 'blockedAt').names}, ${OWN_BLOCK}, ${OWN_PROGRAM}, ${OWN_SCOPES},
      ${milliseconds('expires_at - service_now()')} as key_left,
      ${milliseconds(IDLE_LEFT)} as idle_left, ${milliseconds(LEFT)} as left_ms
    from ${OWNERS} where token_hash = :tokenHash`,
);

/** Finds a session by the hash of its token, with its key or its person, even if it has ended. */
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

/** Locks the key of a new session. `now` is the real time. Returns no row if the key does not exist. */
export function lockKeyOfSession(keyId: string): Statement {
  return LOCK_KEY_OF_SESSION({ keyId });
}

export function toKeyOfSession(row: Row): RowOf<typeof KEY_OF_SESSION.columns> {
  return KEY_OF_SESSION.read(row);
}

const SESSION = columns({
  sessionId: UUID,
  /** SHA-256 of the token. The token itself is never stored. */
  tokenHash: BYTES,
  createdAt: DATE,
  lastActiveAt: DATE,
});

export const insertSession = insertRow(
  'insert_session',
  'console_session',
  columns({ ...SESSION.columns, keyId: UUID }),
);

/** Inserts the session of a person, with the permissions of the sign-in. */
export const insertPersonSession = insertRow(
  'insert_person_session',
  'console_session',
  columns({
    ...SESSION.columns,
    personId: UUID,
    /** Null for all card programs. */
    programId: nullable(UUID),
    scopes: many(word()),
    signedInAt: DATE,
    /** The identity provider's id for the session. */
    providerSession: nullable(TEXT),
  }),
);

const DELETE_OLDEST_SESSIONS = statement(
  'delete_oldest_sessions',
  { ownerId: UUID, kept: NUMBER },
  `delete from console_session where session_id in (
      select session_id from console_session where key_id = :ownerId or person_id = :ownerId
        order by session_id desc offset :kept limit 100
    )`,
);

/** Makes room for another session of a key or a person, which must be locked. Ends the oldest sessions above the maximum. */
export function deleteOldestSessions(ownerId: string): Statement {
  return DELETE_OLDEST_SESSIONS({ ownerId, kept: MAX_SESSIONS_OF_OWNER - 1 });
}

const LISTED = columns({
  sessionId: UUID,
  keyId: nullable(UUID),
  personId: nullable(UUID),
  createdAt: DATE,
  lastActiveAt: DATE,
  signedInAt: nullable(DATE),
});
const LISTED_OWNER = columns({
  keyName: nullable(TEXT),
  personName: nullable(TEXT),
  programId: nullable(UUID),
  scopes: many(word()),
});
const LISTED_NAMES = `${LISTED.of('console_session')}, api_key.name as key_name, person.name as person_name,
  ${OWN_PROGRAM}, ${OWN_SCOPES}`;

export type ListedSession = RowOf<typeof LISTED.columns> & RowOf<typeof LISTED_OWNER.columns>;

const IS_OPEN = `${IDLE_LEFT} > '0' and ${LEFT} > '0' and api_key.revoked_at is null and api_key.replaced_by is null
  and (api_key.expires_at is null or api_key.expires_at > service_now()) and person.blocked_at is null`;

const LIST_SESSIONS = statement(
  'list_sessions',
  { after: nullable(UUID), count: NUMBER },
  `select ${LISTED_NAMES} from ${OWNERS}
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
  `select ${LISTED_NAMES}, statement_timestamp() as now from ${OWNERS}
    where session_id = :sessionId and ${IS_OPEN} for update of console_session`,
);

/** Locks a session that has not ended. `now` is the real time. */
export function lockSession(sessionId: string): Statement {
  return LOCK_SESSION({ sessionId });
}

export function toListedSession(row: Row): ListedSession {
  return { ...LISTED.read(row), ...LISTED_OWNER.read(row) };
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

const END_SESSIONS_OF_PERSON = statement(
  'end_sessions_of_person',
  { personId: UUID },
  'delete from console_session where person_id = :personId',
);

export function endSessionsOfPerson(personId: string): Statement {
  return END_SESSIONS_OF_PERSON({ personId });
}

const LOCK_PROVIDER_SESSIONS = statement(
  'lock_provider_sessions',
  { issuer: TEXT, subject: nullable(TEXT), providerSession: nullable(TEXT) },
  `select ${LISTED_NAMES}, statement_timestamp() as now from ${OWNERS}
    where person.issuer = :issuer and (:subject::text is null or person.subject = :subject)
      and (:providerSession::text is null or console_session.provider_session = :providerSession)
    order by session_id for update of console_session`,
);

/**
 * Locks the sessions that began with a sign-in at an identity provider, selected by the person, by the provider's `sid`, or by
 * both.
 */
export function lockProviderSessions(named: {
  readonly issuer: string;
  readonly subject: string | null;
  readonly providerSession: string | null;
}): Statement {
  return LOCK_PROVIDER_SESSIONS(named);
}

const SESSION_USE = columns({ sessionId: UUID, age: NUMBER });

/** How many milliseconds ago a session was last used. */
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

/** Deletes some of the sessions that have ended because of their age. The table is too small to need an index. */
export function forgetSessions(count: number): Statement {
  return FORGET_SESSIONS({ count });
}
