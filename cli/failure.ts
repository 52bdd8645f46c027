import {
  ConnectionFailure,
  IncompleteResponse,
  InvalidArgument,
  type MoneyMoved,
  RequestError,
  TransferServiceError,
  UnexpectedResponse,
} from '../sdk/client.ts';
import { alignedLines, type Pair, printable } from './output.ts';

/** What the process ends with. */
export const EXIT_CODES = {
  done: 0,
  requestError: 1,
  usage: 2,
  serviceFault: 3,
  noConnection: 4,
  outputFault: 5,
  /** sysexits' EX_SOFTWARE: a bug in the command itself. */
  bug: 70,
} as const;

/** What to print of a failure, and what to end with. */
export type FailureReport = { readonly text: string; readonly exitCode: number };

/** What came could not be written where it should go. */
export class OutputFailure extends Error {
  override readonly name = 'OutputFailure';
}

/** Reports whatever a command failed of. `url` is where the person can reach the service's error pages. */
export function reportFailure(error: unknown, url: string, json: boolean): FailureReport {
  if (error instanceof InvalidArgument) return { text: `error: ${error.message}\n`, exitCode: EXIT_CODES.usage };
  if (error instanceof OutputFailure) return { text: `error: ${error.message}\n`, exitCode: EXIT_CODES.outputFault };
  if (error instanceof TransferServiceError) {
    const exitCode = error instanceof RequestError ? EXIT_CODES.requestError : EXIT_CODES.serviceFault;
    return { text: json ? asJson(recordMembers(error)) : recordText(error, url), exitCode };
  }
  if (error instanceof ConnectionFailure) {
    const text = `${printable(error.message)}\n${keyHint(error)}${silenceHint(error)}`;
    return { text: json ? asJson(silenceMembers(error)) : text, exitCode: EXIT_CODES.noConnection };
  }
  if (error instanceof UnexpectedResponse) {
    const beginning = error.excerpt === '' ? '' : `It begins: ${printable(error.excerpt)}\n`;
    const text = `${printable(error.message)}\n${beginning}${keyHint(error)}`;
    return { text: json ? asJson(silenceMembers(error)) : text, exitCode: EXIT_CODES.serviceFault };
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { text: `This is a bug in the command line. ${text}\n`, exitCode: EXIT_CODES.bug };
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
    ['Retry', retryText(error)],
  ];
  const known = pairs.filter((pair) => pair !== undefined);
  return `${alignedLines(known)}${keyHint(error)}see ${url}/errors/${printable(error.Code)}\n`;
}

function pairIfKnown(name: string, value: string | undefined): Pair | undefined {
  return value === undefined ? undefined : [name, value];
}

function retryText({ shouldRetry, retryAfterSeconds }: TransferServiceError): string {
  const after = retryAfterSeconds === undefined ? '' : `, after ${retryAfterSeconds} seconds`;
  if (shouldRetry) return `yes${after}`;
  return retryAfterSeconds === undefined ? 'no' : `not before ${retryAfterSeconds} seconds have passed`;
}

/** Only for a doubt or a second try does the key matter to a person. */
function keyHint(error: {
  readonly moneyMoved: MoneyMoved;
  readonly idempotencyKey: string | undefined;
  readonly shouldRetry?: boolean;
  readonly reason?: ConnectionFailure['reason'];
}): string {
  const isDoubtful = error.moneyMoved !== 'no' || (error.reason !== undefined && error.reason !== 'unreachable');
  if (error.idempotencyKey === undefined || !(isDoubtful || error.shouldRetry === true)) return '';
  const effect = error.moneyMoved === 'no' ? 'is carried out' : 'moves money';
  return `Send it again with --idempotency-key ${printable(error.idempotencyKey)}: it ${effect} at most once.\n`;
}

/** An answer that broke off has a request id, by which the error log knows why; one that never came has not. */
function silenceHint(error: ConnectionFailure): string {
  if (!(error instanceof IncompleteResponse)) return 'Is the service running? Start it with npm start.\n';
  return error.requestId === undefined ? '' : `Request id: ${printable(error.requestId)}\n`;
}

function recordMembers(error: TransferServiceError): object {
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

function silenceMembers(error: ConnectionFailure | UnexpectedResponse): object {
  const answered = error instanceof IncompleteResponse || error instanceof UnexpectedResponse ? error : undefined;
  return {
    failure: nameOfSilence(error),
    message: error.message,
    request_id: answered?.requestId ?? null,
    money_moved: error.moneyMoved,
    idempotency_key: error.idempotencyKey ?? null,
  };
}

function nameOfSilence(error: ConnectionFailure | UnexpectedResponse): string {
  if (error instanceof UnexpectedResponse) return 'unexpected_answer';
  return error instanceof IncompleteResponse ? 'incomplete_answer' : 'no_answer';
}

function asJson(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
