/** The reach of an incident: everything, one card program, or one operation. */
export const INCIDENT_SCOPES = ['all', 'program', 'operation'] as const;

export type IncidentScope = (typeof INCIDENT_SCOPES)[number];

/** The errors that an incident covers. */
export type Coverage = {
  readonly scope: IncidentScope;
  /** Inner UUID of the card program; null unless the scope is `program`. */
  readonly programId: string | null;
  /** Id of the operation; null unless the scope is `operation`. */
  readonly operation: string | null;
  /** Error codes; empty for all of them. */
  readonly codes: readonly string[];
};

/** An error, or a case about one. */
export type Covered = {
  readonly programId: string | null | undefined;
  readonly operation: string | null | undefined;
  readonly code: string | null;
};

/** Whether an incident covers an error. An incident of a card program covers only errors that belong to a program. */
export function covers({ scope, programId, operation, codes }: Coverage, error: Covered): boolean {
  if (error.code === null || (codes.length > 0 && !codes.includes(error.code))) return false;
  if (scope === 'program') return programId === error.programId;
  return scope === 'all' || operation === error.operation;
}

/** Fewer responses in a minute than this are never a burst, even after a quiet hour. */
const MIN_BURST = 5;

/** A burst has at least this many times the rate of the previous hour. */
const BURST_FACTOR = 10;

/**
 * Whether a code of Server or Process Errors occurs so often that all these errors may have one cause. The service then proposes
 * an incident.
 */
export function isBurst(inLastMinute: number, inHourBefore: number): boolean {
  return inLastMinute >= MIN_BURST && inLastMinute * 60 >= BURST_FACTOR * inHourBefore;
}
