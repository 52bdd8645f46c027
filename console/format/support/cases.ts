import type { CaseRecord, QueuedCase } from '../../../sdk/client.ts';
import { formatCount } from '../amounts.ts';
import type { Counted } from '../operators/processors.ts';
import { formatDuration } from '../times.ts';

/** The outcomes of a case or an incident, as options of a field. */
export const OUTCOMES: Readonly<Record<NonNullable<CaseRecord['outcome']>, string>> = {
  retry: 'The request can be sent again',
  reversal: 'Money was moved back',
  corrected_data: 'Data was corrected',
  nothing: 'Nothing had to be changed',
};

/** How much a problem matters to the caller, as options of a field. */
export const SEVERITIES: Readonly<Record<CaseRecord['severity'], string>> = {
  normal: 'Normal',
  low: 'Low: whenever there is time',
  high: 'High: customers notice it',
  critical: 'Critical: nothing works',
};

/** The tones of the urgencies. The service decides how urgent a case is. */
export const URGENCY_TONES: Readonly<Record<QueuedCase['urgency'], 'bad' | 'waiting' | 'plain' | 'quiet'>> = {
  urgent: 'bad',
  high: 'waiting',
  normal: 'plain',
  low: 'quiet',
};

/** Returns the facts that decided the urgency of a case: `request error, high for the customer`. */
export function urgencyReason({
  type,
  money_moved: moved,
  severity,
}: Pick<CaseRecord, 'type' | 'money_moved' | 'severity'>): string {
  const what = moved === 'unknown' ? 'money unknown' : (type?.toLowerCase() ?? 'question');
  return severity === 'normal' ? what : `${what}, ${severity} for the customer`;
}

/** Returns the status in words. It says whose turn it is, for support or for the caller. */
export function statusOf(status: CaseRecord['status'], side: 'support' | 'caller'): string {
  const own = { support: 'open', caller: 'waiting' }[side];
  if (status === 'resolved' || status === 'closed') return status;
  if (status === own) return side === 'support' ? 'open' : 'waiting for you';
  return side === 'support' ? 'waiting for the caller' : 'with support';
}

export const STATUS_TONES: Readonly<Record<CaseRecord['status'], 'waiting' | 'plain' | 'good' | 'quiet'>> = {
  open: 'waiting',
  waiting: 'plain',
  resolved: 'good',
  closed: 'quiet',
};

/** Response times are rounded down to seconds. */
const SECOND_MILLISECONDS = 1_000;

/** Says how long the caller has waited for the first response, at a time in milliseconds: `answered after 4 min`. */
export function responseText(
  {
    created_at: at,
    first_response_at: answered,
    status,
  }: Pick<CaseRecord, 'created_at' | 'first_response_at' | 'status'>,
  now: number,
): string {
  const since = (end: number) => formatDuration(Math.max(end - Date.parse(at), SECOND_MILLISECONDS));
  if (answered !== null) return `answered after ${since(Date.parse(answered))}`;
  return status === 'open' || status === 'waiting' ? `no response for ${since(now)}` : 'not answered';
}

/** Describes a case in a few words, without quoting what people wrote: `create_transfer failed: card lost`. */
export function subjectOf({
  operation,
  code,
  request_id: requestId,
  transfer_id: transferId,
}: Pick<CaseRecord, 'operation' | 'code' | 'request_id' | 'transfer_id'>): string {
  if (code !== null) {
    const failed = `${operation ?? 'A request'} failed`;
    // The code of an unknown error only repeats the operation.
    if (code === `unknown_${operation}`) return failed;
    return `${failed}: ${code.endsWith('_schema') ? 'invalid request' : code.replaceAll('_', ' ')}`;
  }
  if (requestId !== null) return `A question about ${operation ?? 'a request'}`;
  return transferId === null ? 'A question' : 'A question about a transfer';
}

type Queued = Pick<QueuedCase, 'urgency' | 'first_response_at'>;

/** Counts the open cases. Set `hasMore` if there are more than these. Undefined if there are none. */
export function openCasesText(
  cases: readonly Queued[],
  hasMore: boolean,
): (Counted & { readonly isUrgent: boolean }) | undefined {
  const { length } = cases;
  if (length === 0) return undefined;
  const urgent = cases.filter(({ urgency }) => urgency === 'urgent').length;
  const waiting = cases.filter(({ first_response_at: at }) => at === null).length;
  const partOf = (part: number): string => (part === length && !hasMore ? '' : `${formatCount(part)} of them `);
  const rest = [
    urgent > 0 && urgent < length && `${formatCount(urgent)} of them urgent`,
    waiting > 0 && `${partOf(waiting)}without a response`,
  ].filter((text) => text !== false);
  const what = `${urgent === length ? 'urgent ' : ''}${length === 1 ? 'case is' : 'cases are'} open`;
  return {
    count: `${formatCount(length)}${hasMore ? '+' : ''}`,
    text: `${[what, ...rest].join(', ')}.`,
    isUrgent: urgent > 0,
  };
}
