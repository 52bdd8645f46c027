import { isDeepStrictEqual } from 'node:util';
import { Conversation, type ReceivedResponse } from '../harness/conversation.ts';
import { Random } from '../harness/random.ts';
import { REFUSED_BEYOND_SCHEMA } from './beyond-schema.ts';
import type { Document, Operation, Schema } from './document.ts';
import {
  type Credential,
  generate,
  isObject,
  type Making,
  mapped,
  operationsOf,
  Records,
  type Reply,
  type Step,
  stepsWithOddIds,
  takes,
  toPath,
  withPeriods,
} from './steps.ts';
import { Reference } from './values.ts';
import { addFaults, damage, respellBytes, toCurl, toShell } from './wire/changes.ts';
import { draftOf, encode, type Plain } from './wire/draft.ts';
import { type Problem, problemOfRefusal } from './wire/refusal.ts';

// Sends sequences of requests that the document allows, and checks each response.

/** The target of sequences: the service, its document, and the keys by sender. */
export type Target = {
  readonly url: string;
  readonly document: Document;
  readonly keys: Readonly<Partial<Record<Credential, string | undefined>>>;
  readonly programId: string;
  /** Strings from the data of another program. No response to the program's own keys may contain them. */
  readonly foreign: readonly string[];
};

type Sent = Plain & { readonly step: Step };

type Received = { readonly status: number; readonly headers: Headers; readonly text: string; readonly json: unknown };

/** A result that the document does not allow. */
export type Violation = Problem & { readonly at: number; readonly operation: string };

export type Outcome = {
  readonly requests: number;
  /** The number of requests in the sequence, without those that the checks send. */
  readonly steps: number;
  /** The number of requests with faults or damaged bytes, which are sent before some of the other requests. */
  readonly broken: number;
  /** The number of requests that the service refuses for their values, by operation and message. */
  readonly refused: ReadonlyMap<string, number>;
  readonly violation: Violation | undefined;
  /** Functions that return the requests as shell commands. Each command is built only when it is printed. */
  readonly commands: readonly (() => string)[];
};

/** The first operations of every sequence. They provide existing records, and a record whose id the sequence chose. */
const FIRST = ['list_cards', 'list_transfers', 'list_webhooks', 'create_card', 'list_events', 'create_webhook'];

/**
 * Statuses that only an undocumented request can get: the wrong method, the wrong content type, or a body or head that is too
 * large.
 */
const NEVER: ReadonlySet<number> = new Set([405, 408, 413, 414, 415, 417, 431]);

/** Generates a sequence and sends it step by step. Each step can use values of earlier responses. */
export async function runGenerated(
  target: Target,
  seed: readonly number[],
  length: number,
  atEdges: boolean,
): Promise<{ readonly outcome: Outcome; readonly steps: readonly Step[] }> {
  const random = new Random(...seed);
  const run = new Run(target);
  const steps: Step[] = [];
  const operations = operationsOf(target.document);
  const creating = operations.filter(({ responses }) => responses.has(201));
  const changing = operations.filter(({ method }) => method === 'PATCH');
  const first = FIRST.flatMap((id) => target.document.operations.get(id) ?? []);
  const making: Making = {
    random,
    known: (name) => run.records.find(name, random),
    nextPage: (id) => run.records.nextPage(id),
    resolve: (value) => run.resolve(value),
    isValid: (schema, value) => target.document.problemOf(schema, run.resolve(value)) === undefined,
    credentials: Object.keys(target.keys) as Credential[],
    atEdges,
  };
  // Begins with requests that use odd ids, because otherwise some seeds would use none of them.
  const odd = atEdges ? creating.flatMap((operation) => stepsWithOddIds(operation, making)) : [];
  for (const step of odd) {
    steps.push(step);
    if (run.violation === undefined) await run.take(step);
  }
  while (steps.length < length && run.violation === undefined) {
    // Prefers operations that create or change records, because they lead to most later errors.
    const start = first.shift();
    const operation = start ?? random.pick(random.pick([creating, creating, changing, operations, operations]));
    // With extreme values, a first list could be empty, such as the events after the largest position. Later steps
    // need its records.
    const isList = start?.method === 'GET';
    const step = generate(operation, isList ? { ...making, atEdges: false } : making);
    if (step === undefined) continue;
    steps.push(step);
    await run.take(step);
  }
  return { outcome: run.outcome(), steps };
}

export async function runAgain(target: Target, steps: readonly Step[]): Promise<Outcome> {
  const run = new Run(target);
  for (const step of steps) {
    await run.take(step);
    if (run.violation !== undefined) break;
  }
  return run.outcome();
}

/** The time limit for shortening a failing sequence, in milliseconds. The result may be longer than necessary. */
const MAX_SHRINKING = 60_000;

/** Finds a short part of a failing sequence that still fails in the same way. Each attempt uses a new program. */
export async function shrink(
  newTarget: () => Promise<Target>,
  steps: readonly Step[],
  violation: Violation,
): Promise<Outcome | undefined> {
  let shortest: readonly Step[] = steps.slice(0, violation.at + 1);
  let found: Outcome | undefined;
  const end = performance.now() + MAX_SHRINKING;
  for (let at = shortest.length - 2; at >= 0 && performance.now() < end; at -= 1) {
    const candidate = without(shortest, at);
    if (candidate === undefined) continue;
    const outcome = await runAgain(await newTarget(), candidate);
    const { operation, rule } = outcome.violation ?? {};
    if (operation !== violation.operation || rule !== violation.rule) continue;
    shortest = candidate;
    found = outcome;
  }
  return found;
}

/** Returns the steps without the removed one, or undefined if another step needs it. */
function without(steps: readonly Step[], removed: number): readonly Step[] | undefined {
  const others = steps.toSpliced(removed, 1);
  let isNeeded = false;
  const moved = others.map((step) =>
    mapped(step, (reference) => {
      if (reference.step === removed) isNeeded = true;
      return reference.step > removed ? new Reference(reference.step - 1, reference.pointer) : reference;
    }),
  );
  return isNeeded ? undefined : (moved as readonly Step[]);
}

/** A missing response, or extra bytes after a response. */
const UNREADABLE: Problem = { rule: 'exactly one response', found: 'none, or more bytes' };

/** Returns whether a content type or a head declares a CSV export. */
const isCsv = (head: string): boolean => /text\/csv/i.test(head.split('\r\n\r\n')[0] ?? '');

/** An export that the service cut off because the next lines were too slow. Callers repeat it (docs/exports.md). */
const BROKEN_OFF = { status: 598, headers: new Headers(), text: 'an export that was cut off' };

class Run {
  readonly records = new Records();
  violation: Violation | undefined;
  readonly #target: Target;
  readonly #replies: Reply[] = [];
  readonly #refused = new Map<string, number>();
  readonly #commands: (() => string)[] = [];
  readonly #conversation: Conversation;
  /** The methods that the document lists, by path. */
  readonly #methods: ReadonlyMap<string, ReadonlySet<string>>;
  #requests = 0;
  #broken = 0;
  /** Everything that the program's own keys have sent. */
  #said = '';

  constructor(target: Target) {
    this.#target = target;
    this.#conversation = new Conversation(Number(new URL(target.url).port));
    const byPath = Map.groupBy(target.document.operations.values(), ({ path }) => path);
    this.#methods = new Map([...byPath].map(([path, all]) => [path, new Set(all.map(({ method }) => method))]));
  }

  outcome(): Outcome {
    this.#conversation.close();
    const { violation } = this;
    return {
      requests: this.#requests + this.#broken,
      steps: this.#replies.length,
      broken: this.#broken,
      refused: this.#refused,
      violation,
      commands: this.#commands,
    };
  }

  async take(step: Step): Promise<void> {
    const at = this.#replies.length;
    const operation = this.#target.document.operations.get(step.operation);
    if (operation === undefined) throw new Error(`the document has no operation ${step.operation}`);
    const sent = this.#toRequest(operation, this.resolve(step) as Step);
    const wire = new Random(step.wire);
    const problemOfBytes = await this.#problemOfBytes(operation, sent, wire);
    if (problemOfBytes !== undefined) {
      this.violation = { at, operation: operation.id, ...problemOfBytes };
      return;
    }
    const before = takes(operation, 'If-Match') ? await this.#readAgain(sent) : undefined;
    const received = wire.chance(0.5) ? await this.#sendRespelled(operation, sent, wire) : await this.#sendPlain(sent);
    const reply = { body: received.json, etag: received.headers.get('etag') };
    this.#replies.push(reply);
    const problem =
      this.#problemOf(operation, sent, received) ??
      problemOfIgnoring(operation, sent, before, received) ??
      (await this.#problemOfOldVersion(operation, sent, before, received)) ??
      (await this.#problemOfLocation(sent, received)) ??
      (await this.#problemOfRepeating(sent, received)) ??
      (await this.#problemOfFinding(operation, sent, received));
    if (received.status < 300) this.records.note(at, step, operation, sent.target.split('?')[0] ?? '', reply);
    if (problem !== undefined) this.violation = { at, operation: operation.id, ...problem };
  }

  /** Returns a value in which references are replaced with values from earlier responses. */
  resolve(value: unknown): unknown {
    return mapped(value, (reference) => this.#valueAt(reference));
  }

  /** Returns a value from an earlier response, or a string if this run has no such response. */
  #valueAt({ step, pointer }: Reference): unknown {
    const found = pointer.reduce<unknown>(
      (part, name) =>
        typeof part === 'object' && part !== null ? (part as Record<string | number, unknown>)[name] : undefined,
      this.#replies[step],
    );
    return found ?? 'gone';
  }

  #toRequest(operation: Operation, step: Step): Sent {
    const path = toPath(operation, step.path);
    const query = new URLSearchParams(
      Object.fromEntries(Object.entries(withPeriods(step.query)).map(([name, value]) => [name, String(value)])),
    );
    const key = this.#target.keys[step.credential];
    const headers: Record<string, string> = Object.fromEntries(
      // HTTP allows no other characters in headers.
      Object.entries(step.headers).map(([name, value]) => [name, String(value).replaceAll(/[^ -~]/gu, 'x')]),
    );
    if (key !== undefined) headers.Authorization = `Bearer ${key}`;
    if (takes(operation, 'Program-Id') && step.credential !== 'program' && step.credential !== 'viewer') {
      headers['Program-Id'] = this.#target.programId;
    }
    const written = JSON.stringify(isObject(step.body) ? withPeriods(step.body) : step.body);
    const body = step.isEscaped ? written?.replaceAll(/[^ -~]/g, escapeSequence) : written;
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    const target = `${path}${query.size === 0 ? '' : `?${query}`}`;
    return { step, method: operation.method, target, headers, body };
  }

  /** Checks that a change is refused if it names the previous version. */
  async #problemOfOldVersion(
    operation: Operation,
    sent: Sent,
    before: Received | undefined,
    { status, headers }: Received,
  ): Promise<Problem | undefined> {
    const old = before?.headers.get('etag') ?? null;
    const isChanged = old !== null && status === 200 && headers.get('etag') !== null && headers.get('etag') !== old;
    if (!isChanged || sent.method !== 'PATCH') return undefined;
    const again = await this.#send({
      ...sent,
      headers: { ...withoutKey(sent.headers, 'Content-Type'), 'If-Match': old },
    });
    if (again.status === 412 || isLockedOut(again)) return this.#problemOf(operation, sent, again);
    return { rule: 'a refusal of a change to an older version', found: `${again.status} to ${old}: ${again.text}` };
  }

  /** Reads the record that the request will change. */
  #readAgain({ target, headers }: Sent): Promise<Received> {
    return this.#send({ method: 'GET', target, headers: withoutKey(headers), body: undefined });
  }

  #sendPlain(sent: Sent): Promise<Received> {
    this.#commands.push(() => toCurl(this.#target.url, sent));
    return this.#send(sent);
  }

  #send({ method, target, headers, body }: Plain): Promise<Received> {
    return this.#retrying(async () => {
      const response = await fetch(this.#target.url + target, {
        method,
        headers,
        body: body ?? null,
        redirect: 'manual',
      });
      const isExport = isCsv(response.headers.get('content-type') ?? '');
      const text = await response.text().catch((error: unknown) => {
        if (!isExport) throw error;
      });
      return text === undefined ? BROKEN_OFF : { status: response.status, headers: response.headers, text };
    });
  }

  /** Sends the request with a different spelling but the same meaning. */
  #sendRespelled(operation: Operation, sent: Sent, random: Random): Promise<Received> {
    const made = this.#draftOf(operation, sent);
    respellBytes(made, random);
    const bytes = encode(made);
    this.#commands.push(() => toShell(bytes, this.#target.url));
    return this.#retrying(async () => {
      const { responses, rest, isEnded } = await this.#conversation.exchange(bytes, [made], made.closes);
      const [response] = responses;
      if (response === undefined && isEnded && isCsv(rest)) return BROKEN_OFF;
      if (response === undefined || rest !== '') return { status: 599, headers: new Headers(), text: UNREADABLE.found };
      return { status: response.status, headers: headersOf(response), text: response.body };
    });
  }

  /** Repeats a request while a busy service refuses it with Retry-After or cuts off its export. */
  async #retrying(send: () => Promise<Omit<Received, 'json'>>): Promise<Received> {
    for (let tries = 0; ; tries += 1) {
      this.#requests += 1;
      const received = await send();
      const isBusy = (received.status === 503 && received.headers.has('retry-after')) || received === BROKEN_OFF;
      if (!isBusy || tries >= 5) return { ...received, json: parsed(received.text) };
      await new Promise((wake) => setTimeout(wake, 1_000));
    }
  }

  #draftOf(operation: Operation, sent: Sent) {
    return draftOf(operation, this.#methods.get(operation.path) ?? new Set(), sent);
  }

  /** Sends the request with faults, or with damaged bytes, before sending it unchanged. */
  async #problemOfBytes(operation: Operation, sent: Sent, random: Random): Promise<Problem | undefined> {
    // Health checks also accept other methods and bodies.
    if (!sent.target.startsWith('/api/')) return undefined;
    const made = this.#draftOf(operation, sent);
    if (random.chance(0.1)) return this.#problemOfDamage(damage(made, random));
    if (!random.chance(0.6)) return undefined;
    addFaults(made, random);
    if (made.faults.length === 0) return undefined;
    this.#broken += 1;
    const bytes = encode(made);
    const { responses, rest } = await this.#conversation.exchange(bytes, [made], made.closes);
    const [response] = responses;
    const codes = this.#target.document.errorCodes;
    const problem =
      response === undefined || rest !== '' ? UNREADABLE : problemOfRefusal(response, { planted: made.planted, codes });
    if (problem === undefined) return undefined;
    this.#commands.push(() => toShell(bytes, this.#target.url));
    return { ...problem, found: `${problem.found} to ${made.faults.join(' and ')}: ${response?.body}` };
  }

  /** Damaged bytes may be refused or may mean something else. Each response must still be an allowed one. */
  async #problemOfDamage(bytes: Buffer): Promise<Problem | undefined> {
    this.#broken += 1;
    // Later requests can depend on an effect of the damaged bytes, so the bytes are printed too.
    this.#commands.push(() => toShell(bytes, this.#target.url));
    this.#conversation.close();
    const { responses, rest } = await this.#conversation.sendAndEnd(bytes);
    const expected = { planted: [], codes: this.#target.document.errorCodes };
    // An unreadable status is also a problem.
    const problems = responses.map((response) =>
      response.status < 400 ? undefined : problemOfRefusal(response, expected),
    );
    const isEmpty = /^[\r\n]*$/.test(bytes.toString('latin1'));
    const problem =
      problems.find((one) => one !== undefined) ??
      (responses.length === 0 && !isEmpty ? { rule: 'a response', found: 'none' } : undefined) ??
      (rest === '' ? undefined : { rule: 'whole responses', found: rest.slice(0, 80) });
    return problem === undefined ? undefined : { ...problem, found: `${problem.found} to damaged bytes` };
  }

  #problemOf(operation: Operation, { step, headers, target }: Sent, received: Received): Problem | undefined {
    const { status, text, json } = received;
    if (status >= 500) return { rule: 'no fault of the service', found: `${status} ${text}` };
    if (NEVER.has(status))
      return { rule: 'no refusal of an allowed request with this status', found: `${status} ${text}` };
    const described = operation.responses.get(status);
    if (described === undefined) return { rule: 'a status that the document lists', found: `${status} ${text}` };
    const type = received.headers.get('content-type')?.split(';')[0] ?? '';
    const content = described.content?.[type];
    if (text !== '' && content === undefined)
      return { rule: 'a media type that the document lists', found: `${type} for ${status}` };
    if (content?.schema !== undefined && type === 'application/json') {
      const problem = this.#target.document.problemOf(content.schema, json);
      if (problem !== undefined)
        return { rule: 'a body that its schema allows', found: `${problem} in ${text.slice(0, 1000)}` };
    }
    for (const [name, { schema }] of Object.entries(described.headers ?? {})) {
      const value = received.headers.get(name);
      if (value === null) continue;
      const problem = this.#target.document.problemOf(schema, typed(schema, value));
      if (problem !== undefined)
        return { rule: 'headers that their schemas allow', found: `${name}: ${value} ${problem}` };
    }
    const code = received.headers.get('error-code') ?? '';
    if (status === 400 && code.endsWith('_schema')) {
      const { Message: message = '' } = (json ?? {}) as { readonly Message?: string };
      const kind = `${operation.id}: ${message.replaceAll(/'[^']*'/g, "'…'").slice(0, 120)}`;
      if (step.added === undefined) this.#refused.set(kind, (this.#refused.get(kind) ?? 0) + 1);
      const pointer = received.headers.get('error-field') ?? '';
      const isExplained = REFUSED_BEYOND_SCHEMA.some((one) => one.field.test(pointer) && one.says.test(message));
      if (step.added === undefined && !isExplained)
        return { rule: 'a refusal that the document explains', found: `${pointer}: ${message}` };
      const field = pointer.split('/')[1];
      const isSent = (name: string): boolean =>
        Object.hasOwn((step.body ?? {}) as object, name) ||
        Object.hasOwn(step.query, name) ||
        Object.hasOwn(step.path, name);
      const isOfOperation = (name: string): boolean =>
        Object.hasOwn(operation.body?.properties ?? {}, name) || takes(operation, name);
      if (field !== undefined && !isSent(field) && !isOfOperation(field))
        return { rule: 'an Error-Field of the request or the operation', found: text };
    }
    const isOwn = step.credential === 'program' || step.credential === 'viewer';
    // The response may contain anything that the program itself has sent.
    if (isOwn) this.#said += ` ${target} ${Object.values(headers).join(' ')} ${JSON.stringify(step.body)}`;
    const leaked = isOwn
      ? this.#target.foreign.find((one) => text.includes(one) && !this.#said.includes(one))
      : undefined;
    return leaked === undefined ? undefined : { rule: 'no data of another card program', found: leaked };
  }

  async #problemOfLocation(sent: Sent, { status, headers, json }: Received): Promise<Problem | undefined> {
    const location = headers.get('location');
    if (status !== 201 || location === null || sent.step.credential === 'viewer') return undefined;
    const read = await this.#send({
      method: 'GET',
      target: location,
      headers: withoutKey(sent.headers),
      body: undefined,
    });
    if (isLockedOut(read)) return undefined;
    if (read.status !== 200)
      return { rule: 'a Location that exists', found: `${location}: ${read.status} ${read.text}` };
    const made = (json ?? {}) as Record<string, unknown>;
    const found = (read.json ?? {}) as Record<string, unknown>;
    // A deposit has no address, so its Location is the address of its program.
    const [idField = ''] = Object.keys(made);
    if (found[idField] !== made[idField]) {
      const isOwn = location.endsWith(`/${encodeURIComponent(String(made[idField]))}`);
      return isOwn ? { rule: 'the Location of the record', found: `${location}: ${read.text}` } : undefined;
    }
    for (const name of Object.keys((sent.step.body ?? {}) as object)) {
      const isShown = Object.hasOwn(made, name) && Object.hasOwn(found, name) && name !== 'status';
      if (isShown && !isDeepStrictEqual(made[name], found[name])) {
        const values = JSON.stringify([made[name], found[name]]);
        return { rule: 'the same record from POST and GET', found: `${name}: ${values}` };
      }
    }
    return undefined;
  }

  /** Checks that requests with the same key and meaning get the same bytes. */
  async #problemOfRepeating(sent: Sent, { status, text }: Received): Promise<Problem | undefined> {
    if (sent.headers['Idempotency-Key'] === undefined || status >= 300 || sent.method !== 'POST') return undefined;
    const again = await this.#send(sent);
    if (isLockedOut(again)) return undefined;
    if (again.headers.get('idempotent-replayed') === null) {
      // explain_transfer only says what would happen. It stores nothing under the key.
      const isStored = sent.step.operation !== 'explain_transfer';
      const isSecond = isStored && again.status < 300;
      return isSecond ? { rule: 'one success for a key', found: again.text } : undefined;
    }
    // Only the first response contains a key or a secret.
    const isSecret = /"(key|secret)":"/.test(text);
    if (again.status !== status || (!isSecret && again.text !== text))
      return { rule: 'the same response to the same key', found: again.text };
    if (sent.body === undefined) return undefined;
    const respelled = JSON.stringify(respell(JSON.parse(sent.body)));
    const other = await this.#send({ ...sent, body: respelled });
    if (other.status !== status && !isLockedOut(other))
      return { rule: 'the same status to the same meaning', found: `${other.status} to ${respelled}: ${other.text}` };
    return undefined;
  }

  /**
   * Checks that the list at the same path contains the new record, without filters and with filters for sent values.
   */
  async #problemOfFinding(operation: Operation, sent: Sent, { status, json }: Received): Promise<Problem | undefined> {
    if (status !== 201 || sent.step.credential === 'viewer') return undefined;
    const list = [...this.#target.document.operations.values()].find(
      (one) => one.method === 'GET' && one.path === operation.path && one.responses.has(200),
    );
    const record = (json ?? {}) as Record<string, unknown>;
    const [idField] = Object.keys(record);
    if (list === undefined || idField === undefined || typeof record[idField] !== 'string') return undefined;
    const filters = list.parameters
      // A processor or a receiver may have changed these fields.
      .filter(({ name }) => name !== 'status' && name !== 'outcome')
      .filter((one) => one.in === 'query' && typeof record[one.name] === 'string' && record[one.name] !== '')
      .map((one) => [one.name, String(record[one.name])] as const);
    const { metadata } = record as { readonly metadata?: Readonly<Record<string, string>> };
    const pairs = Object.entries(metadata ?? {});
    const pair = pairs.find(([, value]) => value === '') ?? pairs[0];
    const queries: (readonly (readonly [string, string])[])[] = filters.map((one) => [one]);
    if (pair !== undefined && list.parameters.some(({ name }) => name === 'metadata_name')) {
      queries.push([
        ['metadata_name', pair[0]],
        ['metadata_value', pair[1]],
      ]);
    }
    for (const query of queries) {
      const target = `${sent.target.split('?')[0]}?${new URLSearchParams(Object.fromEntries([...query, ['limit', '100']]))}`;
      const listed = await this.#send({ method: 'GET', target, headers: withoutKey(sent.headers), body: undefined });
      if (isLockedOut(listed)) return undefined;
      if (listed.status !== 200)
        return { rule: 'a list that accepts a stored value', found: `${target}: ${listed.text}` };
      if (!listed.text.includes(JSON.stringify(record[idField])) && !listed.text.includes('"next_cursor":"')) {
        return { rule: 'a list with the new record', found: target };
      }
    }
    return undefined;
  }
}

/** Returns the first field or header that a successful response ignored. */
function problemOfIgnoring(
  { method }: Operation,
  { step, headers, body }: Sent,
  before: Received | undefined,
  { status, json }: Received,
): Problem | undefined {
  if (status >= 300) return undefined;
  if (step.added?.header !== undefined) return { rule: 'no ignored header', found: step.added.header };
  const tag = headers['If-Match'];
  const current = before?.headers.get('etag') ?? null;
  if (tag !== undefined && current !== null && current !== tag)
    return { rule: 'a change to the current version only', found: `${tag}, not ${current}` };
  if (method !== 'PATCH' && status !== 201) return undefined;
  const shown = (json ?? {}) as Readonly<Record<string, unknown>>;
  const said: unknown = body === undefined ? {} : JSON.parse(body);
  for (const [name, value] of Object.entries(isObject(said) ? said : {})) {
    // In a new record, an empty string means null.
    if (value === '' && method !== 'PATCH') continue;
    // Null means the field's default. The status can change after the request.
    if (name !== 'status' && typeof value !== 'object' && Object.hasOwn(shown, name) && !isSame(shown[name], value))
      return { rule: 'no ignored field', found: `${name}: ${JSON.stringify([value, shown[name]])}` };
  }
  return undefined;
}

/** Returns whether a record shows the sent value. Times can have a different format, and amounts can be numbers. */
function isSame(shown: unknown, sent: unknown): boolean {
  if (isDeepStrictEqual(shown, sent) || String(shown) === String(sent)) return true;
  return typeof shown === 'string' && typeof sent === 'string' && Date.parse(shown) === Math.floor(Date.parse(sent));
}

/** Returns whether the sequence has revoked its own key. The service refuses a revoked key within a second. */
function isLockedOut({ status }: Received): boolean {
  return status === 401;
}

function headersOf({ head }: ReceivedResponse): Headers {
  const lines = head.split('\r\n').slice(1);
  return new Headers(
    lines.map((line): [string, string] => [line.split(':', 1)[0] ?? '', line.slice(line.indexOf(':') + 1)]),
  );
}

function escapeSequence(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Converts the value of a header to the type in its schema. */
function typed({ type }: Schema, value: string): unknown {
  return type === 'integer' || type === 'number' ? Number(value) : value;
}

/** Returns the headers without the headers of changes, such as `Idempotency-Key`. Keeps the header `kept`. */
function withoutKey(headers: Readonly<Record<string, string>>, kept?: string): Readonly<Record<string, string>> {
  const left = Object.entries(headers).filter(([name]) => name === kept || !OF_CHANGES.has(name));
  return Object.fromEntries(left);
}

const OF_CHANGES: ReadonlySet<string> = new Set(['Idempotency-Key', 'Content-Type', 'Case-Id', 'If-Match']);

/** Returns the same content in a different form: with reordered fields, and with amounts as text. */
function respell(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(respell);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, one]) => [name, name === 'amount' && typeof one === 'number' ? String(one) : respell(one)]),
  );
}
