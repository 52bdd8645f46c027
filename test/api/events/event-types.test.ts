import pg from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import type { SampleRequest } from '../../../contract/error.ts';
import { APPROVAL_EVENTS } from '../../../contract/events/approvals.ts';
import { EVENT_CATALOGUE, exampleEvent } from '../../../contract/events/catalogue.ts';
import { filledRequest, idIn } from '../../../contract/events/examples.ts';
import { DEMO_PROGRAM } from '../../../contract/samples.ts';
import { EVENT_TYPES, type EventType } from '../../../domain/event.ts';
import { fromWireId } from '../../../domain/identifier.ts';
import type { OperatorEventRecord, TransferServiceEvent } from '../../../sdk/client.ts';
import { embeddedServerOf, waitFor } from '../../harness/process.ts';
import { useOwnService } from '../../harness/service.ts';
import { untilRelayed } from './event-reader.ts';
import { problemsOf } from './event-schema.ts';

const service = useOwnService('It counts the events of the ledger.');
let opened: pg.Client | undefined;
afterAll(() => opened?.end());

const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

/** Sends a request as curl does, with a trace. */
async function send({ method, path, headers, body }: SampleRequest): Promise<{ status: number; text: string }> {
  const label = body === undefined ? {} : { 'Content-Type': 'application/x-www-form-urlencoded' };
  const content = body === undefined ? {} : { body };
  const response = await fetch(service().url + path, {
    method,
    headers: { ...label, traceparent: TRACE, ...headers },
    ...content,
  });
  return { status: response.status, text: await response.text() };
}

/** Sends the requests of a sample. Each request uses the id from the last response that contained one. */
class Runner {
  #id = 'none';
  readonly #unique = crypto.randomUUID();

  async send(request: SampleRequest, status?: number): Promise<void> {
    // Takes the day that it will be in a minute, because the sample fails if the day ends while it runs.
    const today = new Date(Date.now() + 60_000).toISOString().slice(0, 'YYYY-MM-DD'.length);
    const filled = filledRequest(request, { id: this.#id, today, unique: this.#unique });
    const response = await send(filled);
    const expected = status ?? (response.status === 201 ? 201 : 200);
    expect(response.status, `${request.path}: ${response.text}`).toBe(expected);
    this.#id = idIn(request, response.text) ?? this.#id;
  }
}

/** Waits until every committed event has its position. */
async function relayed(): Promise<void> {
  if (opened === undefined) {
    const { databaseUrl } = await embeddedServerOf(service().directory);
    opened = new pg.Client(databaseUrl);
    await opened.connect();
  }
  await untilRelayed(opened);
}

/**
 * Makes the service ask the processor for the result, and waits for it. Otherwise the event would arrive during the
 * next sample.
 */
async function untilKnown(transferId: string): Promise<void> {
  const { sandbox, transfers } = service().client;
  await sandbox.moveClock({ seconds_ahead: 60 });
  await waitFor(`the end of ${transferId}`, async () => (await transfers.get(transferId)).status === 'completed');
  await sandbox.moveClock({ seconds_ahead: 0 });
}

async function after(number: number): Promise<readonly OperatorEventRecord[]> {
  const { data } = await service().client.events.search({ after: number, limit: 100 });
  return data;
}

/** For each type whose sample causes more than its own event, all events of the sample in order. */
const SEVERAL_EVENTS: Partial<Record<EventType, readonly EventType[]>> = {
  'funding.low': ['program.updated', 'funding.low'],
  'transfer.unknown': ['transfer.pending', 'transfer.unknown'],
  'transfer.late_approval': ['transfer.failed', 'transfer.late_approval', 'break.opened'],
  'break.opened': ['settlement.matched', 'break.opened'],
  'settlement.matched': ['settlement.matched', 'break.opened'],
};

/** Returns the event's subject as the API shows it now, or the event's data if no operation returns the subject. */
async function subjectNow(type: EventType, { subject_id: id, data }: TransferServiceEvent): Promise<unknown> {
  const { client } = service();
  switch (EVENT_CATALOGUE[type].operation) {
    case 'get_transfer':
      return client.transfers.get(id);
    case 'get_reversal':
      return client.transfers.reversal(id);
    case 'get_card':
      return client.cards.get(id);
    case 'get_program':
      return type === 'funding.low' ? data : client.programs.get(id);
    case 'list_keys': {
      const keys = await client.keys.list({ limit: 100 });
      const now = keys.data.find(({ key_id }) => key_id === id);
      const replaces = keys.data.find(({ replaced_by }) => replaced_by === id);
      return replaces === undefined ? now : { ...now, replaces };
    }
    case 'get_settlement_file':
      return client.settlementFiles.get(id);
    case 'get_webhook':
      return client.webhooks.get(id);
    case 'get_switch':
      return (await client.switch.get()).data.find(({ scope }) => scope === 'service');
    case 'get_error': {
      const { message: Message, status: Status, code: Code, type: Type, created_at } = await client.errors.get(id);
      return { error: { Message, Status, Code, Type }, request_id: id, count: 1, since: created_at };
    }
    default:
      return data;
  }
}

/** Events that background jobs write. They belong to no request, so they have no trace. */
const OF_JOBS: readonly EventType[] = [
  'error.recorded',
  'transfer.expired',
  'transfer.failed',
  'transfer.unknown',
  'transfer.late_approval',
  'break.opened',
  'settlement.matched',
];

/** Returns the traces that are stored with all events of an event's transaction. */
async function tracesOf(event: OperatorEventRecord): Promise<readonly unknown[]> {
  const batch = fromWireId('evt', event.event_id)?.slice(0, -4);
  const text = 'select distinct traceparent from event where batch_id::text like $1';
  return (await opened?.query(text, [`${batch}%`]))?.rows.map(({ traceparent }) => traceparent) ?? [];
}

/** Removes a webhook's backlog from the data, because every event changes it. */
function withoutProgress(data: unknown): unknown {
  const { backlog: _, ...rest } = Object(data);
  return rest;
}

/** The types that lists contain and whose samples cause their event immediately. */
const LISTED = EVENT_TYPES.filter((type) => {
  const { listed, sample } = EVENT_CATALOGUE[type];
  return listed && sample.takes === undefined && sample.given !== 'a second person';
});

test('the samples of all event types are tested, except approvals, webhook.tested and webhook.failing', () => {
  const others = EVENT_TYPES.filter((type) => !LISTED.includes(type));
  expect(others).toEqual([...Object.keys(APPROVAL_EVENTS), 'webhook.tested', 'webhook.failing']);
});

describe('the sample of each event type causes this event', () => {
  test.each(LISTED)('%s', async (type) => {
    const { sample, subject, subjectOtherwise = '' } = EVENT_CATALOGUE[type];
    const runner = new Runner();
    for (const request of (sample.given ?? []) as readonly SampleRequest[]) await runner.send(request);
    await relayed();
    const { client } = service();
    const { number } = await client.events.search({ limit: 1 });
    const { position } = await client.events.list({ limit: 1 });
    await runner.send(sample.request, sample.status);
    const expected = SEVERAL_EVENTS[type] ?? [type];
    await waitFor(`the events of ${type}`, async () => (await after(number)).length >= expected.length);
    await relayed();
    const found = await after(number);
    expect(found.map((event) => event.type)).toEqual(expected);
    const event = found.find((one) => one.type === type);
    if (event === undefined) throw new Error('there is no event');
    expect(problemsOf(type, event.data)).toEqual([]);
    expect(event.subject_id).toBe(Reflect.get(event.data, subject) ?? subjectOtherwise);
    expect(withoutProgress(event.data)).toEqual(withoutProgress(await subjectNow(type, event)));
    expect(event.version).toBe(exampleEvent(type).version);
    expect(await tracesOf(event)).toEqual([OF_JOBS.includes(type) ? null : TRACE]);
    expect(JSON.stringify(event)).not.toMatch(/ts_[0-9A-Za-z]+_[0-9a-f]{8}/);

    const seen = await client.events.list({ after: position, limit: 100 });
    if (type === 'switch.changed' || type.startsWith('incident.')) {
      const { reason: _reason, actor: _actor, ...shown } = Object(event.data);
      expect(event.program_id).toBe(null);
      expect(seen.data.map((one) => one.data)).toEqual([shown]);
      expect(problemsOf(type, shown)).toEqual([]);
    } else if (type === 'program.created') expect(seen.data).toEqual([]);
    else if (event.program_id === null) {
      expect(seen.data).toEqual([]);
      expect(exampleEvent(type).program_id).toBe(null);
    } else {
      expect(exampleEvent(type).program_id).toBe(DEMO_PROGRAM);
      const { number: _number, ...shown } = event;
      expect(seen.data.at(-1)).toEqual(shown);
      expect(shown.program_id).toBe(DEMO_PROGRAM);
    }
    for (const request of sample.after ?? []) await runner.send(request);
    if (type === 'transfer.unknown') await untilKnown(event.subject_id);
  });
});

describe('the example of each event type', () => {
  test.each(EVENT_TYPES)('has the same fields as a sent event: %s', (type) => {
    const { subject, subjectOtherwise = '' } = EVENT_CATALOGUE[type];
    const event = exampleEvent(type);
    expect(problemsOf(type, event.data)).toEqual([]);
    expect(event.subject_id).toBe(Reflect.get(event.data, subject) ?? subjectOtherwise);
  });

  test('is refused with an additional or a missing field', () => {
    const { data } = exampleEvent('transfer.failed');
    expect(problemsOf('transfer.failed', { ...data, more: 1 })).not.toEqual([]);
    const { error: _, ...less } = Object(data);
    expect(problemsOf('transfer.failed', less)).not.toEqual([]);
    expect(problemsOf('transfer.failed', { ...data, error: { Message: 'Only that.' } })).not.toEqual([]);
  });
});
