import { expect } from 'vitest';
import { type ExampleRequest, exampleOf } from '../../contract/examples.ts';
import type { Operation } from '../../contract/operation.ts';
import { type ErrorCode, OPERATION_IDS, OPERATIONS, type OperationId } from '../../contract/operations.ts';
import type { SharedCode } from '../../domain/error-codes.ts';
import type { TransferService } from '../../sdk/client.ts';
import type { RawResponse } from '../harness/raw-connection.ts';
import { balancesOf, type Expected } from './expect-response.ts';
import { type RequestSpec, send, toRequest } from './send.ts';
import type { World } from './world.ts';

/** The response to a real cause of a code, and the expectations for it. */
export type Result = {
  readonly response: RawResponse;
  readonly expected: Expected;
  /** Whether this is the response to the code's sample. */
  readonly isSample?: boolean;
};

/** Causes of a code, in addition to its sample. */
export type RealCause = {
  readonly run: (world: World) => Promise<readonly Result[]>;
};

/** A request to a sandbox, and its operation. */
export type Attempt = {
  readonly request: RequestSpec;
  readonly operation?: OperationId;
  readonly more?: Partial<Expected>;
};

/** A cause that consists of requests to the sandbox. */
export function byRequests(code: ErrorCode, attempts: readonly Attempt[]): RealCause {
  return { run: (world) => runRefused(world, code, attempts) };
}

/** A cause that consists of requests about newly created records. */
export function byPrepared(
  code: ErrorCode,
  prepare: (client: TransferService) => Promise<readonly Attempt[]>,
): RealCause {
  return { run: async (world) => runRefused(world, code, await prepare(world.sandbox.client)) };
}

/** Several causes of one code, run in sequence. */
export function together(...causes: readonly RealCause[]): RealCause {
  return {
    run: async (world) => {
      const results: Result[] = [];
      for (const { run } of causes) results.push(...(await run(world)));
      return results;
    },
  };
}

/** Sends requests to a sandbox while its database runs. Each must return the code, and none may move money. */
export async function runRefused(
  { sandbox: { url }, ledger }: World,
  code: ErrorCode,
  attempts: readonly Attempt[],
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const [balances, postings] = [await balancesOf(url), await ledger.postings()];
  for (const attempt of attempts) {
    results.push(...(await runAll(url, code, [attempt])));
    expect(await ledger.postings(), attempt.request.path).toEqual(postings);
  }
  // Reads the balances once for all requests, because each read opens a connection.
  expect(await balancesOf(url)).toEqual(balances);
  return results;
}

/** Sends requests in sequence. Each must return the code. */
export async function runAll(url: string, code: ErrorCode, attempts: readonly Attempt[]): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const { request, operation, more } of attempts) {
    const response = await send(url, request);
    results.push({ response, expected: { code, operation, method: request.method, ...more } });
  }
  return results;
}

/**
 * The operations that a key can call. Adapters sign the other requests, and `test/api/processors/notices.test.ts`
 * causes their codes.
 */
export const KEYED_IDS: readonly OperationId[] = OPERATION_IDS.filter((id) => OPERATIONS[id].reach !== 'connector');

/** Returns the examples, changed by `change`, of all operations for which `fits` returns true. */
export function eachOperation(
  change: (request: RequestSpec, id: OperationId) => RequestSpec,
  fits: (id: OperationId) => boolean = () => true,
): readonly Attempt[] {
  return KEYED_IDS.filter(fits).map((operation) => ({
    operation,
    request: change(toRequest(exampleOf(operation)), operation),
  }));
}

export function withHeader(request: RequestSpec, name: string, value: string): RequestSpec {
  return { ...request, headers: [...(request.headers ?? []), [name, value]] };
}

export function hasBody(id: OperationId): boolean {
  return OPERATIONS[id].body !== undefined;
}

/** Returns the path of an operation with this id as its parameter. */
export function pathOf(operation: OperationId, id: string): string {
  return OPERATIONS[operation].path.replace(/\{.*\}/, encodeURIComponent(id));
}

/** Returns a request about one record, with an optional body and headers. */
export function about(
  operation: OperationId,
  id: string,
  members?: object,
  headers: Readonly<Record<string, string>> = {},
): Attempt {
  const { method } = OPERATIONS[operation];
  const body = members === undefined ? undefined : JSON.stringify(members);
  return { operation, request: toRequest({ method, path: pathOf(operation, id), headers, ...(body && { body }) }) };
}

/** Returns an operation's example with the id of another record. */
export function aboutId(operation: OperationId, id: string): Attempt {
  return { operation, request: { ...toRequest(exampleOf(operation)), path: pathOf(operation, id) } };
}

export const NO_ID = '00000000000070008000000000000001';

/** Returns whether the operation lists the code among its own errors. */
export function hasError(id: OperationId, code: SharedCode): boolean {
  const { errors }: Operation = OPERATIONS[id];
  return errors.includes(code);
}

/** Returns the examples of all operations that have this parameter in their path and list the code for unknown ids. */
export function aboutNone(code: SharedCode, parameter: string, ...ids: readonly string[]): RealCause {
  const operations = OPERATION_IDS.filter((id) => OPERATIONS[id].path.includes(`{${parameter}}`) && hasError(id, code));
  return byRequests(
    code,
    operations.flatMap((operation) => ids.map((id) => atField(undefined, aboutId(operation, id)))),
  );
}

/**
 * Returns the attempt with the field that its response must name. Undefined means that the response must name no field.
 */
export function atField(field: string | undefined, attempt: Attempt): Attempt {
  return { ...attempt, more: { ...attempt.more, field } };
}

/** Returns an operation's example with different fields in its body. Undefined omits a field. */
export function withMembers(
  operation: OperationId,
  members: object,
  headers: Readonly<Record<string, string>> = {},
): Attempt {
  const example: ExampleRequest = exampleOf(operation);
  const body = JSON.stringify({ ...JSON.parse(example.body ?? '{}'), ...members });
  return { operation, request: toRequest({ ...example, body }, headers) };
}

function withBody(operation: OperationId, body: string): Attempt {
  return { operation, request: { ...toRequest(exampleOf(operation)), body } };
}

export function withQuery(operation: OperationId, query: string): Attempt {
  const request = toRequest(exampleOf(operation));
  return { operation, request: { ...request, path: `${request.path.split('?')[0]}?${query}` } };
}

/** Returns the example of an operation with two faulty queries: a repeated parameter and a bad escape. */
export function twice(operation: OperationId): readonly Attempt[] {
  return [withQuery(operation, 'a=1&a=2'), withQuery(operation, '%zz')];
}

/** Returns an operation's example with each of these faulty bodies, and with bodies that are not JSON. */
export function wrongly(operation: OperationId, ...bodies: readonly object[]): readonly Attempt[] {
  return [
    ...bodies.map((members) => withMembers(operation, members)),
    withBody(operation, '{'),
    withBody(operation, '{"a":1,"a":2}'),
  ];
}
