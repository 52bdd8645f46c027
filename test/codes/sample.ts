import { expect } from 'vitest';
import type { SampleRequest } from '../../contract/error.ts';
import { ERRORS } from '../../contract/errors/catalogue.ts';
import { exampleRecord } from '../../contract/errors/examples.ts';
import { headersOf } from '../../contract/openapi/headers.ts';
import type { ErrorCode } from '../../contract/operations.ts';
import type { TransferRecord } from '../../contract/transfers.ts';
import type { RawResponse } from '../harness/raw-connection.ts';
import { balancesOf } from './expect-response.ts';
import { type RequestSpec, send, toRequest } from './send.ts';

/** Returns the request of a code's sample, with additional headers. */
export function sampleRequest(code: ErrorCode, more: Readonly<Record<string, string>> = {}): RequestSpec {
  return asCurl(ERRORS[code].sample.request, more);
}

/** Returns a request as curl sends it, with its default Content-Type. */
function asCurl(request: SampleRequest, more: Readonly<Record<string, string>> = {}): RequestSpec {
  const label = request.body === undefined ? {} : { 'Content-Type': 'application/x-www-form-urlencoded' };
  return toRequest({ ...request, headers: { ...label, ...request.headers, ...more } });
}

/** Runs the sample of a code in a sandbox and returns the response to its request. */
export async function runSample(url: string, code: ErrorCode): Promise<RawResponse> {
  const { given = [], request, after = [] } = ERRORS[code].sample;
  if (typeof given === 'string') throw new Error(`${code} needs ${given}`);
  let ids: Ids = {};
  for (const one of given) {
    const response = await send(url, asCurl(about(one, ids)));
    expect(response.status, response.body).toBeLessThan(300);
    ids = idsIn(response, ids);
  }
  const before = await balancesOf(url);
  const response = await send(url, asCurl(about(request, ids)));
  expect(await balancesOf(url)).toEqual(before);
  for (const one of after) expect((await send(url, asCurl(about(one, ids)))).status).toBe(200);
  return response;
}

type Ids = Readonly<Record<string, unknown>>;

/** Returns the ids of the most recently created records, and of the first listed attempt. */
function idsIn({ status, body }: RawResponse, before: Ids): Ids {
  const fields: Ids & { readonly data?: readonly Ids[] } = JSON.parse(body);
  if (status === 201) return { ...before, ...fields };
  const attempt = fields.data?.[0]?.attempt_id;
  return attempt === undefined ? before : { ...before, attempt_id: attempt };
}

/** Returns the request with the ids of the records that were created before it. */
function about(request: SampleRequest, ids: Ids): SampleRequest {
  const path = request.path.replace(
    /\{((?:transfer|webhook|case|incident|attempt|person|file|move_in|comparison)_id)\}/,
    (_, name: string) => String(ids[name]),
  );
  return { ...request, path };
}

/** Compares the error in the record of a failed transfer with the page of its code. */
export function expectOnTransfer(code: ErrorCode, response: RawResponse): void {
  const { status, outcome, error } = JSON.parse(response.body) as TransferRecord;
  expect(response.status, response.body).toBe(201);
  expect({ status, outcome, error }).toEqual({
    status: 'failed',
    outcome: 'final',
    error: exampleRecord(code, 'support@example.com'),
  });
  expect(response.headers.get('money-moved')).toBe('no');
}

/** Compares the response to a code's sample with the page and the OpenAPI document. */
export function expectSample(code: ErrorCode, response: RawResponse): void {
  const record = exampleRecord(code, 'support@example.com');
  expect(withoutIds(response.body)).toBe(withoutIds(JSON.stringify(record)));
  expect(response.status).toBe(record.Status);
  const { operation, path } = ERRORS[code].sample.request;
  for (const { name, value, optional } of headersOf(code)) {
    const sent = response.headers.get(name.toLowerCase());
    if (optional || (name === 'Money-Moved' && sent === undefined)) continue;
    expect(`${name}: ${withoutIds(sent ?? '')}`, `${operation} ${path}`).toBe(`${name}: ${withoutIds(value)}`);
  }
  expect(response.headers.get('error-field')).toBe(ERRORS[code].sample.field);
}

/** Removes ids, versions and current times, because they differ between runs. All other text must match exactly. */
function withoutIds(text: string): string {
  return text
    .replaceAll(/\b(req|tr|rpl|inc|apr|stl|mvi|cmp)_[0-9a-f]{32}\b/g, '$1_…')
    .replaceAll(/(?<=^|its version is \\)"[\w-]{16}\\?"/g, 'a version')
    .replaceAll(/\b20\d\d-\d\d-\d\dT[0-9:]{8}(\.\d{3})?Z/g, (_time, fraction) => (fraction ? 'a time' : 'a midnight'));
}
