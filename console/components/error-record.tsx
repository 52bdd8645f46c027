import type { ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import {
  AwaitsApproval,
  ConnectionFailure,
  InvalidArgument,
  isErrorCode,
  TransferServiceError,
  UnexpectedResponse,
} from '../../sdk/client.ts';
import { keepForms } from '../data/kept-forms.ts';
import { hrefTo } from '../data/location.ts';
import { SessionContext, useSession } from '../data/session.ts';
import { useSignInLink } from '../data/sign-in-path.ts';
import { useAction } from '../data/use-action.ts';
import { pathOf } from '../format/ids.ts';
import { whoMay } from '../format/operators/keys.ts';
import { moneySentence } from '../format/requests/requests.ts';
import { AwaitingApproval } from './approval.tsx';
import { Button, ButtonLink, CopyButton } from './button.tsx';
import { Id, LinkedText } from './id.tsx';

/**
 * Shows a failed call: what happened, its code with a link to the catalogue, the request with a link to its screen, and whether
 * money moved. Buttons open a case about it, or copy everything for a ticket. A request that is waiting for an approval has not
 * failed.
 */
export function ErrorRecord({
  error,
  stale = false,
  beside,
  children,
}: {
  readonly error: Error;
  /** Whether older data is still shown below. */
  readonly stale?: boolean;
  /** The label of the field that shows the message. The record then only says where it is. */
  readonly beside?: string | undefined;
  /** Buttons, such as "Try again". */
  readonly children?: ComponentChildren;
}) {
  if (error instanceof AwaitsApproval) return <AwaitingApproval error={error} />;
  const { code, status, requestId, moneyMoved } = factsOf(error);
  // Only faults and unknown outcomes stand out. A refusal by a rule is not a fault.
  const isCalm = status !== undefined && status < 500 && moneyMoved !== 'unknown';
  return (
    <div class={isCalm ? 'error-record calm' : 'error-record'} role="alert">
      <p class="error-message">
        {beside === undefined ? <LinkedText text={error.message} /> : `Check the field “${beside}”.`}
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
        {code === 'sign_in_again' && <SignInAgain />}
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

/** Returns everything that a ticket needs, as text. */
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

type Parts = {
  readonly requestId: string;
  /** Whether only support can resolve the error. Callers who can't open a case then see who can. */
  readonly needsSupport: boolean;
};

/**
 * Opens a case about a failed request with one click, or links to the existing case, without leaving the form that failed. An
 * error can also appear before anyone has signed in, and then there is no button.
 */
function CaseButton(parts: Parts) {
  return useContext(SessionContext) === undefined ? null : <OpenCase {...parts} />;
}

function OpenCase({ requestId, needsSupport }: Parts) {
  const { can } = useSession();
  const open = useAction(
    ({ id }: { readonly id: string }, api, options) => api.cases.create({ request_id: id }, options),
    { operation: 'create_case' },
  );
  if (!can('create_case')) {
    return needsSupport ? <span class="quiet">To open a case, ask {whoMay('create_case')}.</span> : null;
  }
  const { result, error, pending } = open;
  if (result !== undefined && result.request_id === requestId) {
    const { case_id: id, program_id: program } = result;
    return <a href={hrefTo(pathOf(id) ?? '', { program })}>See its case</a>;
  }
  return (
    <>
      <Button onClick={() => void open.run({ id: requestId })} pending={pending}>
        Open a case
      </Button>
      {error !== undefined && <span role="status">{problemOf(error)}</span>}
    </>
  );
}

function problemOf(error: Error): string {
  const isMissing = error instanceof TransferServiceError && error.Status === 404;
  return isMissing ? 'The request belongs to no card program, so it cannot have a case.' : error.message;
}

/**
 * Lets a person prove their identity again, at the provider or in a sandbox. Afterwards the person is back in this view with its
 * form.
 */
function SignInAgain() {
  const { leave, personId } = useSession();
  const link = useSignInLink();
  const keep = () => keepForms(personId);
  if (link !== undefined) {
    return (
      <ButtonLink href={`${link}&again=1`} onClick={keep}>
        Sign in again
      </ButtonLink>
    );
  }
  const keepAndLeave = () => {
    keep();
    leave();
  };
  return <Button onClick={keepAndLeave}>Sign in again</Button>;
}
