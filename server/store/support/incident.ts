import type { Outcome } from '../../../domain/support/case.ts';
import type { IncidentScope } from '../../../domain/support/incident.ts';
import type { Row, Statement } from '../connection/database.ts';
import {
  BOOLEAN,
  columns,
  DATE,
  INTEGER,
  insertRow,
  many,
  NUMBER,
  nullable,
  type RowOf,
  statement,
  TEXT,
  UUID,
  word,
} from '../sql.ts';

const INCIDENT = columns({
  incidentId: UUID,
  scope: word<IncidentScope>(),
  programId: nullable(UUID),
  operation: nullable(TEXT),
  codes: many(TEXT),
  title: TEXT,
  publicText: TEXT,
  internalText: nullable(TEXT),
  /** Name of the key that opened the incident, or `sandbox`. */
  createdBy: TEXT,
  outcome: nullable(word<Outcome>()),
  resolution: nullable(TEXT),
  startedAt: DATE,
  updatedAt: DATE,
  resolvedAt: nullable(DATE),
});

const PROGRESS = columns({ ...INCIDENT.columns, settledUpTo: nullable(UUID) });

/** A resolved incident, and the last case that was resolved with it. */
export type SettlingIncident = RowOf<typeof PROGRESS.columns>;

export type Incident = RowOf<typeof INCIDENT.columns>;

const COUNTED = columns({ ...INCIDENT.columns, caseCount: NUMBER, unresolvedCaseCount: NUMBER });

/** An incident with the number of its cases. */
export type CountedIncident = RowOf<typeof COUNTED.columns>;

export const insertIncident = insertRow('insert_incident', 'incident', INCIDENT);

const ONE = { incidentId: UUID } as const;

/** Locks an incident. A later statement must read its values. */
export const lockIncident = statement(
  'lock_incident',
  ONE,
  'select from incident where incident_id = :incidentId for no key update',
);

export const readIncident = statement(
  'read_incident',
  ONE,
  `select ${INCIDENT.of('incident')}, counted.* from incident cross join lateral (
      select count(*) as case_count, count(*) filter (where status in ('open', 'waiting')) as unresolved_case_count
      from support_case where support_case.incident_id = incident.incident_id
    ) as counted
    where incident.incident_id = :incidentId`,
);

export const toCountedIncident: (row: Row) => CountedIncident = COUNTED.read;

export const toIncident: (row: Row) => Incident = INCIDENT.read;

export const updateIncident: (changed: Incident) => Statement = statement(
  'update_incident',
  INCIDENT.omit('scope', 'programId', 'operation', 'createdBy', 'startedAt').columns,
  `update incident set codes = :codes, title = :title, public_text = :publicText, internal_text = :internalText,
      outcome = :outcome, resolution = :resolution, updated_at = :updatedAt, resolved_at = :resolvedAt
    where incident_id = :incidentId`,
);

const LIST_INCIDENTS = statement(
  'list_incidents',
  { programId: nullable(UUID), isResolved: nullable(word<'true' | 'false'>()), after: nullable(UUID), count: INTEGER },
  `select ${INCIDENT.names} from incident
    where (:programId::uuid is null or program_id is null or program_id = :programId)
      and (:isResolved::boolean is null or (resolved_at is not null) = :isResolved::boolean)
      and (:after::uuid is null or incident_id < :after)
    order by incident_id desc limit :count`,
);

/** Reads a page of incidents, newest first. If a program is given, only the incidents in its scope. */
export function listIncidents(
  programId: string | null,
  isResolved: boolean | null,
  after: string | null,
  count: number,
): Statement {
  const resolved = isResolved === null ? null : (`${isResolved}` as const);
  return LIST_INCIDENTS({ programId, isResolved: resolved, after, count });
}

/** Reads the ids of the unresolved cases that this incident covers and that have no incident yet, oldest first, as `case_id`. */
export const readProposedCases = statement(
  'read_proposed_cases',
  { ...INCIDENT.pick('programId', 'operation', 'codes', 'startedAt').columns, count: INTEGER },
  `select case_id from support_case
    where status in ('open', 'waiting') and incident_id is null and created_at >= :startedAt and code is not null
      and (cardinality(:codes) = 0 or code = any (:codes))
      and (:programId::uuid is null or program_id = :programId) and (:operation::text is null or operation = :operation)
    order by case_id limit :count`,
);

/** Reads the incidents that are open or still have cases to resolve, newest first. */
export const READ_CURRENT_INCIDENTS: Statement = {
  name: 'read_current_incidents',
  text: `select ${INCIDENT.names} from incident where not is_settled order by incident_id desc`,
  values: [],
};

/**
 * Reads a resolved incident and the last of its cases that was resolved with it. Returns no row if all its cases are resolved. The
 * incident must be locked.
 */
export const readSettling = statement(
  'read_settling_incident',
  ONE,
  `select ${PROGRESS.names} from incident
    where incident_id = :incidentId and resolved_at is not null and not is_settled`,
);

export const toSettlingIncident: (row: Row) => SettlingIncident = PROGRESS.read;

/** Stores the last case that was resolved with a locked incident, and whether all cases are now resolved. */
export const moveSettling = statement(
  'move_settling_incident',
  { ...ONE, settledUpTo: nullable(UUID), isSettled: BOOLEAN },
  'update incident set settled_up_to = :settledUpTo, is_settled = :isSettled where incident_id = :incidentId',
);
