import type { CountedMovement } from '../../domain/people/operator-limits.ts';
import type { Row, Statement } from './connection/database.ts';
import {
  BIGINT,
  CURRENCY,
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
  TIME,
  UUID,
  word,
} from './sql.ts';

const PERSON = columns({
  personId: UUID,
  /** The URL of the identity provider, or `sandbox`. */
  issuer: TEXT,
  /** The provider's id for the person. */
  subject: TEXT,
  /** Null after an erasure, and if the provider sends no name. */
  name: nullable(TEXT),
  email: nullable(TEXT),
  /** The roles at the last sign-in, such as `support` or `viewer@prog_…`. */
  roles: many(TEXT),
  firstSeenAt: DATE,
  lastSeenAt: DATE,
  blockedAt: nullable(DATE),
  erasedAt: nullable(DATE),
});

export type Person = RowOf<typeof PERSON.columns>;

export function toPerson(row: Row): Person {
  return PERSON.read(row);
}

export const insertPerson = insertRow('insert_person', 'person', PERSON);

const FIND_PERSON = statement(
  'find_person',
  { issuer: TEXT, subject: TEXT },
  `select ${PERSON.names} from person
    where issuer = :issuer and subject = :subject for no key update`,
);

/**
 * Finds and locks a person by the provider's id. The caller must have locked this name, so that two sign-ins never insert the same
 * person.
 */
export function findPerson(issuer: string, subject: string): Statement {
  return FIND_PERSON({ issuer, subject });
}

/** Reads the real time, as `now`. A sandbox's clock does not apply to people. */
export const READ_REAL_TIME: Statement = {
  name: 'read_real_time',
  text: 'select statement_timestamp() as now',
  values: [],
};

const LOCK_PERSON = statement(
  'lock_person',
  { personId: UUID },
  `select ${PERSON.names}, statement_timestamp() as now from person where person_id = :personId for no key update`,
);

/** Locks a person. `now` is the real time. */
export function lockPerson(personId: string): Statement {
  return LOCK_PERSON({ personId });
}

export const readPerson = statement(
  'read_person',
  { personId: UUID },
  `select ${PERSON.names} from person where person_id = :personId`,
);

const LIST_PEOPLE = statement(
  'list_people',
  { after: nullable(UUID), count: NUMBER },
  `select ${PERSON.names} from person where :after::uuid is null or person_id < :after
    order by person_id desc limit :count`,
);

/** Reads a page of people after the person `after`. The people who were added last come first. */
export function listPeople(after: string | null, count: number): Statement {
  return LIST_PEOPLE({ after, count });
}

const UPDATED = PERSON.pick('personId', 'name', 'email', 'roles', 'lastSeenAt', 'blockedAt', 'erasedAt');

const UPDATE_PERSON = statement(
  'update_person',
  UPDATED.columns,
  `update person set name = :name, email = :email, roles = :roles, last_seen_at = :lastSeenAt, blocked_at = :blockedAt,
      erased_at = :erasedAt where person_id = :personId`,
);

/** Stores the changeable properties of a person, who must be locked. */
export function updatePerson({ personId, name, email, roles, lastSeenAt, blockedAt, erasedAt }: Person): Statement {
  return UPDATE_PERSON({ personId, name, email, roles, lastSeenAt, blockedAt, erasedAt });
}

const HOLDER = columns({
  /** The inner UUID of the key or the person. */
  holderId: UUID,
  /** The person that a key belongs to. For a person, the same id. */
  ownerId: nullable(UUID),
  name: nullable(TEXT),
  programId: nullable(UUID),
  /** Null for a person. */
  scopes: nullable(many(word())),
  /** Null for a key. */
  roles: nullable(many(TEXT)),
  lastUsedAt: nullable(DATE),
  expiresAt: nullable(DATE),
});

/** A valid key, or a person who may sign in. */
export type Holder = RowOf<typeof HOLDER.columns>;

const LIST_HOLDERS = statement(
  'list_holders',
  { after: nullable(UUID), count: NUMBER },
  `select ${HOLDER.names} from (
      select key_id as holder_id, owner_id, name, program_id, scopes, null::text[] as roles, last_used_at, expires_at from api_key
        where revoked_at is null and (expires_at is null or expires_at > service_now())
          and not exists (select from person where person_id = owner_id and blocked_at is not null)
      union all
      select person_id, person_id, name, null, null, roles, last_seen_at, null from person where blocked_at is null
    ) as holder
    where :after::uuid is null or holder_id < :after order by holder_id desc limit :count`,
);

/** Reads keys and people together, newest first, after the holder with the id `after`. */
export function listHolders(after: string | null, count: number): Statement {
  return LIST_HOLDERS({ after, count });
}

export function toHolder(row: Row): Holder {
  return HOLDER.read(row);
}

const COUNTED_MOVEMENT = columns({ actor: TEXT, currency: CURRENCY, dayStart: TIME, amount: BIGINT });

/** Reads the totals of people. The transaction has locked their names (kind `operator`). */
export const readCountedMovements = statement(
  'read_counted_movements',
  { actors: many(TEXT) },
  `select ${COUNTED_MOVEMENT.names} from operator_movement where actor = any (:actors)`,
);

export function toCountedMovement(row: Row): CountedMovement {
  return COUNTED_MOVEMENT.read(row);
}

/** Stores totals. The lock on the person's name ensures that the total is based on the latest stored one. */
export const writeCountedMovements = statementOfRows(
  'write_counted_movements',
  COUNTED_MOVEMENT,
  `insert into operator_movement (${COUNTED_MOVEMENT.names}) select ${COUNTED_MOVEMENT.names} from :sent
    on conflict (actor, currency) do update set day_start = excluded.day_start, amount = excluded.amount`,
);
