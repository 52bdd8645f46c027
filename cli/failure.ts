import {
  ConnectionFailure,
  EventGap,
  IncompleteResponse,
  InvalidArgument,
  type MoneyMoved,
  RequestError,
  TransferServiceError,
  UnexpectedResponse,
} from '../sdk/client.ts';
import { alignedLines, type Pair, printable } from './output.ts';

/** The exit codes of the process. */
export const EXIT_CODES = {
  done: 0,
  requestError: 1,
  usage: 2,
  serviceFault: 3,
  noConnection: 4,
  outputFault: 5,
  /** EX_SOFTWARE of sysexits: a bug in the command line itself. */
  bug: 70,
} as const;

/** The text of a failure and the exit code for it. */
export type FailureReport = { readonly text: string; readonly exitCode: number };

/** The output could not be written. */
export class OutputFailure extends Error {
  override readonly name = 'OutputFailure';
}

/** Reports the failure of a command. `url` is the base URL of the service's error pages. */
export function reportFailure(error: unknown, url: string, json: boolean): FailureReport {
  if (error instanceof InvalidArgument) return { text: `error: ${error.message}\n`, exitCode: EXIT_CODES.usage };
  if (error instanceof OutputFailure) return { text: `error: ${error.message}\n`, exitCode: EXIT_CODES.outputFault };
  if (error instanceof TransferServiceError) {
    const exitCode = error instanceof RequestError ? EXIT_CODES.requestError : EXIT_CODES.serviceFault;
    return { text: json ? asJson(recordFields(error)) : recordText(error, url), exitCode };
  }
  if (error instanceof ConnectionFailure) {
    const text = `${printable(error.message)}\n${keyHint(error)}${connectionHint(error)}`;
    return { text: json ? asJson(responseFields(error)) : text, exitCode: EXIT_CODES.noConnection };
  }
  if (error instanceof UnexpectedResponse) {
    const beginning = error.excerpt === '' ? '' : `The response begins with: ${printable(error.excerpt)}\n`;
    const text = `${printable(error.message)}\n${beginning}${keyHint(error)}`;
    return { text: json ? asJson(responseFields(error)) : text, exitCode: EXIT_CODES.serviceFault };
  }
  if (error instanceof EventGap) return { text: `error: ${error.message}\n`, exitCode: EXIT_CODES.serviceFault };
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { text: `This is a bug in transfer-service. ${text}\n`, exitCode: EXIT_CODES.bug };
}

function recordText(error: TransferServiceError, url: string): string {
  const pairs: (Pair | undefined)[] = [
    ['Message', error.Message],
    ['Status', String(error.Status)],
    ['Code', error.Code],
    ['Type', error.Type],
    pairIfKnown('Field', error.field),
    pairIfKnown('Request id', error.requestId),
    pairIfKnown('Transfer id', error.transferId),
    ['Money moved', error.moneyMoved],
    ['Retryable', retryText(error)],
  ];
  const known = pairs.filter((pair) => pair !== undefined);
  return `${alignedLines(known)}${keyHint(error)}See ${url}/errors/${printable(error.Code)}\n`;
}

function pairIfKnown(name: string, value: string | undefined): Pair | undefined {
  return value === undefined ? undefined : [name, value];
}

function retryText({ shouldRetry, retryAfterSeconds }: TransferServiceError): string {
  const after = retryAfterSeconds === undefined ? '' : `, after ${retryAfterSeconds} seconds`;
  if (shouldRetry) return `yes${after}`;
  return retryAfterSeconds === undefined ? 'no' : `not within ${retryAfterSeconds} seconds`;
}

/** The key matters only if the result is unknown or the request can be retried. */
function keyHint(error: {
  readonly moneyMoved: MoneyMoved;
  readonly idempotencyKey: string | undefined;
  readonly shouldRetry?: boolean;
  readonly reason?: ConnectionFailure['reason'];
}): string {
  const isUnknown = error.moneyMoved !== 'no' || (error.reason !== undefined && error.reason !== 'unreachable');
  if (error.idempotencyKey === undefined || !(isUnknown || error.shouldRetry === true)) return '';
  const effect = error.moneyMoved === 'no' ? 'is executed' : 'moves money';
  return `Run the command again with --idempotency-key ${printable(error.idempotencyKey)}: it ${effect} at most once.\n`;
}

/** An incomplete response has a request id, under which the error log has the reason. */
function connectionHint(error: ConnectionFailure): string {
  if (!(error instanceof IncompleteResponse)) return 'Is the service running? Start it with npm start.\n';
  return error.requestId === undefined ? '' : `Request id: ${printable(error.requestId)}\n`;
}

function recordFields(error: TransferServiceError): object {
  return {
    Message: error.Message,
    Status: error.Status,
    Code: error.Code,
    Type: error.Type,
    request_id: error.requestId ?? null,
    money_moved: error.moneyMoved,
    should_retry: error.shouldRetry,
    retry_after_seconds: error.retryAfterSeconds ?? null,
    transfer_id: error.transferId ?? null,
    field: error.field ?? null,
    idempotency_key: error.idempotencyKey ?? null,
  };
}

function responseFields(error: ConnectionFailure | UnexpectedResponse): object {
  const response = error instanceof IncompleteResponse || error instanceof UnexpectedResponse ? error : undefined;
  return {
    failure: failureName(error),
    message: error.message,
    request_id: response?.requestId ?? null,
    money_moved: error.moneyMoved,
    idempotency_key: error.idempotencyKey ?? null,
  };
}

function failureName(error: ConnectionFailure | UnexpectedResponse): string {
  if (error instanceof UnexpectedResponse) return 'unexpected_response';
  return error instanceof IncompleteResponse ? 'incomplete_response' : 'no_response';
}

function asJson(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
