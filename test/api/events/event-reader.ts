import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type pg from 'pg';
import { expect, onTestFinished } from 'vitest';
import { OPERATIONS } from '../../../contract/operations.ts';
import { waitFor } from '../../harness/process.ts';
import { type RawResponse, sendRaw } from '../../harness/raw-request.ts';

export const EVENTS = OPERATIONS.list_events.path;
export const OPERATOR_EVENTS = OPERATIONS.search_events.path;

/** An event in the format of the API. */
export type WireEvent = {
  readonly event_id: string;
  readonly type: string;
  readonly position: number;
  readonly program_id: string | null;
  readonly subject_id: string;
  readonly created_at: string;
  readonly version: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly number?: number;
};

export type WirePage = {
  readonly data: readonly WireEvent[];
  readonly next_cursor: string | null;
  readonly position?: number;
  readonly number?: number;
};

type Headers = Readonly<Record<string, string>>;

export function get(url: string, path: string, query: object = {}, headers: Headers = {}): Promise<RawResponse> {
  const pairs = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
  const text = pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`;
  return sendRaw(url, { method: 'GET', path: `${path}${text}`, headers });
}

/** Reads a page. Fails if the response is not 200. */
export async function page(url: string, query: object = {}, headers: Headers = {}, path = EVENTS): Promise<WirePage> {
  const { status, text, fields } = await get(url, path, query, headers);
  expect(status, text).toBe(200);
  return fields as WirePage;
}

/** Reads all events after a position, as a client does: each page begins where the previous page ended. */
export async function readAll(url: string, headers: Headers = {}, after = 0): Promise<readonly WireEvent[]> {
  const events: WireEvent[] = [];
  for (let position = after; ; ) {
    const { data, next_cursor, position: read = 0 } = await page(url, { after: position, limit: 100 }, headers);
    events.push(...data);
    expect(read).toBe(position + data.length);
    position = read;
    if (next_cursor === null) return events;
  }
}

/** A message of a stream: an event, or only an `id`. */
export type Message = { readonly id: number; readonly event: string | undefined; readonly data: string | undefined };

export type EventStream = {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly messages: readonly Message[];
  readonly events: () => readonly WireEvent[];
  /** The last `id`, which a client sends to resume. */
  readonly lastId: () => number;
  readonly text: () => string;
  readonly isOver: () => boolean;
  readonly close: () => void;
};

/** Opens a stream and closes it at the end of the test. */
export async function openStream(
  url: string,
  query: object = {},
  headers: Headers = {},
  path = EVENTS,
): Promise<EventStream> {
  const pairs = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
  const sent: ClientRequest = request(`${url}${path}?${new URLSearchParams(pairs)}`, {
    headers: { Accept: 'text/event-stream', ...headers },
    agent: false,
  });
  onTestFinished(() => void sent.destroy());
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    sent.once('response', resolve).once('error', reject).end();
  });
  const messages: Message[] = [];
  let text = '';
  let rest = '';
  let isOver = false;
  sent.on('error', () => undefined);
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    text += chunk;
    const parts = (rest + chunk).split('\n\n');
    rest = parts.pop() ?? '';
    messages.push(...parts.flatMap((part) => toMessage(part)));
  });
  response.on('close', () => {
    isOver = true;
  });
  response.on('error', () => undefined);
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    messages,
    events: () => messages.flatMap(({ data }) => (data === undefined ? [] : [JSON.parse(data) as WireEvent])),
    lastId: () => messages.at(-1)?.id ?? 0,
    text: () => text,
    isOver: () => isOver,
    close: () => void sent.destroy(),
  };
}

function toMessage(part: string): readonly Message[] {
  const fields = new Map(
    part
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith(':'))
      .map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  );
  const id = fields.get('id');
  return id === undefined ? [] : [{ id: Number(id), event: fields.get('event'), data: fields.get('data') }];
}

export async function untilEvents(stream: EventStream, count: number): Promise<readonly WireEvent[]> {
  await expect.poll(() => stream.events().length).toBeGreaterThanOrEqual(count);
  return stream.events();
}

/** Waits until every committed event has its position. */
export async function untilRelayed(database: pg.Client): Promise<void> {
  await waitFor('events to be relayed', async () => {
    const { rowCount } = await database.query('select from write_batch where not relayed and not abandoned limit 1');
    return rowCount === 0;
  });
}
