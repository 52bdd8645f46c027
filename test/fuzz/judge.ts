import { resolve } from 'node:path';
import { ERRORS, isErrorCode } from '../../contract/errors/catalogue.ts';
import { OPERATIONS, type OperationId, saysIfMoneyMoved } from '../../contract/operations.ts';
import { type Exchange, type ReceivedResponse, saysClose } from './conversation.ts';
import type { Request } from './generate.ts';
import { NEEDED_AMOUNT } from './standing.ts';

/** Text that only the inside of the service knows: stacks, SQL, paths, names of Node, of its libraries, of PostgreSQL. */
const INSIDE =
  /\bat \S+ \(|node:|node_modules|FST_|HPE_|ERR_[A-Z]|\bE[A-Z]{4,}\b:|\.ts\b|\/tmp\/|[Pp]ostgre|\bpg\b|\bSQL|[Ss]elect .* from|insert into|violates|constraint|relation "|syntax error|[A-Za-z]+Error:|\bundefined\b|\[object|\[native|NaN|[Ff]astify|deadlock|timeout exceeded/;

/** The same, and paths of this clone, wherever it lies. */
const INTERNAL = new RegExp(`${INSIDE.source}|${RegExp.escape(`${resolve(import.meta.dirname, '../..')}/`)}`);

/** What is expected of the response to one request; no operation where the bytes may have become any. */
export type ExpectedResponse = Pick<Request, 'method' | 'expectation' | 'faults' | 'planted' | 'amount'> & {
  readonly operation: OperationId | undefined;
};

/** What is wrong with a response, in a sentence; undefined when nothing is. */
export function judge(
  response: ReceivedResponse,
  expected: ExpectedResponse,
  plantedNearby: readonly string[],
): string | undefined {
  const { status } = response;
  if (Number.isNaN(status)) return 'the response does not begin with a status line';
  if (status < 300) return judgeSuccess(response, expected);
  if (status < 400) return `the status is ${status}, which nobody decided on`;
  const problem =
    judgeRecord(response, expected.method) ?? judgeMoney(response, expected) ?? judgeSecrets(response, plantedNearby);
  if (problem !== undefined) return problem;
  const isShed = status === 503;
  if (expected.expectation === 'success' && !isShed)
    return `nothing was wrong with it, and it was refused with ${status}`;
  return undefined;
}

/** The operation that has decided on the response; undefined where something else may have. */
function decidingOn({ operation, faults, planted }: ExpectedResponse): OperationId | undefined {
  return faults.length === 0 && planted.length === 0 ? operation : undefined;
}

function judgeSuccess({ status, head, body }: ReceivedResponse, expected: ExpectedResponse): string | undefined {
  const { expectation, faults, amount, method } = expected;
  if (expectation === 'refusal')
    return `it succeeded with ${status} in spite of: ${faults.join(', ') || 'what it names'}`;
  const operation = decidingOn(expected);
  if (operation === undefined) return undefined;
  const { status: right, csv } = OPERATIONS[operation];
  if (status !== right) return `it succeeded with ${status}, and ${operation} has ${right}`;
  if (method === 'HEAD') return body === '' ? undefined : 'the response to HEAD has a body';
  if (csv === true) return judgeExport(head, body);
  const says = SAYS[operation];
  return says === undefined ? undefined : says(JSON.parse(body), amount);
}

type Members = Readonly<Record<string, unknown>>;

/** What the record of a success must say of the money that was requested (undefined: all there is). */
const SAYS: Readonly<
  Partial<Record<OperationId, (record: Members, amount: number | undefined) => string | undefined>>
> = {
  create_transfer: ({ amount, captured_amount: captured, status, outcome }, requested) => {
    if (amount !== requested) return `it was for ${requested} and moved ${String(amount)}`;
    const isDone = status === 'completed';
    if (captured !== (isDone ? amount : 0)) return `it is ${String(status)} and ${String(captured)} were captured`;
    return outcome === (isDone ? 'final' : 'open') ? undefined : `it is ${String(status)} and ${String(outcome)}`;
  },
  capture_transfer: ({ captured_amount: captured, status }, requested = NEEDED_AMOUNT) =>
    captured === requested && status === 'completed'
      ? undefined
      : `the capture was for ${requested}, and it is ${String(status)} with ${String(captured)}`,
  cancel_transfer: ({ captured_amount: captured, status }) =>
    captured === 0 && status === 'canceled' ? undefined : `it was canceled, and is ${String(status)}`,
  reverse_transfer: ({ amount }, requested = NEEDED_AMOUNT) =>
    amount === requested ? undefined : `the reversal was for ${requested} and moved ${String(amount)}`,
};

function judgeExport(head: string, body: string): string | undefined {
  if (headerOf(head, 'Content-Type')?.startsWith('text/csv') !== true) return 'an export that is no text/csv';
  return /^[a-z_,]+\r\n/.test(body) ? undefined : 'an export without a line of headings';
}

/** A refusal or failure of an operation that moves money says of this request that it moved none. */
function judgeMoney({ head }: ReceivedResponse, expected: ExpectedResponse): string | undefined {
  const operation = decidingOn(expected);
  if (operation === undefined || !saysIfMoneyMoved(operation)) return undefined;
  return headerOf(head, 'Money-Moved') === 'no' ? undefined : 'it does not say that no money moved';
}

/** Every response from 400 on is the record, with the headers that every record has. */
function judgeRecord({ status, head, body }: ReceivedResponse, method: string): string | undefined {
  const code = headerOf(head, 'Error-Code') ?? '';
  if (!isErrorCode(code)) return `the Error-Code is '${code}', which the catalogue does not have`;
  const entry = ERRORS[code];
  if (entry.status !== status) return `${code} came with ${status}`;
  if (!/^req_[0-9a-f]{32}$/.test(headerOf(head, 'Request-Id') ?? '')) return 'there is no Request-Id';
  if (headerOf(head, 'Link') !== `</errors/${code}>; rel="describedby"`) return 'there is no Link to the code';
  // Where nothing is, people who ask for a page get one; test/http/page-cache.test.ts says when.
  const isPage = code === 'route_not_found' && headerOf(head, 'Content-Type') === 'text/html; charset=utf-8';
  if (!isPage && headerOf(head, 'Content-Type') !== 'application/json; charset=utf-8')
    return 'the media type is not JSON';
  if (headerOf(head, 'Cache-Control') !== 'no-store') return 'it may be stored';
  if (!['true', 'false'].includes(headerOf(head, 'Should-Retry') ?? '')) return 'there is no Should-Retry';
  const moved = headerOf(head, 'Money-Moved');
  if (moved !== undefined && moved !== 'no') return `nothing failed, and Money-Moved is '${moved}'`;
  if (method === 'HEAD') return body === '' ? undefined : 'the response to HEAD has a body';
  if (isPage) return body.startsWith('<!doctype html>') ? undefined : 'the page is no document';
  return judgeBody(body, status, code, entry.type);
}

function judgeBody(body: string, status: number, code: string, type: string): string | undefined {
  let record: Readonly<Record<string, unknown>>;
  try {
    record = JSON.parse(body);
  } catch {
    return 'the body is no JSON';
  }
  if (Object.keys(record).join() !== 'Message,Status,Code,Type')
    return 'the body does not have exactly the four members';
  if (record.Status !== status || record.Code !== code || record.Type !== type)
    return 'body, head and catalogue differ';
  if (typeof record.Message !== 'string' || record.Message === '') return 'there is no message';
  if (record.Message.isWellFormed() === false) return 'the message is not well-formed';
  const isForSupport = record.Message.includes('contact support');
  return isForSupport === (type !== 'Request Error') ? undefined : 'it sends to the wrong people';
}

function judgeSecrets({ head, body, status }: ReceivedResponse, planted: readonly string[]): string | undefined {
  const internal = INTERNAL.exec(`${head}\n${body}`)?.[0];
  if (internal !== undefined) return `it says '${internal}'`;
  // A fault of our own in a request that is only odd is a bug, whatever it says.
  if (status === 500) return 'it was answered with 500';
  const joined = `${head}${body}`.replaceAll(/[ .\-\u00a0]/g, '');
  const echoed = planted.find((number) => joined.includes(number));
  return echoed === undefined ? undefined : `it repeats the card number ${echoed}`;
}

function headerOf(head: string, name: string): string | undefined {
  const start = head.indexOf(`\r\n${name}: `);
  if (start === -1) return undefined;
  const from = start + name.length + 4;
  const end = head.indexOf('\r\n', from);
  return head.slice(from, end === -1 ? undefined : end);
}

/** What is wrong with how a connection went, beyond the single responses. */
export function judgeExchange(
  { responses, rest, isEnded }: Exchange,
  requests: readonly Pick<Request, 'closes' | 'method'>[],
): string | undefined {
  const last = responses.at(-1);
  // A head that cannot be read does not say HEAD either: then the record follows, and the connection ends.
  const isUnread = requests.at(-1)?.method === 'HEAD' && last !== undefined && saysClose(last);
  if (rest !== '' && !(isUnread && rest.startsWith('{"Message"')))
    return `more came than was requested: ${rest.slice(0, 80)}`;
  if (responses.length === requests.length) return undefined;
  if (!isEnded) return `only ${responses.length} of ${requests.length} responses came in time`;
  if (last === undefined) return 'the connection ended without a response';
  return saysClose(last) ? undefined : 'the connection ended, and no response said so';
}

/** What is wrong with the responses to bytes that may be anything. */
export function judgeBytes(
  { responses, rest }: Exchange,
  count: number,
  planted: readonly string[],
): string | undefined {
  if (responses.length === 0) return 'there was no response at all';
  if (rest !== '') return `a part of a response came: ${rest.slice(0, 80)}`;
  const expected: ExpectedResponse = {
    method: 'GET',
    expectation: 'either',
    faults: [],
    planted,
    operation: undefined,
    amount: undefined,
  };
  // One request can become two, but hardly more.
  if (responses.length > count * 3 + 3) return `${responses.length} responses to ${count} requests`;
  return responses.map((response) => judge(response, expected, planted)).find((problem) => problem !== undefined);
}
