import type { Metadata } from '../../../domain/metadata.ts';
import type { Row, Statement } from '../connection/database.ts';
import { REPLICATED } from '../connection/standby.ts';
import {
  BIGINT,
  CURRENCY,
  columns,
  DATE,
  insertRow,
  insertRows,
  json,
  NUMBER,
  nullable,
  type RowOf,
  statement,
  statementVariants,
  TEXT,
  TIME,
  UUID,
  word,
} from '../sql.ts';

const MOVEMENT = columns({
  programId: UUID,
  movementId: UUID,
  kind: word<'deposit' | 'withdrawal'>(),
  /** Minor units. */
  amount: BIGINT,
  currency: CURRENCY,
  description: nullable(TEXT),
  /** Unique within its program. */
  reference: nullable(TEXT),
  metadata: json<Metadata>(),
  actor: TEXT,
});

export type FundingMovement = RowOf<typeof MOVEMENT.columns>;

const INSERT_MOVEMENT = insertRow(
  'insert_funding_movement',
  'funding_movement',
  columns({ ...MOVEMENT.columns, createdAt: TIME }),
);

const INSERT_METADATA = insertRows(
  'insert_funding_movement_metadata',
  'funding_movement_metadata',
  columns({ programId: UUID, name: TEXT, value: TEXT, movementId: UUID }),
);

/** Inserts a deposit or withdrawal, and its metadata also into the search table. The posting is inserted separately. */
export function insertFundingMovement(movement: FundingMovement, now: number): readonly Statement[] {
  const { programId, movementId, metadata } = movement;
  const pairs = Object.entries(metadata).map(([name, value]) => ({ programId, movementId, name, value }));
  return [INSERT_MOVEMENT({ ...movement, createdAt: now }), ...(pairs.length === 0 ? [] : [INSERT_METADATA(pairs)])];
}

const READ_REFERENCE = statement(
  'read_funding_movement_reference',
  { programId: UUID, reference: TEXT },
  `select kind, movement_id from funding_movement where program_id = :programId and reference = :reference limit 1`,
);

/** Reads which deposit or withdrawal has a reference. Must come after the reference was locked. */
export function readMovementReference(programId: string, reference: string): Statement {
  return READ_REFERENCE({ programId, reference });
}

export function toReferenceHolder([row]: readonly Row[]): Pick<FundingMovement, 'kind' | 'movementId'> | undefined {
  return row === undefined ? undefined : MOVEMENT.pick('kind', 'movementId').read(row);
}

const COLUMNS = `${MOVEMENT.of('funding_movement')}, funding_movement.created_at, case funding_movement.kind
    when 'deposit' then posting.destination_balance else posting.source_balance end as balance`;

const WITH_POSTING = `join posting on posting.program_id = funding_movement.program_id
    and posting.cause_id = funding_movement.movement_id and posting.purpose in ('deposit', 'withdrawal')`;

const READ_MOVEMENT = statement(
  'read_funding_movement',
  { programId: UUID, movementId: UUID },
  `select ${COLUMNS} from funding_movement ${WITH_POSTING}
    where funding_movement.program_id = :programId and movement_id = :movementId`,
);

/** Reads a deposit or withdrawal, with the balance of the funding account after it. */
export function readFundingMovement(programId: string, movementId: string): Statement {
  return READ_MOVEMENT({ programId, movementId });
}

/** The conditions of a list of deposits and withdrawals. Null means no condition. */
export type MovementFilter = {
  readonly reference: string | null;
  readonly metadata: { readonly name: string; readonly value: string } | null;
};

export const EVERY_MOVEMENT: MovementFilter = { reference: null, metadata: null };

const AFTER = '(:after::uuid is null or movement_id < :after)';

/** SQL for a page, by the filter in use. Each query uses the index that finds the candidates for its filter. */
const FOUND = {
  list_funding_movements: `select * from funding_movement
      where program_id = :programId and ${AFTER} order by movement_id desc limit :count`,
  // Finds at most one row.
  list_funding_movements_by_reference: `select * from funding_movement
      where program_id = :programId and reference = :reference and ${AFTER}
        and (:metadataName::text is null or metadata ->> :metadataName = :metadataValue)
      limit :count`,
  list_funding_movements_by_metadata: `select funding_movement.* from (
        select movement_id from funding_movement_metadata
        where program_id = :programId and name = :metadataName and value = :metadataValue and ${AFTER}
        order by movement_id desc limit :count
      ) as pair
      cross join lateral (
        select * from funding_movement
        where funding_movement.program_id = :programId and funding_movement.movement_id = pair.movement_id limit 1
      ) as funding_movement`,
} as const;

const LIST_MOVEMENTS = statementVariants({
  programId: UUID,
  after: nullable(UUID),
  reference: nullable(TEXT),
  metadataName: nullable(TEXT),
  metadataValue: nullable(TEXT),
  count: NUMBER,
});

/** Reads a page of the deposits and withdrawals of a program, newest first, after the movement `after` (inner UUID). */
export function listFundingMovements(
  programId: string,
  { reference, metadata }: MovementFilter,
  after: string | null,
  count: number,
): Statement {
  const name =
    reference !== null
      ? 'list_funding_movements_by_reference'
      : metadata !== null
        ? 'list_funding_movements_by_metadata'
        : 'list_funding_movements';
  const pair = { metadataName: metadata?.name ?? null, metadataValue: metadata?.value ?? null };
  const text = (): string => `select ${COLUMNS}, ${REPLICATED}
    from (${FOUND[name]}) as funding_movement ${WITH_POSTING} order by movement_id desc`;
  return LIST_MOVEMENTS(name, text, { programId, after, reference, ...pair, count });
}

/** The conditions of a search in all card programs. Null means no condition. */
export type MovementSearch = {
  readonly kind: FundingMovement['kind'] | null;
  readonly programId: string | null;
  readonly from: Date | null;
  readonly to: Date | null;
};

const SEARCH_MOVEMENTS = statementVariants({
  programId: nullable(UUID),
  after: nullable(UUID),
  fromId: nullable(UUID),
  untilId: nullable(UUID),
  from: nullable(DATE),
  to: nullable(DATE),
  count: NUMBER,
});

/**
 * Reads a page of the deposits and withdrawals of all card programs, newest first, after the movement `after` (inner UUID).
 * `bounds` are ids before and after the period, so that an index finds the candidates.
 */
export function searchFundingMovements(
  { kind, programId, from, to }: MovementSearch,
  bounds: { readonly fromId: string | null; readonly untilId: string | null },
  after: string | null,
  count: number,
): Statement {
  const conditions = [
    // The planner can use the index of withdrawals, and expects many deposits even if the table has no statistics.
    ['kind', kind !== null, kind === 'deposit' ? "kind <> 'withdrawal'" : "kind = 'withdrawal'"],
    ['program', programId !== null, 'program_id = :programId'],
    ['from', from !== null, 'movement_id > :fromId and created_at >= :from'],
    ['to', to !== null, 'movement_id < :untilId and created_at < :to'],
    ['after', after !== null, 'movement_id < :after'],
  ] as const;
  const used = conditions.filter(([, isUsed]) => isUsed);
  const suffix = used.map(([name]) => `_${name === 'kind' ? kind : name}`).join('');
  const where = used.length === 0 ? '' : `where ${used.map(([, , condition]) => condition).join(' and ')}`;
  const text = (): string => `select ${COLUMNS} from (
      select * from funding_movement ${where} order by movement_id desc limit :count
    ) as funding_movement ${WITH_POSTING} order by movement_id desc`;
  return SEARCH_MOVEMENTS(`search_funding_movements${suffix}`, text, {
    ...{ programId, after, from, to, count },
    ...bounds,
  });
}

const EXPORT_MOVEMENTS = statement(
  'export_funding_movements',
  { programId: UUID, after: UUID, until: UUID, count: NUMBER },
  `select ${COLUMNS} from (
      select * from funding_movement
      where program_id = :programId and movement_id > :after and movement_id < :until
      order by movement_id limit :count
    ) as funding_movement ${WITH_POSTING} order by movement_id`,
);

/** Reads the next deposits and withdrawals of a program between two ids (inner UUIDs), oldest first. */
export function exportFundingMovements(programId: string, after: string, until: string, count: number): Statement {
  return EXPORT_MOVEMENTS({ programId, after, until, count });
}

const AFTERWARDS = columns({ balance: BIGINT, createdAt: TIME });

/** A deposit or withdrawal, the balance of the funding account after it, and when it was created. */
export type MadeMovement = {
  readonly movement: FundingMovement;
  readonly balance: bigint;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
};

export function toFundingMovement(row: Row): MadeMovement {
  return { movement: MOVEMENT.read(row), ...AFTERWARDS.read(row) };
}
