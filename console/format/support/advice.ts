import { OPERATIONS, type OperationId } from '../../../sdk/client.ts';

/** The entry of an error code in the catalogue, as far as support needs it. */
export type CatalogueEntry = {
  readonly code: string;
  readonly meaning: string;
  readonly causes: readonly string[];
  readonly resolution: string;
  readonly retry: boolean;
  readonly support: { readonly tell: string; readonly next: string };
};

/** The facts of a failed request that the advice depends on. */
export type AdvisedRequest = {
  readonly operation: string | null;
  readonly money_moved: 'no' | 'yes' | 'unknown' | null;
};

/** Advice for support about a failed request. */
export type Advice = {
  /** What support may tell the customer. */
  readonly tell: string;
  readonly next: string;
  /** The path of a guide for the next step, if there is one. */
  readonly guide?: string;
};

/** Returns the advice for support about a failed request: by its error code, unless money moved or may have moved. */
export function adviceOf(
  { support }: Pick<CatalogueEntry, 'support'>,
  { operation, money_moved: moved }: AdvisedRequest,
): Advice {
  if (moved === 'unknown') {
    return {
      tell:
        'We do not know yet whether the money moved. Please do not send a new request for it. If you send the same request ' +
        'again with the same idempotency key, money moves at most once.',
      next: 'Wait a minute, then reload this page. If it is still unknown, escalate to the operators with the request id.',
      guide: '/guides/runbook/money-unknown',
    };
  }
  if (moved === 'yes') {
    return {
      tell: 'The money moved, although the response was an error. Please do not send the request again.',
      next: 'Check what the request did. If the money should not have moved, ask an operator to reverse it.',
    };
  }
  const movesMoney = OPERATIONS[operation as OperationId]?.movesMoney === true;
  return moved === 'no' && movesMoney ? { ...support, tell: `${support.tell} No money moved.` } : support;
}

/** The sentences of a summary that tell the caller what to do. */
const TO_CALLER =
  / (?:Please contact support \(|Send (?:exactly the same request|the batch) again|Find out (?:with GET|whether it took effect)).*?\.(?= |$)/g;

/** Returns the summary of a request without the sentences for the caller. Support has its own advice. */
export function withoutAdvice(summary: string): string {
  return summary.replace(TO_CALLER, '');
}
