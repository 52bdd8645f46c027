import type { SilenceReason } from './error.ts';
import type { Watch } from './watch.ts';

/** Why there is no answer, or not all of it. */
export type Silence = {
  readonly reason: SilenceReason;
  /** Whether the service may have seen the request. */
  readonly mayHaveArrived: boolean;
  readonly cause: unknown;
};

type Place = { readonly baseUrl: string; readonly timeoutMilliseconds: number };

/** What an attempt that threw `cause` came to. */
export function silenceOf(cause: unknown, watch: Watch): Silence {
  const { aborted } = watch;
  if (aborted !== undefined) return { reason: 'aborted', mayHaveArrived: true, cause: aborted.reason };
  if (watch.timedOut) return { reason: 'timeout', mayHaveArrived: true, cause };
  const reached = !isNeverConnected(cause);
  return { reason: reached ? 'lost' : 'unreachable', mayHaveArrived: reached, cause };
}

/** The sentence for an answer that never came. */
export function silenceText({ reason, cause }: Silence, { baseUrl, timeoutMilliseconds }: Place): string {
  switch (reason) {
    case 'unreachable':
      return `The service cannot be reached at ${baseUrl}${saidBy(cause)}.`;
    case 'lost':
      return `The connection to ${baseUrl} failed before the answer was there${saidBy(cause)}.`;
    case 'timeout':
      return `There was no answer from ${baseUrl} within ${timeoutMilliseconds} ms.`;
    case 'aborted':
      return 'The call was given up before the answer was there.';
  }
}

/** The sentences for an answer that broke off. */
export function brokenOffText({ reason, cause }: Silence, { baseUrl, timeoutMilliseconds }: Place): string {
  const consequence = 'What came of it is not the whole answer.';
  switch (reason) {
    case 'unreachable':
    case 'lost':
      return `The connection to ${baseUrl} failed within the answer${saidBy(cause)}. ${consequence}`;
    case 'timeout':
      return `Within the answer nothing more came from ${baseUrl} for ${timeoutMilliseconds} ms. ${consequence}`;
    case 'aborted':
      return `The call was given up within the answer. ${consequence}`;
  }
}

/** Node says in the cause that no connection came about; browsers never say, so there it stays unknown. */
function isNeverConnected(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  if (typeof cause !== 'object' || cause === null) return false;
  const { code, syscall } = cause as { code?: unknown; syscall?: unknown };
  if (syscall === 'connect' || syscall === 'getaddrinfo') return true;
  return code === 'ECONNREFUSED' || code === 'UND_ERR_CONNECT_TIMEOUT';
}

function saidBy(cause: unknown): string {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  if (!(inner instanceof Error)) return '';
  // An error about several addresses has a code and no message of its own.
  const said = inner.message === '' ? (inner as { code?: unknown }).code : inner.message;
  return typeof said === 'string' ? ` (${said})` : '';
}
