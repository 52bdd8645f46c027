import type { ComponentChildren } from 'preact';
import {
  ConnectionFailure,
  InvalidArgument,
  isErrorCode,
  TransferServiceError,
  UnexpectedResponse,
} from '../../sdk/client.ts';
import { moneySentence } from '../format/money-moved.ts';
import { CopyButton } from './copy-button.tsx';
import { Id, LinkedText } from './id.tsx';

/**
 * Any failure of a call: what happened, its code with a link to the catalogue, the request with a link to its screen,
 * whether money moved, and all of it to copy for a ticket.
 */
export function ErrorRecord({
  error,
  stale = false,
  children,
}: {
  readonly error: Error;
  /** Whether what was read before the failure is still shown below. */
  readonly stale?: boolean;
  /** Buttons, such as one that tries again. */
  readonly children?: ComponentChildren;
}) {
  const { code, status, requestId, moneyMoved } = factsOf(error);
  // What a rule refused is no fault of anybody: only faults, and what is not known, are loud.
  const isCalm = status !== undefined && status < 500 && moneyMoved !== 'unknown';
  return (
    <div class={isCalm ? 'error-record calm' : 'error-record'} role="alert">
      <p class="error-message">
        <LinkedText text={error.message} />
      </p>
      <p class="error-facts">
        {code !== undefined && (
          <span>
            {status} <a href={isErrorCode(code) ? `/errors/${code}` : '/errors'}>{code}</a>
          </span>
        )}
        {requestId !== undefined && (
          <span>
            Request <Id id={requestId} kind="request" />
          </span>
        )}
        {moneyMoved !== undefined && <span>{moneySentence(moneyMoved)}</span>}
        <CopyButton visible label="Copy for a ticket" text={ticketOf(error)} />
        {children}
      </p>
      {stale && <p class="quiet">What is shown below was read before this failure.</p>}
    </div>
  );
}

type ErrorFacts = {
  readonly code?: string | undefined;
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly moneyMoved?: 'no' | 'yes' | 'unknown' | undefined;
};

function factsOf(error: Error): ErrorFacts {
  if (error instanceof TransferServiceError) {
    return { code: error.Code, status: error.Status, requestId: error.requestId, moneyMoved: error.moneyMoved };
  }
  if (error instanceof UnexpectedResponse) {
    return { status: error.status, requestId: error.requestId, moneyMoved: error.moneyMoved };
  }
  if (error instanceof ConnectionFailure) return { moneyMoved: error.moneyMoved };
  return error instanceof InvalidArgument ? { moneyMoved: 'no' } : {};
}

/** What a ticket needs, as text. */
function ticketOf(error: Error): string {
  const { code, status, requestId, moneyMoved } = factsOf(error);
  const lines = [
    error.message,
    code !== undefined && `Code: ${code} (${status})`,
    requestId !== undefined && `Request: ${requestId}`,
    moneyMoved !== undefined && moneySentence(moneyMoved),
    `Time: ${new Date().toISOString()}`,
  ];
  return lines.filter((line) => typeof line === 'string').join('\n');
}
