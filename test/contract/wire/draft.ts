import type { Operation } from '../document.ts';
import { isObject } from '../steps.ts';

/** A request in parts, so that each part can be changed. The body is sent as UTF-8, and the head as Latin-1. */
export type Draft = {
  readonly operation: Operation;
  /** The methods that the document lists for the request's path. */
  readonly methods: ReadonlySet<string>;
  method: string;
  target: string;
  version: string;
  headers: [name: string, value: string][];
  /** The name and value of each member as JSON text. Undefined for a request without a body. */
  members: [name: string, value: string][] | undefined;
  /** The text around and between the members. */
  open: string;
  comma: string;
  colon: string;
  close: string;
  /** Changes to the body's bytes, applied last. */
  patches: ((body: Buffer) => Buffer)[];
  isChunked: boolean;
  /** Names of the changes that the service must refuse. */
  readonly faults: string[];
  /** The card numbers that were planted in the request. */
  readonly planted: string[];
  /** Whether the server may close the connection after the response. */
  closes: boolean;
};

/** A request as method, target, headers by name, and JSON text. */
export type Plain = {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
};

export function draftOf(
  operation: Operation,
  methods: ReadonlySet<string>,
  { method, target, headers, body }: Plain,
): Draft {
  const parsed: unknown = body === undefined ? undefined : JSON.parse(body);
  return {
    operation,
    methods,
    method,
    target,
    version: 'HTTP/1.1',
    headers: [['Host', 'localhost'], ...Object.entries(headers)],
    members: isObject(parsed)
      ? Object.entries(parsed).map(([name, value]) => [name, JSON.stringify(value)])
      : undefined,
    open: '{',
    comma: ',',
    colon: ':',
    close: '}',
    patches: [],
    isChunked: false,
    faults: [],
    planted: [],
    closes: false,
  };
}

/** Returns a member's name without the escapes that a change added. */
export function bare(name: string): string {
  return name.startsWith('"') ? String(JSON.parse(name)) : name;
}

export function encode(made: Draft): Buffer {
  const { method, target, version, headers, members, isChunked } = made;
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`);
  const body = members === undefined ? undefined : bodyOf(made, members);
  if (body !== undefined)
    lines.push(isChunked ? 'Transfer-Encoding: chunked\r\n' : `Content-Length: ${body.length}\r\n`);
  const head = Buffer.from(`${method} ${target} ${version}\r\n${lines.join('')}\r\n`, 'latin1');
  if (body === undefined) return head;
  return Buffer.concat(isChunked ? [head, ...chunksOf(body)] : [head, body]);
}

function bodyOf({ open, comma, colon, close, patches }: Draft, members: readonly [string, string][]): Buffer {
  const inner = members.map(([name, value]) => `${nameText(name)}${colon}${value}`).join(comma);
  return patches.reduce<Buffer>((body, patch) => patch(body), Buffer.from(`${open}${inner}${close}`));
}

/** Writes a name as JSON text, unless a change has already done so. */
function nameText(name: string): string {
  return name.startsWith('"') ? name : JSON.stringify(name);
}

function chunksOf(body: Buffer): readonly Buffer[] {
  const size = Math.max(1, Math.ceil(body.length / 3));
  const chunks: Buffer[] = [];
  for (let at = 0; at < body.length; at += size) {
    const part = body.subarray(at, at + size);
    chunks.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
  }
  return [...chunks, Buffer.from('0\r\n\r\n')];
}
