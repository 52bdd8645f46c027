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
import { CaseButton } from './support/case-button.tsx';

/**
 * A failed call: what happened, its code with a link to the catalogue, the request with a link to its screen, whether
 * money moved, and buttons that open a case about it, or copy all of it for a ticket.
 */
export function ErrorRecord({
  error,
  stale = false,
  children,
}: {
  readonly error: Error;
  /** Whether older data is still shown below. */
  readonly stale?: boolean;
  /** Buttons, such as one that tries again. */
  readonly children?: ComponentChildren;
}) {
  const { code, status, requestId, moneyMoved } = factsOf(error);
  // Only faults and unknown outcomes stand out: a refusal by a rule is not a fault.
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
        {requestId !== undefined && (
          <CaseButton requestId={requestId} needsSupport={!isCalm || typeOf(error) === 'Process Error'} />
        )}
        {children}
      </p>
      {stale && <p class="quiet">The data below was loaded before this error.</p>}
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

function typeOf(error: Error): string | undefined {
  return error instanceof TransferServiceError ? error.type : undefined;
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
