import { isDeepStrictEqual } from 'node:util';
import { Random } from '../fuzz/random.ts';
import type { Document, Operation, Parameter, Schema } from './document.ts';
import { generateValue, type Known, Reference } from './values.ts';

// Sequences of requests that the document allows, and what must be true of each response.

/** Who sends a request. `keyless`: nobody says so, which a sandbox allows. */
export type Credential = 'keyless' | 'operator' | 'program' | 'viewer';

/** A request whose values may be those of earlier responses. */
export type Step = {
  readonly operation: string;
  readonly credential: Credential;
  readonly path: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: unknown;
};

/** Where sequences are sent: the service, its document, and the keys by who sends. */
export type Target = {
  readonly url: string;
  readonly document: Document;
  readonly keys: Readonly<Partial<Record<Credential, string>>>;
  /** The program of the sequence. */
  readonly programId: string;
  /** Texts that no response to the program's own keys may contain: they belong to another program. */
  readonly foreign: readonly string[];
};

type Sent = {
  readonly step: Step;
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
};

type Received = { readonly status: number; readonly headers: Headers; readonly text: string; readonly json: unknown };

/** What a request did that the document does not allow. */
export type Violation = { readonly at: number; readonly operation: string; readonly problem: string };

/** What a sequence did. */
export type Outcome = {
  readonly requests: number;
  /** Requests of the sequence, without those that check what they did. */
  readonly steps: number;
  /** Those of them that the service refuses because of their schema, by operation and message. */
  readonly refused: ReadonlyMap<string, number>;
  readonly violation: Violation | undefined;
  /** The requests as curl commands. */
  readonly commands: readonly string[];
};

/** Operations that would end the service, its clock or other sequences, and streams, which do not end. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  ...['stop_database', 'start_database', 'move_clock', 'change_switch', 'receive_notice'],
  ...['create_session', 'delete_session', 'revoke_session', 'roll_key', 'revoke_key'],
]);

/** Headers that change what a response is for reasons of their own. */
const HEADERS_LEFT_OUT: ReadonlySet<string> = new Set(['Sandbox-Provoke', 'Last-Event-ID', 'Prefer', 'If-Match']);

/** Fields that hold what others call by this name. */
const SAME: Readonly<Record<string, string>> = {
  destination_card_id: 'card_id',
  subject_id: 'card_id',
  after: 'position',
};

/** Values that are known from the records of a sequence, by the name of the field. */
class Records {
  readonly #found = new Map<string, Reference[]>();

  note(step: number, operation: string, json: unknown): void {
    this.#noteFields(step, json, []);
    const { next_cursor: cursor } = (json ?? {}) as { readonly next_cursor?: unknown };
    if (typeof cursor === 'string') this.#found.set(`cursor of ${operation}`, [new Reference(step, ['next_cursor'])]);
    const { data } = (json ?? {}) as { readonly data?: unknown };
    if (Array.isArray(data))
      for (const [at, item] of data.slice(0, 2).entries()) this.#noteFields(step, item, ['data', at]);
  }

  #noteFields(step: number, record: unknown, pointer: readonly (string | number)[]): void {
    if (typeof record !== 'object' || record === null) return;
    for (const [name, value] of Object.entries(record)) {
      const isWanted = /(_id|_reference|^reference|^idempotency_key|^position|_at)$/.test(name);
      if (!isWanted || (typeof value !== 'string' && typeof value !== 'number')) continue;
      const list = this.#found.get(name) ?? [];
      list.push(new Reference(step, [...pointer, name]));
      this.#found.set(name, list);
    }
  }

  /** `cursor` is the `next_cursor` of the same operation: those of other lists are refused. */
  find(name: string, random: Random): Reference | undefined {
    const list = this.#found.get(SAME[name] ?? name.replace(/_(from|to)$/, '_at')) ?? [];
    return list.length === 0 ? undefined : random.pick(list);
  }
}

/** A generated sequence, sent step by step: each step may use what the responses before it said. */
export async function runGenerated(
  target: Target,
  seed: readonly number[],
  length: number,
): Promise<{ readonly outcome: Outcome; readonly steps: readonly Step[] }> {
  const random = new Random(...seed);
  const run = new Run(target);
  const steps: Step[] = [];
  const operations = [...target.document.operations.values()].filter(
    ({ id, responses }) => !LEFT_OUT.has(id) && !isStream(responses.get(200)),
  );
  const creating = operations.filter(({ responses }) => responses.has(201));
  while (steps.length < length && run.violation === undefined) {
    // What creates something leads to most of what can go wrong later.
    const operation = random.pick(random.chance(0.4) ? creating : operations);
    const known: Known = (name) => run.records.find(name, random);
    const isValid = (schema: Schema, value: unknown): boolean =>
      target.document.problemOf(schema, run.resolve(value)) === undefined;
    const step = generate(operation, random, known, isValid);
    if (step === undefined) continue;
    steps.push(step);
    await run.take(step);
  }
  return { outcome: run.outcome(), steps };
}

/** Sends the steps of a sequence again. */
export async function runAgain(target: Target, steps: readonly Step[]): Promise<Outcome> {
  const run = new Run(target);
  for (const step of steps) {
    await run.take(step);
    if (run.violation !== undefined) break;
  }
  return run.outcome();
}

/** The shortest part of a failing sequence that still fails in the same way, each time on a new program. */
export async function shrink(
  newTarget: () => Promise<Target>,
  steps: readonly Step[],
  violation: Violation,
): Promise<Outcome | undefined> {
  let shortest: readonly Step[] = steps.slice(0, violation.at + 1);
  let found: Outcome | undefined;
  for (let at = shortest.length - 2; at >= 0; at -= 1) {
    const candidate = without(shortest, at);
    if (candidate === undefined) continue;
    const outcome = await runAgain(await newTarget(), candidate);
    if (outcome.violation?.operation !== violation.operation) continue;
    if (outcome.violation.problem.slice(0, 20) !== violation.problem.slice(0, 20)) continue;
    shortest = candidate;
    found = outcome;
  }
  return found;
}

/** The steps without one; undefined if another one needs it. */
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

function mapped(value: unknown, change: (reference: Reference) => unknown): unknown {
  if (value instanceof Reference) return change(value);
  if (Array.isArray(value)) return value.map((one) => mapped(one, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, mapped(one, change)]));
}

function isStream(response: { readonly content?: object } | undefined): boolean {
  return response?.content !== undefined && Object.keys(response.content).every((type) => type === 'text/event-stream');
}

/** Whether a schema allows a value: some of its keywords are only tried. */
type IsValid = (schema: Schema, value: unknown) => boolean;

/** How many values are tried for a schema. */
const MAX_TRIES = 50;

function generate(operation: Operation, random: Random, known: Known, isValid: IsValid): Step | undefined {
  const valueFor = (schema: Schema, name: string): unknown => {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const value = generateValue(schema, name, random, known);
      if (isValid(schema, value)) return value;
    }
    return undefined;
  };
  const of = (place: Parameter['in']): readonly Parameter[] => operation.parameters.filter((one) => one.in === place);
  const path = Object.fromEntries(of('path').map(({ name, schema }) => [name, known(name) ?? valueFor(schema, name)]));
  const isKnown = Object.values(path).every((value) => value instanceof Reference);
  // Mostly what exists: otherwise nearly everything is a 404.
  if (!isKnown && !random.chance(0.03)) return undefined;
  const isSent = ({ required }: Parameter): boolean => required === true || random.chance(0.2);
  const query = Object.fromEntries(
    of('query')
      // A request that waits for news would take up to 25 seconds.
      .filter(({ name }) => name !== 'wait')
      .filter((one) => isSent(one) && (one.name !== 'cursor' || known(`cursor of ${operation.id}`) !== undefined))
      .map(({ name, schema }) => [
        name,
        // Only a list itself knows its cursors.
        name === 'cursor' ? known(`cursor of ${operation.id}`) : valueFor(schema, name),
      ])
      .filter(([, value]) => value !== undefined),
  );
  const headers = Object.fromEntries(
    of('header')
      .filter((one) => !HEADERS_LEFT_OUT.has(one.name) && one.name !== 'Program-Id')
      .filter((one) => isSent(one) || (one.name === 'Idempotency-Key' && random.chance(0.5)))
      .map(({ name, schema }) => [name, name === 'Idempotency-Key' ? `k${random.digits(12)}` : valueFor(schema, name)]),
  );
  const isOfProgram = operation.parameters.some(({ name }) => name === 'Program-Id');
  const credential = random.pick<Credential>(
    isOfProgram
      ? ['program', 'program', 'program', 'viewer', 'operator', 'keyless']
      : ['operator', 'operator', 'keyless', 'program'],
  );
  const isBodySent = operation.body !== undefined && (operation.isBodyRequired || random.chance(0.8));
  const body = isBodySent ? valueFor(operation.body as Schema, 'body') : undefined;
  if (isBodySent && body === undefined) return undefined;
  const inOrder = { query: withPeriods(query), body: isObject(body) ? withPeriods(body) : body };
  return { operation: operation.id, credential, path, headers, ...inOrder };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The same with each period that ends before it begins the other way round, as anybody would send it. */
function withPeriods(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const ordered: Record<string, unknown> = { ...fields };
  for (const [name, from] of Object.entries(fields)) {
    const end = name.replace(/from$/, 'to');
    const to = fields[end];
    if (end === name || typeof from !== 'string' || typeof to !== 'string' || Date.parse(from) < Date.parse(to))
      continue;
    [ordered[name], ordered[end]] = [to, from];
  }
  return ordered;
}

/** One run of a sequence. */
class Run {
  readonly records = new Records();
  violation: Violation | undefined;
  readonly #target: Target;
  readonly #replies: unknown[] = [];
  readonly #refused = new Map<string, number>();
  readonly #commands: string[] = [];
  #requests = 0;
  /** What the program's own keys have sent. */
  #said = '';

  constructor(target: Target) {
    this.#target = target;
  }

  outcome(): Outcome {
    const { violation } = this;
    return {
      requests: this.#requests,
      steps: this.#replies.length,
      refused: this.#refused,
      violation,
      commands: this.#commands,
    };
  }

  async take(step: Step): Promise<void> {
    const at = this.#replies.length;
    const operation = this.#target.document.operations.get(step.operation);
    if (operation === undefined) throw new Error(`the document has no operation ${step.operation}`);
    const resolved = this.resolve(step) as Step;
    const sent = this.#toRequest(operation, resolved);
    this.#commands.push(toCurl(this.#target.url, sent));
    const received = await this.#send(sent);
    this.#replies.push(received.json);
    const problem =
      this.#problemOf(operation, sent, received) ??
      (await this.#problemOfLocation(sent, received)) ??
      (await this.#problemOfRepeating(sent, received)) ??
      (await this.#problemOfFinding(operation, sent, received));
    if (received.status < 300) this.records.note(at, operation.id, received.json);
    if (problem !== undefined) this.violation = { at, operation: operation.id, problem };
  }

  /** A value with those of earlier responses in place of what refers to them. */
  resolve(value: unknown): unknown {
    return mapped(value, (reference) => this.#valueAt(reference));
  }

  /** A value of an earlier response; a text in its place if there is none this time. */
  #valueAt({ step, pointer }: Reference): unknown {
    const found = pointer.reduce<unknown>(
      (part, name) =>
        typeof part === 'object' && part !== null ? (part as Record<string | number, unknown>)[name] : undefined,
      this.#replies[step],
    );
    return found ?? 'gone';
  }

  #toRequest(operation: Operation, step: Step): Sent {
    const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(String(step.path[name])),
    );
    const query = new URLSearchParams(
      Object.fromEntries(Object.entries(step.query).map(([name, value]) => [name, String(value)])),
    );
    const key = this.#target.keys[step.credential];
    const headers: Record<string, string> = Object.fromEntries(
      // HTTP allows no other characters in a header.
      Object.entries(step.headers).map(([name, value]) => [name, String(value).replaceAll(/[^ -~]/gu, 'x')]),
    );
    if (key !== undefined) headers.Authorization = `Bearer ${key}`;
    const takesProgram = operation.parameters.some(({ name }) => name === 'Program-Id');
    if (takesProgram && (step.credential === 'keyless' || step.credential === 'operator')) {
      headers['Program-Id'] = this.#target.programId;
    }
    const body = step.body === undefined ? undefined : JSON.stringify(step.body);
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    const target = `${path}${query.size === 0 ? '' : `?${query}`}`;
    return { step, method: operation.method, target, headers, body };
  }

  async #send({ method, target, headers, body }: Omit<Sent, 'step'>): Promise<Received> {
    // A busy machine may be refused for a moment, which says so.
    for (let tries = 0; ; tries += 1) {
      this.#requests += 1;
      const response = await fetch(this.#target.url + target, {
        method,
        headers,
        body: body ?? null,
        redirect: 'manual',
      });
      const text = await response.text();
      if (response.status === 503 && response.headers.has('retry-after') && tries < 5) {
        await new Promise((wake) => setTimeout(wake, 1_000));
        continue;
      }
      return { status: response.status, headers: response.headers, text, json: parsed(text) };
    }
  }

  #problemOf(operation: Operation, { step, headers, target }: Sent, received: Received): string | undefined {
    const { status, text, json } = received;
    if (status >= 500) return `the status ${status}: ${text}`;
    const described = operation.responses.get(status);
    if (described === undefined) return `the status ${status}, which the document does not list: ${text}`;
    const type = received.headers.get('content-type')?.split(';')[0] ?? '';
    const content = described.content?.[type];
    if (text !== '' && content === undefined) return `the type ${type}, which the document does not list for ${status}`;
    if (content?.schema !== undefined && type === 'application/json') {
      const problem = this.#target.document.problemOf(content.schema, json);
      if (problem !== undefined) return `a body that its schema does not allow: ${problem} in ${text.slice(0, 1000)}`;
    }
    for (const [name, { schema }] of Object.entries(described.headers ?? {})) {
      const value = received.headers.get(name);
      if (value === null) continue;
      const problem = this.#target.document.problemOf(schema, typed(schema, value));
      if (problem !== undefined) return `a header ${name} that its schema does not allow: ${value} ${problem}`;
    }
    const code = received.headers.get('error-code') ?? '';
    if (status === 400 && code.endsWith('_schema')) {
      const { Message: message = '' } = (json ?? {}) as { readonly Message?: string };
      const kind = `${operation.id}: ${message.replaceAll(/'[^']*'/g, "'…'").slice(0, 120)}`;
      this.#refused.set(kind, (this.#refused.get(kind) ?? 0) + 1);
      const field = received.headers.get('error-field')?.split('/')[1];
      const isSent = (name: string): boolean =>
        Object.hasOwn((step.body ?? {}) as object, name) ||
        Object.hasOwn(step.query, name) ||
        Object.hasOwn(step.path, name);
      const isOfOperation = (name: string): boolean =>
        Object.hasOwn(operation.body?.properties ?? {}, name) || operation.parameters.some((one) => one.name === name);
      if (field !== undefined && !isSent(field) && !isOfOperation(field))
        return `an Error-Field that nobody knows: ${text}`;
    }
    const isOwn = step.credential === 'program' || step.credential === 'viewer';
    // The program may be told what it has said itself.
    if (isOwn) this.#said += ` ${target} ${Object.values(headers).join(' ')} ${JSON.stringify(step.body)}`;
    const leaked = isOwn
      ? this.#target.foreign.find((one) => text.includes(one) && !this.#said.includes(one))
      : undefined;
    return leaked === undefined ? undefined : `something of another card program: ${leaked}`;
  }

  async #problemOfLocation(sent: Sent, { status, headers, json }: Received): Promise<string | undefined> {
    const location = headers.get('location');
    if (status !== 201 || location === null || sent.step.credential === 'viewer') return undefined;
    const read = await this.#send({
      method: 'GET',
      target: location,
      headers: withoutKey(sent.headers),
      body: undefined,
    });
    if (read.status !== 200) return `a Location ${location} that responds with ${read.status}: ${read.text}`;
    const made = (json ?? {}) as Record<string, unknown>;
    const found = (read.json ?? {}) as Record<string, unknown>;
    // A deposit has no address of its own: its Location is that of the program.
    const [idField = ''] = Object.keys(made);
    if (found[idField] !== made[idField]) return undefined;
    for (const name of Object.keys((sent.step.body ?? {}) as object)) {
      const isShown = Object.hasOwn(made, name) && Object.hasOwn(found, name) && name !== 'status';
      if (isShown && !isDeepStrictEqual(made[name], found[name])) {
        return `a GET with another ${name} than the POST: ${JSON.stringify([made[name], found[name]])}`;
      }
    }
    return undefined;
  }

  /** The same key and the same meaning get the same bytes. */
  async #problemOfRepeating(sent: Sent, { status, text }: Received): Promise<string | undefined> {
    if (sent.headers['Idempotency-Key'] === undefined || status >= 300 || sent.method !== 'POST') return undefined;
    const again = await this.#send(sent);
    if (again.headers.get('idempotent-replayed') === null) return undefined;
    // What a key or a secret is, only the first response says.
    const isSecret = /"(key|secret)":"/.test(text);
    if (again.status !== status || (!isSecret && again.text !== text))
      return `another response to the same key: ${again.text}`;
    if (sent.body === undefined) return undefined;
    const respelled = JSON.stringify(respell(JSON.parse(sent.body)));
    const other = await this.#send({ ...sent, body: respelled });
    if (other.status !== status)
      return `${other.status} to the same key with the same meaning, ${respelled}: ${other.text}`;
    return undefined;
  }

  /** What was created is in the list of its path, also when the list is filtered by what was sent. */
  async #problemOfFinding(operation: Operation, sent: Sent, { status, json }: Received): Promise<string | undefined> {
    if (status !== 201 || sent.step.credential === 'viewer') return undefined;
    const list = [...this.#target.document.operations.values()].find(
      (one) => one.method === 'GET' && one.path === operation.path && one.responses.has(200),
    );
    const record = (json ?? {}) as Record<string, unknown>;
    const [idField] = Object.keys(record);
    if (list === undefined || idField === undefined || typeof record[idField] !== 'string') return undefined;
    const filters = list.parameters
      // A processor or a receiver may have changed these by now.
      .filter(({ name }) => name !== 'status' && name !== 'outcome')
      .filter((one) => one.in === 'query' && typeof record[one.name] === 'string' && record[one.name] !== '')
      .map((one) => [one.name, String(record[one.name])] as const);
    const { metadata } = record as { readonly metadata?: Readonly<Record<string, string>> };
    const [pair] = Object.entries(metadata ?? {});
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
      if (listed.status !== 200) return `a list that refuses what was stored, ${target}: ${listed.text}`;
      if (!listed.text.includes(JSON.stringify(record[idField])) && !listed.text.includes('"next_cursor":"')) {
        return `a list without what was created, ${target}`;
      }
    }
    return undefined;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The text of a header as the type that its schema gives it. */
function typed({ type }: Schema, value: string): unknown {
  return type === 'integer' || type === 'number' ? Number(value) : value;
}

function withoutKey({
  'Idempotency-Key': _key,
  'Content-Type': _type,
  'Case-Id': _case,
  ...others
}: Readonly<Record<string, string>>) {
  return others;
}

/** The same in other words: fields in another order, and amounts as text. */
function respell(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(respell);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, one]) => [name, name === 'amount' && typeof one === 'number' ? String(one) : respell(one)]),
  );
}

function toCurl(url: string, { method, target, headers, body }: Sent): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const shown = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  return [
    'curl',
    '-X',
    method,
    quoted(url + target),
    ...shown,
    ...(body === undefined ? [] : ['-d', quoted(body)]),
  ].join(' ');
}
