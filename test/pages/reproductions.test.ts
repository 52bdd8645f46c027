import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { ERROR_CODES, familyOf, headersOf, operationsWith } from '../../contract/catalogue.ts';
import {
  doubtProvokingRequest,
  exampleField,
  exampleRecord,
  provokingRequest,
  reproductionOf,
} from '../../contract/example-failures.ts';
import { type ExampleRequest, exampleOf } from '../../contract/examples.ts';
import { parametersOf } from '../../contract/operation.ts';
import { OPERATIONS, type OperationId } from '../../contract/operations.ts';
import { DEMO_PROGRAM, EXAMPLE_REQUEST_ID } from '../../contract/samples.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import { toWireId } from '../../domain/identifier.ts';
import { DEMO_PROGRAM_ID } from '../../server/sandbox/seed-sandbox.ts';
import { useService } from '../harness/service.ts';

type Answer = {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
};

/** Codes whose cause is no request that can be printed: time, signals, and faults of ours nobody knows a way to. */
const WITHOUT_REQUEST: readonly string[] = [
  'rate_limited',
  'request_timeout',
  'service_unavailable',
  'unknown_create_transfer_batch',
  'unknown_request',
  'unknown_start_database',
  'unknown_stop_database',
];

const DATABASE_CODES = ERROR_CODES.filter(
  (code) => familyOf(code)?.kind === 'unknown' && !WITHOUT_REQUEST.includes(code),
);

const service = useService();

/** Sends what curl would, its label of a form included. */
function send({ method, path, headers, body }: ExampleRequest): Promise<Answer> {
  const label = body === undefined ? {} : { 'Content-Type': 'application/x-www-form-urlencoded' };
  const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(service().url);
    const all = { ...label, ...length, ...headers };
    const sent = request({ hostname, port, path, method, headers: all, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const named = new Map(Object.entries(response.headers).map(([name, value]) => [name, String(value)]));
        resolve({ status: response.statusCode ?? 0, headers: named, body: Buffer.concat(chunks).toString() });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/**
 * An example that fails here is mended in contract/example-failures.ts. Ids and times of this year differ from run to
 * run; everything else of an example is what is really answered.
 */
const withoutIds = (text: string) =>
  text
    .replaceAll(/\b(req|tr)_[0-9a-f]{32}\b/g, '$1_…')
    .replaceAll(/\b20\d\d-\d\d-\d\dT[0-9:]{8}(\.\d{3})?Z/g, (_time, fraction) =>
      fraction ? 'a moment' : 'a midnight',
    );

/** A request about what an answer before it made: its `{transfer_id}`, wherever the path has it. */
function about({ path, ...rest }: ExampleRequest, made: Answer | undefined): ExampleRequest {
  if (!path.includes('{transfer_id}')) return { path, ...rest };
  const { transfer_id: id } = JSON.parse(made?.body ?? '{}');
  return { path: path.replace('{transfer_id}', String(id)), ...rest };
}

function expectExample(code: ErrorCode, answer: Answer): void {
  const record = exampleRecord(code, 'support@example.com');
  expect(withoutIds(answer.body)).toBe(withoutIds(JSON.stringify(record)));
  expect(answer.status).toBe(record.Status);
  const isOfOperation = operationsWith(code).length > 0;
  for (const { name, value, sometimes } of headersOf(code, {
    requestId: EXAMPLE_REQUEST_ID,
    field: exampleField(code),
  })) {
    const sent = answer.headers.get(name.toLowerCase());
    if (sometimes || (name === 'Money-Moved' && (sent === undefined || !isOfOperation))) continue;
    expect(`${name}: ${withoutIds(sent ?? '')}`).toBe(`${name}: ${withoutIds(value)}`);
  }
  expect(answer.headers.get('error-field')).toBe(exampleField(code));
}

describe('what a page says brings a code about does so, and is answered as its example shows', () => {
  it('has a request for every code but those that cannot have one', () => {
    expect(ERROR_CODES.filter((code) => reproductionOf(code) === undefined).sort()).toEqual(WITHOUT_REQUEST);
  });

  it.each(ERROR_CODES.filter((code) => !WITHOUT_REQUEST.includes(code) && !DATABASE_CODES.includes(code)))(
    '%s',
    async (code) => {
      const how = reproductionOf(code);
      if (how === undefined) throw new Error('there is no request');
      let made: Answer | undefined;
      for (const one of how.before ?? []) {
        made = await send(one);
        expect(made.status).toBeLessThan(300);
      }
      const answer = await send(about(how.request, made));
      for (const one of how.after ?? []) expect((await send(one)).status).toBe(200);
      expectExample(code, answer);
    },
  );

  it('while the database is stopped: every unknown_<operation>', async () => {
    const stop = { method: 'POST', path: OPERATIONS.stop_database.path, headers: {} };
    const start = { method: 'POST', path: OPERATIONS.start_database.path, headers: {} };
    expect((await send(stop)).status).toBe(200);
    try {
      for (const code of DATABASE_CODES) {
        const how = reproductionOf(code);
        expect([how?.before, how?.after]).toEqual([[stop], [start]]);
        if (how !== undefined) expectExample(code, await send(how.request));
      }
    } finally {
      expect((await send(start)).status).toBe(200);
    }
  });
});

describe('Sandbox-Provoke', () => {
  it.each(ERROR_CODES.filter((code) => operationsWith(code).length > 0))('answers with %s', async (code) => {
    const provoking = provokingRequest(code);
    if (provoking === undefined) throw new Error('there is no request');
    const { status, body } = await send(provoking);
    const { Status, Type } = exampleRecord(code, '');
    const doubt = doubtProvokingRequest(code);
    if (doubt !== undefined) expect((await send(doubt)).headers.get('money-moved')).toBe('unknown');
    expect(JSON.parse(body)).toMatchObject({ Status, Code: code, Type });
    expect(status).toBe(Status);
  });
});

describe('the examples of requests', () => {
  it('name the demo program of every sandbox', () => {
    expect(DEMO_PROGRAM).toBe(toWireId('prog', DEMO_PROGRAM_ID));
  });

  it.each([
    'create_transfer',
    'create_transfer_batch',
    'explain_transfer',
    'create_card',
    'create_program',
    'create_deposit',
    'create_key',
    'list_audit_entries',
    'list_transfers',
    'export_transfers',
    'get_card',
    'update_card',
    'get_card_limits',
    'list_postings',
    'export_postings',
    'update_program',
    'move_clock',
  ] as const)('are taken as they are: %s', async (id) => {
    const { status, body } = await send(exampleOf(id));
    expect(`${status} ${body}`).toMatch(new RegExp(`^${OPERATIONS[id].status} `));
  });

  it('are taken once their ids are those of something that is there', async () => {
    const make = async () => {
      const answer = await send({ ...held, headers: {} });
      expect(answer.status).toBe(201);
      return String(JSON.parse(answer.body).transfer_id);
    };
    const held = {
      ...exampleOf('create_transfer'),
      body: '{"amount": 1000, "card_id": "card_active", "capture": "manual"}',
    };
    const tryWith = async (id: OperationId, ids: Readonly<Record<string, string>>) => {
      const path = parametersOf(OPERATIONS[id].path).reduce(
        (filled, name) => filled.replace(`{${name}}`, ids[name] ?? ''),
        OPERATIONS[id].path,
      );
      const { status, body } = await send({ ...exampleOf(id), path });
      expect(`${id} ${status} ${body}`).toMatch(new RegExp(`^${id} ${OPERATIONS[id].status} `));
      return JSON.parse(body);
    };
    const ids = { transfer_id: await make() };
    await tryWith('capture_transfer', ids);
    const { reversal_id } = await tryWith('reverse_transfer', ids);
    await tryWith('update_transfer', ids);
    await tryWith('get_transfer', ids);
    await tryWith('list_reversals', ids);
    await tryWith('get_reversal', { reversal_id });
    await tryWith('cancel_transfer', { transfer_id: await make() });
  });
});
