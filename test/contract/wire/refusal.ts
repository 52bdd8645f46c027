import { resolve } from 'node:path';
import type { ReceivedResponse } from '../../harness/conversation.ts';

/** Internal text of the service: stack traces, SQL, paths, and the names of Node, its libraries and PostgreSQL. */
const INSIDE =
  /\bat \S+ \(|node:|node_modules|FST_|HPE_|ERR_[A-Z]|\bE[A-Z]{4,}\b:|\.ts\b|\/tmp\/|[Pp]ostgre|\bpg\b|\bSQL|[Ss]elect .* from|insert into|violates|constraint|relation "|syntax error|[A-Za-z]+Error:|\bundefined\b|\[object|\[native|NaN|[Ff]astify|deadlock|timeout exceeded/;

/** All internal text, including paths in this clone. */
const INTERNAL = new RegExp(`${INSIDE.source}|${RegExp.escape(`${resolve(import.meta.dirname, '../../..')}/`)}`);

/**
 * A broken rule, and the part of the response that breaks it. Two runs fail in the same way if they break the same
 * rule.
 */
export type Problem = { readonly rule: string; readonly found: string };

/** The card numbers planted in a request, and the error codes in the document. */
export type Expected = { readonly planted: readonly string[]; readonly codes: ReadonlySet<string> };

/**
 * Returns the problem of a response to a faulty request. Returns undefined if the response is an error record of the
 * specification with a documented code, and repeats no card number from the request.
 */
export function problemOfRefusal(response: ReceivedResponse, { planted, codes }: Expected): Problem | undefined {
  const { status, head, body } = response;
  if (Number.isNaN(status)) return { rule: 'a status line', found: head };
  if (status < 400) return { rule: 'a refusal of the fault', found: `the status ${status}` };
  return problemOfRecord(response, codes) ?? problemOfText(`${head}\n${body}`, status, planted);
}

/** Returns a problem in a response's text: internal text, the status 500, or a card number from the request. */
export function problemOfText(text: string, status: number, planted: readonly string[]): Problem | undefined {
  const internal = status >= 400 ? INTERNAL.exec(text)?.[0] : undefined;
  if (internal !== undefined) return { rule: 'no internal text', found: internal };
  if (status === 500) return { rule: 'no status 500', found: text };
  const joined = text.replaceAll(/[ .\-\u00a0]/g, '');
  const echoed = status >= 400 ? planted.find((number) => joined.includes(number)) : undefined;
  return echoed === undefined ? undefined : { rule: 'no card number of the request', found: echoed };
}

function problemOfRecord(response: ReceivedResponse, codes: ReadonlySet<string>): Problem | undefined {
  const { status, head, body } = response;
  const header = (name: string): string => headerOf(head, name) ?? '';
  const broken = (rule: string, found: string): Problem => ({ rule, found });
  const code = header('Error-Code');
  if (!codes.has(code)) return broken('an Error-Code of the document', code);
  if (!/^req_[0-9a-f]{32}$/.test(header('Request-Id'))) return broken('a Request-Id', header('Request-Id'));
  if (header('Link') !== `</errors/${code}>; rel="describedby"`) return broken('a Link to the code', header('Link'));
  // Browsers get a page for a path that does not exist.
  const isPage = code === 'route_not_found' && header('Content-Type') === 'text/html; charset=utf-8';
  if (!isPage && header('Content-Type') !== 'application/json; charset=utf-8')
    return broken('the media type of JSON', header('Content-Type'));
  if (header('Cache-Control') !== 'no-store') return broken('a body that no cache stores', header('Cache-Control'));
  if (!['true', 'false'].includes(header('Should-Retry'))) return broken('a Should-Retry', header('Should-Retry'));
  if (!['', 'no'].includes(header('Money-Moved'))) return broken('no moved money', header('Money-Moved'));
  if (isPage) return body.startsWith('<!doctype html>') ? undefined : broken('a document type', body.slice(0, 200));
  return problemOfBody(body, status, code);
}

function problemOfBody(body: string, status: number, code: string): Problem | undefined {
  let record: Readonly<Record<string, unknown>>;
  try {
    record = JSON.parse(body);
  } catch {
    return { rule: 'a body of JSON', found: body.slice(0, 200) };
  }
  const { Message, Status, Code, Type } = record;
  if (Object.keys(record).join() !== 'Message,Status,Code,Type') return { rule: 'the four members', found: body };
  if (Status !== status || Code !== code) return { rule: 'a body that agrees with the head', found: body };
  if (typeof Message !== 'string' || Message === '' || !Message.isWellFormed())
    return { rule: 'a message', found: body };
  // Only the caller can correct a faulty request, so support cannot help with it.
  const isRightAdvice = Message.includes('contact support') === (Type !== 'Request Error');
  return isRightAdvice ? undefined : { rule: 'advice to contact support only when it can help', found: body };
}

function headerOf(head: string, name: string): string | undefined {
  const start = head.indexOf(`\r\n${name}: `);
  if (start === -1) return undefined;
  const from = start + name.length + 4;
  const end = head.indexOf('\r\n', from);
  return head.slice(from, end === -1 ? undefined : end);
}
