import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { OPERATION_IDS, OPERATIONS, type OperationId } from '../../contract/operations.ts';
import { DEMO_PROGRAM } from '../../contract/samples.ts';
import type { TransferService } from '../../sdk/client.ts';
import { type Call, newThings, partsOf, rowOf, type Things, toRaw } from '../../test/fixtures/operations.ts';
import { Conversation, type ReceivedResponse } from '../../test/fuzz/conversation.ts';
import { newBatchOf, withNeeded } from '../../test/fuzz/generate.ts';
import { openCards, openNeeds } from '../../test/fuzz/needs.ts';
import { type ServiceProcess, startService, temporaryDirectory, waitFor } from '../../test/harness/process.ts';
import { type RawRequest, sendRaw } from '../../test/harness/raw-request.ts';

/** A response, with placeholders for random values. */
export type Recorded = {
  /** The name of the request, the same in every recording of one seed. */
  readonly name: string;
  readonly operation: string;
  readonly status: number;
  /** In the order of the response. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
};

/** The program of the service, and the requests to record. */
export type Recording = {
  readonly main: string;
  readonly seed: number;
  readonly count: number;
  /** The operations to record. Undefined for all that the version has. */
  readonly like: ReadonlySet<string> | undefined;
};

/**
 * Starts a sandbox on a new ledger. Sends every operation in several ways, then generated requests, one after the other. Returns
 * the responses.
 */
export async function record({ main, seed, count, like }: Recording): Promise<readonly Recorded[]> {
  const directory = await temporaryDirectory();
  const settings = { LOG_LEVEL: 'silent', OVERLOAD_DELAY_MILLISECONDS: '0', WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1' };
  const rates = { RATE_LIMIT_PER_ADDRESS: '100000', RATE_LIMIT_PER_KEY: '100000' };
  const service = await startService({ DATA_DIR: directory.path, ...settings, ...rates }, main);
  process.on('exit', () => service.child.kill('SIGTERM'));
  try {
    const known = await operationsOf(service.url);
    const ids = OPERATION_IDS.filter((id) => known.has(id) && (like?.has(id) ?? true));
    const recorder = new Recorder(service, new Set(ids));
    await recorder.pages();
    for (const id of ids.filter((one) => !LAST.test(one))) await recorder.operation(id);
    await recorder.generated(seed, count);
    for (const id of ids.filter((one) => LAST.test(one))) {
      await recorder.operation(id);
      if (/webhook|event/.test(id)) await recorder.deleteWebhooks();
    }
    return recorder.recorded;
  } finally {
    await service.stop();
    await directory.remove();
  }
}

/** The operations of a version. An older version has fewer. */
async function operationsOf(url: string): Promise<ReadonlySet<string>> {
  const { fields } = await sendRaw(url, { method: 'GET', path: '/openapi.json' });
  const paths = Object.values(fields.paths as Record<string, Record<string, { operationId?: string }>>);
  return new Set(paths.flatMap((path) => Object.values(path)).flatMap(({ operationId }) => operationId ?? []));
}

/**
 * Operations with background work, and operations that change the time or the database. They come after the generated requests.
 */
const LAST = /webhook|resend|operator_event|erase_card_holder|clock|_database|session/;

/** Operations that show data which is written some time after a response. */
const SHOWS_LATER = /webhook|event|error|timeline|search|request|status|overview|audit/;

/** Lists are ordered by id, and ids of the same millisecond have no fixed order. */
const APART_MILLISECONDS = 2;

/** The pause between two polls for data that is written later. */
const POLL_MILLISECONDS = 60;

/** The number of polls that must find the same newest event before it counts as the last one. The relay runs every 50 ms. */
const SAME_TIMES = 4;

/**
 * Responses with current figures. Their fields are recorded, but not the values. Refused keys are added to the audit log now and
 * then.
 */
const OF_THE_MOMENT =
  /^(?:get_status|get_overview|preview_switch|verify_audit|list_audit_entries|health|replay_|\w*webhook)/;

/** The same for malformed bytes. Their operation is unknown, so their content decides. */
const BYTES_OF_THE_MOMENT = /operator\/(?:status|overview|switch|audit)/;
const BYTES_SHOW_LATER = /\/(?:error|event|search|request|timeline)/;

/** Pages, as browsers and as programs ask for them. */
const PAGES = [
  ...[
    '/',
    '/docs',
    '/errors',
    '/errors.json',
    '/errors/card_closed',
    '/guides',
    '/openapi.json',
    '/nothing',
    '/a.json',
  ],
  ...['/health/live', '/health/ready', '/console', '/favicon.ico', '/api/v0.1/nothing', '/errors.json?q=closed'],
];

/** The variants of {@link Recorder.operation} that may get a stored response. */
const SUCCEEDS = /(?:unchanged|under a key|from a browser)$/;

class Recorder {
  readonly recorded: Recorded[] = [];
  readonly #client: TransferService;
  readonly #conversation: Conversation;
  readonly #placeholders: Placeholders;
  readonly #things: Things;
  readonly #operations: ReadonlySet<string>;

  constructor({ url, client }: ServiceProcess, operations: ReadonlySet<string>) {
    this.#operations = operations;
    const port = Number(new URL(url).port);
    this.#client = client;
    this.#conversation = new Conversation(port);
    this.#placeholders = new Placeholders(port);
    const call: Call = async (id, parts) => {
      const { status, text, fields } = await sendRaw(url, toRaw(id, parts));
      if (status >= 300) throw new Error(`${id} was answered ${status}: ${text}`);
      return fields;
    };
    this.#things = newThings(call, {
      program: async () => DEMO_PROGRAM,
      event: async () => {
        await this.#settle();
        return String((await client.events.list({ limit: 1 })).data[0]?.event_id);
      },
      error: async () => {
        return this.#settle();
      },
      session: async () => 'ses_none',
      attempt: async () => 'pat_none',
      connector: async () => 'simulator',
      break: async () => 'brk_none',
    });
  }

  async pages(): Promise<void> {
    for (const path of PAGES) {
      for (const accept of ['*/*', 'text/html', 'application/json']) {
        const operation = path.startsWith('/health') ? 'health' : 'page';
        await this.#send(`${operation} ${path} ${accept}`, operation, {
          method: 'GET',
          path,
          headers: { Accept: accept },
        });
      }
    }
  }

  /** Sends an operation unchanged, with a key, with the key again, with other content under the same key, and with mistakes. */
  async operation(id: OperationId): Promise<void> {
    const made = async (): Promise<RawRequest> => {
      const raw = toRaw(id, await partsOf(id, this.#things));
      return { ...raw, headers: { ...raw.headers, ...(await this.#callerOf(id)) } };
    };
    const send = (way: string, raw: RawRequest): Promise<void> => this.#send(`${id} ${way}`, id, raw);
    const key = { 'Idempotency-Key': `recorded ${id}` };
    const { method } = OPERATIONS[id];
    await send('unchanged', await made());
    // A second replay is refused while the first one runs.
    if (/^replay_/.test(id)) return;
    if (method !== 'GET') {
      const raw = await made();
      const keyed = { ...raw, headers: { ...raw.headers, ...key } };
      await send('under a key', keyed);
      await send('again', keyed);
      const other = typeof keyed.body === 'object' ? { ...keyed.body, description: 'other' } : { description: 'other' };
      await send('with another body', { ...keyed, body: other });
      await send('without a key', { ...raw, headers: {} });
      await send('with invalid JSON', { ...raw, headers: { ...raw.headers, ...key }, body: '{"amount":' });
      await send('with an empty object', {
        ...raw,
        headers: { ...raw.headers, 'Idempotency-Key': `empty ${id}` },
        body: {},
      });
    }
    const raw = await made();
    await send('with an extra parameter', {
      ...raw,
      path: `${raw.path}${raw.path?.includes('?') ? '&' : '?'}unknown=1`,
    });
    await send('with an unknown id', { ...raw, path: raw.path?.replace(/\/[a-z]+_[0-9a-f]{32}/g, '/none') ?? '' });
    await send('of an unknown program', { ...raw, headers: { ...raw.headers, 'Program-Id': 'prog_none' } });
    await send('with a wrong key', { ...raw, headers: { ...raw.headers, Authorization: 'Bearer ts_wrong' } });
    await send('from a page of another origin', { ...raw, headers: { ...raw.headers, Origin: 'https://evil.test' } });
    await send('from a browser', { ...raw, headers: { ...raw.headers, Accept: 'text/html' } });
  }

  /** Sends generated requests, until there are enough responses. */
  async generated(seed: number, count: number): Promise<void> {
    await openCards(this.#client);
    const provide = await openNeeds(this.#client, () => undefined);
    for (let batch = 0; this.recorded.length < count; batch += 1) {
      const made = newBatchOf({ seed, batch });
      if (made.kind === 'bytes') {
        this.#conversation.close();
        const text = made.bytes.toString('latin1');
        if (BYTES_SHOW_LATER.test(text)) await this.#settle();
        const exchange = await this.#conversation.sendAndEnd(withNeeded(made.bytes, await provide(made.needs)));
        const kind = BYTES_OF_THE_MOMENT.test(text) ? 'health, as bytes' : 'bytes';
        for (const [at, response] of exchange.responses.entries()) this.#keep(`${batch}.${at} bytes`, kind, response);
        continue;
      }
      for (const [at, request] of made.requests.entries()) {
        const { operation, bytes, needs, closes, changes } = request;
        if (!this.#operations.has(operation)) continue;
        const filled = needs === undefined ? bytes : withNeeded(bytes, await provide([needs]));
        if (SHOWS_LATER.test(operation)) await this.#settle();
        await sleep(APART_MILLISECONDS);
        const { responses } = await this.#conversation.exchange(filled, [request], closes);
        const name = `${batch}.${at} ${operation}${changes.length === 0 ? '' : `, ${changes.join(', ')}`}`;
        for (const response of responses) this.#keep(name, operation, response);
      }
    }
  }

  /** A program has at most 20 webhooks, and their deliveries would write to the ledger at any time. */
  async deleteWebhooks(): Promise<void> {
    for (const { webhook_id } of await Array.fromAsync(this.#client.webhooks.listAll()))
      await this.#client.webhooks.delete(webhook_id);
    for (const { webhook_id } of await Array.fromAsync(this.#client.operatorWebhooks.listAll()))
      await this.#client.operatorWebhooks.delete(webhook_id);
  }

  /**
   * Waits until everything about the responses so far is written: the newest event, and the error of one more request, which is
   * stored after all earlier ones. Returns the id of that request.
   */
  async #settle(): Promise<string> {
    await sleep(APART_MILLISECONDS);
    const { headers } = await sendRaw(this.#client.baseUrl, { method: 'GET', path: '/api/v0.1/core/card/none' });
    const requestId = String(headers['request-id']);
    await waitFor('the last error is stored', async () => {
      const [newest] = (await this.#client.errors.list({ limit: 1 })).data;
      return newest?.request_id === requestId;
    });
    let last: number | undefined;
    for (let same = 0; same < SAME_TIMES; ) {
      const { position } = await this.#client.events.list({ limit: 1 });
      same = position === last ? same + 1 : 0;
      last = position;
      await sleep(POLL_MILLISECONDS);
    }
    return requestId;
  }

  async #callerOf(id: OperationId): Promise<Readonly<Record<string, string>>> {
    if (rowOf(id).caller === undefined) return {};
    const { key } = await this.#client.keys.create({ name: 'of a caller', scopes: ['operator'], all_programs: true });
    return { Authorization: `Bearer ${key}` };
  }

  async #send(
    name: string,
    operation: string,
    { method = 'POST', path = '', headers = {}, body }: RawRequest,
  ): Promise<void> {
    const content = typeof body === 'object' ? JSON.stringify(body) : body;
    const lines = Object.entries({
      Host: 'localhost',
      ...(content === undefined
        ? {}
        : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(content) }),
      ...headers,
    }).map(([field, value]) => `${field}: ${value}\r\n`);
    const bytes = Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${content ?? ''}`);
    if (SHOWS_LATER.test(operation) && SUCCEEDS.test(name)) await this.#settle();
    await sleep(APART_MILLISECONDS);
    const { responses } = await this.#conversation.exchange(bytes, [{ method }], false);
    for (const response of responses) this.#keep(name, operation, response);
  }

  #keep(name: string, operation: string, { status, head, body }: ReceivedResponse): void {
    const isHtml = /^content-type: text\/html/im.test(head);
    const headers = head
      .split('\r\n')
      .slice(1)
      .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()] as const)
      .map(([field, value]) => [field, this.#headerOf(field, value, body)] as const);
    const own = this.#placeholders.in(operation === 'get_transfer_timeline' ? withoutDuplicates(body) : body);
    this.recorded.push({
      name,
      operation,
      status,
      headers,
      // Texts for people change often. Only their presence is compared.
      body:
        isHtml && status < 400
          ? '<html>'
          : OF_THE_MOMENT.test(operation)
            ? shapeOf(own)
            : own.length > 200_000
              ? hashOf(own)
              : own,
    });
  }

  #headerOf(field: string, value: string, body: string): string {
    // The length follows from the body, whose random figures can have any length.
    const length = Buffer.byteLength(body);
    // The response to HEAD has a length but no body.
    if (/^content-length$/i.test(field) && (length === 0 || Number(value) === length)) return '<length of the body>';
    if (/^etag$/i.test(field)) return '<hash of the body>';
    return this.#placeholders.in(value);
  }
}

/** The likely duplicates depend on the time between transfers. */
function withoutDuplicates(body: string): string {
  return body.replace(/(?<="likely_duplicates":)\[.*\](?=[,}])/s, '"<of the moment>"');
}

function shapeOf(body: string): string {
  try {
    const shape = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.length === 0 ? [] : [shape(value[0])];
      if (typeof value !== 'object' || value === null) return '<value>';
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shape(one)]));
    };
    return JSON.stringify(shape(JSON.parse(body)));
  } catch {
    return body;
  }
}

function hashOf(text: string): string {
  return `<sha256 of ${text.length} characters: ${createHash('sha256').update(text).digest('hex')}>`;
}

/** Values that differ from run to run, by kind. The first group is replaced. */
const RANDOM: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ['key', /\b(ts_[0-9A-Za-z]{10,}(?:_[0-9A-Za-z]+)*)/g],
  ['secret', /\b(whsec_[0-9A-Za-z+/=_-]+)/g],
  ['$', /\b((?:[a-z]+)_[0-9a-f]{32}(?:[._-][0-9a-f]+)?)\b/g],
  ['cursor', /(?<="(?:next_)?cursor":")([^"<]+)/g],
  ['uuid', /\b([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b/g],
  ['hash', /\b([0-9a-f]{64})\b/g],
  ['hex', /\b([0-9a-f]{32})\b/g],
  ['session', /(?<=console(?:-\d+)?=)([0-9A-Za-z_.-]{10,})/g],
];

/** Times, except the start of a day: requests and limits contain it, and it is the same all day. */
const MOMENT = /\b\d{4}-\d\d-\d\dT(?!00:00:00(?:\.000)?Z)\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
const DATE_OF_HTTP = /\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT/g;
const NUMBERS_OF_A_RUN =
  /("(?:[a-z_]*(?:milliseconds|seconds|seconds_apart|bytes|process_id)|idle|in_use|p\d+)":)[\d.]+/g;
/** The relay numbers the service's own events at any time. */
const POSITION = /\bat position \d+\b/g;
/** Keys of the transfers that requests need: see `openNeeds` in test/fuzz/needs.ts. */
const NEED = /\bneed-\d{13}-/g;

/** Replaces random values by placeholders. These are numbered by kind, in the order of their first appearance. */
export class Placeholders {
  readonly #known = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  readonly #port: string;

  /** The URLs of the service contain `port`. */
  constructor(port: number) {
    this.#port = `:${port}`;
  }

  in(text: string): string {
    let replaced = text;
    for (const [kind, pattern] of RANDOM) replaced = replaced.replace(pattern, (value) => this.#of(kind, value));
    return replaced
      .replace(MOMENT, '<moment>')
      .replace(DATE_OF_HTTP, '<date>')
      .replace(NUMBERS_OF_A_RUN, '$1"<number>"')
      .replace(POSITION, 'at position <number>')
      .replace(NEED, 'need-<start>-')
      .replaceAll(this.#port, ':<port>');
  }

  #of(kind: string, value: string): string {
    const known = this.#known.get(value);
    if (known !== undefined) return known;
    const name = kind === '$' ? value.slice(0, value.indexOf('_')) : kind;
    const number = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, number);
    const placeholder = `<${name} ${number}>`;
    this.#known.set(value, placeholder);
    return placeholder;
  }
}
