import { OPERATIONS, type OperationId } from '../../contract/operations.ts';
import { DEMO_PROGRAM } from '../../contract/samples.ts';

/** What a request must be answered with: a success, a refusal, or either. */
export type Expectation = 'success' | 'refusal' | 'either';

/** A request in parts that can be changed one by one. Texts are sent as UTF-8, headers as Latin 1. */
export type Draft = {
  readonly operation: OperationId;
  method: string;
  target: string;
  version: string;
  headers: [name: string, value: string][];
  /** Name and value of each member as JSON text; undefined for a request without a body. */
  members: [name: string, value: string][] | undefined;
  /** Text around and between the members. */
  open: string;
  comma: string;
  colon: string;
  close: string;
  /** Changes the body's bytes last of all. */
  patches: ((body: Buffer) => Buffer)[];
  isChunked: boolean;
  expectation: Expectation;
  /** Names of the changes after which no success may come, and of the others. */
  readonly faults: string[];
  readonly changes: string[];
  /** Card numbers that stand somewhere in it. */
  readonly planted: string[];
  /** Whether the connection may end with the response. */
  closes: boolean;
  /** What it asks for: what moves, or is held, if it succeeds. */
  amount: number | undefined;
  needs: Need | undefined;
};

/** What must be there before a request can succeed: a transfer that is made just before it is sent. */
export type Need = 'held load' | 'held unload' | 'held between cards' | 'scheduled' | 'load';

/** Stands in the path of a request for the transfer that it needs, whose id is known only when it is made. */
export const NEEDED_ID = `tr_${'a'.repeat(32)}`;

/** A text as JSON. */
export const text = (value: string): string => JSON.stringify(value);

/** How an operation is asked for; what stands in its path is filled in. */
export function asOperation(operation: OperationId): Pick<Draft, 'operation' | 'method' | 'target'> {
  const { method, path } = OPERATIONS[operation];
  return { operation, method, target: path.replace('{program_id}', DEMO_PROGRAM).replace('{transfer_id}', NEEDED_ID) };
}

/** A request with nothing in it but these members, each with its value as JSON text. */
export function draft(operation: OperationId, members?: Readonly<Record<string, string>>): Draft {
  return {
    ...asOperation(operation),
    version: 'HTTP/1.1',
    headers: [
      ['Host', 'localhost'],
      ...(members === undefined ? [] : [['Content-Type', 'application/json'] as [string, string]]),
    ],
    members: members === undefined ? undefined : Object.entries(members),
    open: '{',
    comma: ',',
    colon: ':',
    close: '}',
    patches: [],
    isChunked: false,
    expectation: 'success',
    faults: [],
    changes: [],
    planted: [],
    closes: false,
    amount: undefined,
    needs: undefined,
  };
}

/** The request as it goes over the wire. */
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

/** A name that is no JSON text yet becomes one; one in quotes is sent as it is. */
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
