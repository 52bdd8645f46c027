import { resolve } from 'node:path';
import type { ReceivedResponse } from '../../harness/conversation.ts';

/** Internal text of the service: stacks, SQL, paths, and the names of Node, its libraries and PostgreSQL. */
const INSIDE =
  /\bat \S+ \(|node:|node_modules|FST_|HPE_|ERR_[A-Z]|\bE[A-Z]{4,}\b:|\.ts\b|\/tmp\/|[Pp]ostgre|\bpg\b|\bSQL|[Ss]elect .* from|insert into|violates|constraint|relation "|syntax error|[A-Za-z]+Error:|\bundefined\b|\[object|\[native|NaN|[Ff]astify|deadlock|timeout exceeded/;

/** Adds the directory of this clone. */
const INTERNAL = new RegExp(`${INSIDE.source}|${RegExp.escape(`${resolve(import.meta.dirname, '../../..')}/`)}`);

/**
 * Returns the problem of a response to a faulty request, or undefined if the response is an error record of the specification
 * and repeats no card number of the request.
 */
export function problemOfRefusal(response: ReceivedResponse, planted: readonly string[]): string | undefined {
  const { status, head, body } = response;
  if (Number.isNaN(status)) return 'a response without a status line';
  if (status < 400) return `the status ${status} despite the fault`;
  return problemOfRecord(response) ?? problemOfText(`${head}\n${body}`, status, planted);
}

/** Returns a problem in a response's text: internal text, the status 500, or a card number of the request. */
export function problemOfText(text: string, status: number, planted: readonly string[]): string | undefined {
  const internal = status >= 400 ? INTERNAL.exec(text)?.[0] : undefined;
  if (internal !== undefined) return `the internal text '${internal}'`;
  if (status === 500) return `the status 500: ${text}`;
  const joined = text.replaceAll(/[ .\-\u00a0]/g, '');
  const echoed = status >= 400 ? planted.find((number) => joined.includes(number)) : undefined;
  return echoed === undefined ? undefined : `the card number ${echoed} of the request`;
}

function problemOfRecord({ status, head, body }: ReceivedResponse): string | undefined {
  const code = headerOf(head, 'Error-Code') ?? '';
  if (!/^[a-z][a-z_]+$/.test(code)) return `the Error-Code '${code}'`;
  if (!/^req_[0-9a-f]{32}$/.test(headerOf(head, 'Request-Id') ?? '')) return 'no Request-Id';
  if (headerOf(head, 'Link') !== `</errors/${code}>; rel="describedby"`) return 'no Link to its code';
  // Browsers get a page for a path that does not exist.
  const isPage = code === 'route_not_found' && headerOf(head, 'Content-Type') === 'text/html; charset=utf-8';
  if (!isPage && headerOf(head, 'Content-Type') !== 'application/json; charset=utf-8')
    return 'a media type other than JSON';
  if (headerOf(head, 'Cache-Control') !== 'no-store') return 'a body that caches may store';
  if (!['true', 'false'].includes(headerOf(head, 'Should-Retry') ?? '')) return 'no Should-Retry';
  const moved = headerOf(head, 'Money-Moved');
  if (moved !== undefined && moved !== 'no') return `Money-Moved: ${moved}`;
  if (isPage) return body.startsWith('<!doctype html>') ? undefined : 'a page without a document type';
  return problemOfBody(body, status, code);
}

function problemOfBody(body: string, status: number, code: string): string | undefined {
  let record: Readonly<Record<string, unknown>>;
  try {
    record = JSON.parse(body);
  } catch {
    return `a body that is not JSON: ${body.slice(0, 200)}`;
  }
  const { Message, Status, Code, Type } = record;
  if (Object.keys(record).join() !== 'Message,Status,Code,Type') return `members other than the four: ${body}`;
  if (Status !== status || Code !== code) return `a body that contradicts the head: ${body}`;
  if (typeof Message !== 'string' || Message === '' || !Message.isWellFormed()) return `no message: ${body}`;
  // Support cannot help with a faulty request: only the caller can correct it.
  return Message.includes('contact support') === (Type !== 'Request Error') ? undefined : `the wrong advice: ${body}`;
}

function headerOf(head: string, name: string): string | undefined {
  const start = head.indexOf(`\r\n${name}: `);
  if (start === -1) return undefined;
  const from = start + name.length + 4;
  const end = head.indexOf('\r\n', from);
  return head.slice(from, end === -1 ? undefined : end);
}
