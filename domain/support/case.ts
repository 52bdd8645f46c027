import type { MoneyMoved } from '../refusal.ts';

/** The statuses of a case: `open` is support's turn, `waiting` the caller's. */
export const CASE_STATUSES = ['open', 'waiting', 'resolved', 'closed'] as const;

export type CaseStatus = (typeof CASE_STATUSES)[number];

/** The statuses of a case that is neither resolved nor closed. */
export const UNRESOLVED = ['open', 'waiting'] as const satisfies readonly CaseStatus[];

/** How much the problem matters to the caller, in descending order. */
export const SEVERITIES = ['critical', 'high', 'normal', 'low'] as const;

export type Severity = (typeof SEVERITIES)[number];

/** The result of a case or an incident. */
export const OUTCOMES = ['reversal', 'retry', 'corrected_data', 'nothing'] as const;

export type Outcome = (typeof OUTCOMES)[number];

/** The two sides of a case. */
export const SIDES = ['caller', 'support'] as const;

export type Side = (typeof SIDES)[number];

/** Maximum number of messages of a case, so that it stays one page for people and one statement for the database. */
export const MAX_CASE_MESSAGES = 200;

/** Maximum number of characters in a text field of a case, a message or an incident. */
export const MAX_TEXT_CHARACTERS = 4000;

/** For how many days after its resolution a message reopens a case. After that the case is closed. */
export const REOPENING_DAYS = 30;

const DAY_MILLISECONDS = 86_400_000;

/** The state that the rules of a case depend on. Times are in milliseconds since 1970. */
export type CaseState = {
  readonly status: CaseStatus;
  readonly resolvedAt: number | null;
  readonly messageCount: number;
};

/** The actions on a case. */
export type CaseAction = 'write' | 'resolve' | 'close';

/** Why an action is refused, by the name of its rule. */
export type CaseRefusal = 'closed' | 'resolved' | 'resolved_long_ago' | 'full';

/**
 * Why a case does not allow an action at the moment `now`, or undefined if it does. A message reopens a resolved case for 30
 * days. A closed case stays closed.
 */
export function refusalOf(action: CaseAction, state: CaseState, now: number): CaseRefusal | undefined {
  const { status, resolvedAt, messageCount } = state;
  if (status === 'closed') return 'closed';
  if (status === 'resolved' && action === 'resolve') return 'resolved';
  if (action !== 'write') return undefined;
  if (status === 'resolved' && now >= (resolvedAt ?? 0) + REOPENING_DAYS * DAY_MILLISECONDS) return 'resolved_long_ago';
  return messageCount >= MAX_CASE_MESSAGES ? 'full' : undefined;
}

/** The status of a case after a message: it is now the other side's turn. */
export function statusAfter(message: Side): CaseStatus {
  return message === 'caller' ? 'open' : 'waiting';
}

/** The facts that decide the urgency of a case. Null if the case is not about an error, or not about a request. */
export type Urgent = {
  readonly type: 'Request Error' | 'Server Error' | 'Process Error' | null;
  readonly moneyMoved: MoneyMoved | null;
  readonly severity: Severity;
};

/**
 * The urgencies by the error alone, the highest first: `urgent` for Server Errors and unknown money, then Process Errors, Request
 * Errors, and cases without an error.
 */
export const ERROR_URGENCIES = ['urgent', 'process_error', 'request_error', 'no_error'] as const;

export type ErrorUrgency = (typeof ERROR_URGENCIES)[number];

/** The distance between two kinds of error in the queue. The severities fit between them. */
const DISTANCE = 10;

/**
 * The position of a case in the queue, lower first: Server Errors and unknown money, then Process Errors, then Request Errors,
 * then cases without an error. Within each kind the caller's severity decides, then the age.
 */
export function urgencyOf({ type, moneyMoved, severity }: Urgent): number {
  return DISTANCE * kindOf(type, moneyMoved) + SEVERITIES.indexOf(severity);
}

/** Whether a case is urgent enough for alerts. Only the error of the case decides, not the severity that the caller chose. */
export function isUrgent(urgency: number): boolean {
  return urgency < DISTANCE;
}

/** Splits the result of {@link urgencyOf} into its parts. Throws a RangeError for a number that it does not return. */
export function partsOf(urgency: number): { readonly byError: ErrorUrgency; readonly severity: Severity } {
  const place = urgency % DISTANCE;
  const [byError, severity] = [ERROR_URGENCIES[(urgency - place) / DISTANCE], SEVERITIES[place]];
  if (byError === undefined || severity === undefined) throw new RangeError(`${urgency} is not an urgency.`);
  return { byError, severity };
}

/** The urgencies of a case as people see them, the highest first. */
export const URGENCIES = ['urgent', 'high', 'normal', 'low'] as const;

export type Urgency = (typeof URGENCIES)[number];

/**
 * Puts a result of {@link urgencyOf} into words. The words have the order of the queue, and only `urgent` cases are urgent enough for
 * alerts. A critical or high severity raises the urgency of a Request Error or a question by one step. Throws a RangeError for a
 * number that `urgencyOf` does not return.
 */
export function urgencyWord(urgency: number): Urgency {
  const { byError, severity } = partsOf(urgency);
  if (byError === 'urgent') return 'urgent';
  if (byError === 'process_error') return 'high';
  const isRaised = severity === 'critical' || severity === 'high';
  if (byError === 'request_error') return isRaised ? 'high' : 'normal';
  return isRaised ? 'normal' : 'low';
}

function kindOf(type: Urgent['type'], moneyMoved: MoneyMoved | null): number {
  if (type === 'Server Error' || moneyMoved === 'unknown') return 0;
  if (type === 'Process Error') return 1;
  return type === 'Request Error' ? 2 : 3;
}
