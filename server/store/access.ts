import type { Row, Statement } from './connection/database.ts';
import { columns, DATE, many, NUMBER, nullable, type RowOf, statement, TEXT, UUID, word } from './sql.ts';

const HOLDER = columns({
  /** Of the key or the person. */
  holderId: UUID,
  /** The person that it belongs to: of a person, the same id. */
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

/** A key that works, or a person who may sign in. */
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

/** Reads keys and people together, newest first, after the one with the id `after`. */
export function listHolders(after: string | null, count: number): Statement {
  return LIST_HOLDERS({ after, count });
}

export function toHolder(row: Row): Holder {
  return HOLDER.read(row);
}
