import type { Random } from '../harness/random.ts';
import { fieldsOf, type Operation, type Parameter, type Schema } from './document.ts';
import { generateValue, type Known, oddIds, Reference } from './values.ts';

// Generates requests that the document allows. Their values can come from earlier responses.

/**
 * The sender of a request. `keyless` sends no key, which a sandbox allows. `role` sends the key of a person who has one
 * of the roles in all programs.
 */
export type Credential = 'keyless' | 'operator' | 'program' | 'viewer' | 'role';

/** A request whose values can come from earlier responses. */
export type Step = {
  readonly operation: string;
  readonly credential: Credential;
  readonly path: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  /** Whether non-ASCII characters are sent as escape sequences, as Python does. */
  readonly isEscaped: boolean;
  /** The seed for changes to the request's bytes. */
  readonly wire: number;
  /**
   * A field or header that the document does not allow and the service must not ignore. Undefined if nothing was added.
   */
  readonly added?: { readonly field?: string; readonly header?: string };
};

/** Operations that stop or start the database, or end the sequence's own session. */
const LEFT_OUT: ReadonlySet<string> = new Set(['stop_database', 'start_database', 'delete_session']);

/**
 * Headers that requests do not get at random, because each of them changes what the response must be.
 * `withPrecondition` adds If-Match.
 */
const HEADERS_LEFT_OUT: ReadonlySet<string> = new Set(['Sandbox-Provoke', 'Last-Event-ID', 'Prefer', 'If-Match']);

/** Fields whose values occur under a different name in other operations. */
const SAME: Readonly<Record<string, string>> = {
  destination_card_id: 'card_id',
  subject_id: 'card_id',
  after: 'position',
};

export function operationsOf(document: { readonly operations: ReadonlyMap<string, Operation> }): readonly Operation[] {
  return [...document.operations.values()].filter(
    ({ id, responses }) => !LEFT_OUT.has(id) && !isStream(responses.get(200)),
  );
}

function isStream(response: { readonly content?: object } | undefined): boolean {
  return response?.content !== undefined && Object.keys(response.content).every((type) => type === 'text/event-stream');
}

/** The parts of a response that later steps can refer to. */
export type Reply = { readonly body: unknown; readonly etag: string | null };

/** The path and query of a page of a list. */
type Page = Pick<Step, 'path' | 'query'>;

/** Values from the responses of a sequence, by the name of the field. */
export class Records {
  readonly #found = new Map<string, Reference[]>();
  readonly #nextPages = new Map<string, Page>();

  note(step: number, { path, query }: Step, { id, method }: Operation, target: string, { body, etag }: Reply): void {
    this.#noteFields(step, body, ['body']);
    const { next_cursor, data } = (body ?? {}) as { readonly next_cursor?: unknown; readonly data?: unknown };
    if (typeof next_cursor === 'string') {
      const cursor = new Reference(step, ['body', 'next_cursor']);
      this.#nextPages.set(id, { path, query: { ...query, cursor } });
    }
    if (etag !== null && method !== 'POST') this.#add(`ETag of ${target}`, new Reference(step, ['etag']));
    if (Array.isArray(data))
      for (const [at, item] of data.slice(0, 2).entries()) this.#noteFields(step, item, ['body', 'data', at]);
  }

  #noteFields(step: number, record: unknown, pointer: readonly (string | number)[]): void {
    if (typeof record !== 'object' || record === null) return;
    for (const [name, value] of Object.entries(record)) {
      const isWanted = /(_id|_reference|^reference|^idempotency_key|^position|_at)$/.test(name);
      if (isWanted && (typeof value === 'string' || typeof value === 'number'))
        this.#add(name, new Reference(step, [...pointer, name]));
    }
  }

  #add(name: string, reference: Reference): void {
    this.#found.set(name, [...(this.#found.get(name) ?? []), reference]);
  }

  /**
   * Returns the path and query of a list's next page, after the page that was read last. Undefined if there is none.
   */
  nextPage(operation: string): Page | undefined {
    return this.#nextPages.get(operation);
  }

  find(name: string, random: Random): Reference | undefined {
    const list = this.#found.get(SAME[name] ?? name.replace(/_(from|to)$/, '_at')) ?? [];
    return list.length === 0 ? undefined : random.pick(list);
  }
}

/** Replaces each reference in a value. */
export function mapped(value: unknown, change: (reference: Reference) => unknown): unknown {
  if (value instanceof Reference) return change(value);
  if (Array.isArray(value)) return value.map((one) => mapped(one, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, mapped(one, change)]));
}

/** Returns the path of an operation, filled in with the values of its parameters. */
export function toPath({ path }: Operation, values: Readonly<Record<string, unknown>>): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values[name])));
}

export function takes({ parameters }: Operation, parameter: string): boolean {
  return parameters.some(({ name }) => name === parameter);
}

export type Making = {
  readonly random: Random;
  readonly known: Known;
  readonly nextPage: (operation: string) => Page | undefined;
  /** Replaces the references in a value with values from earlier responses. */
  readonly resolve: (value: unknown) => unknown;
  /** Returns whether a schema allows a value, because the generator does not check some keywords. */
  readonly isValid: (schema: Schema, value: unknown) => boolean;
  readonly credentials: readonly Credential[];
  /** Whether to use extreme values: the largest integers in queries, ids that a URL would change, full metadata. */
  readonly atEdges: boolean;
};

/** The maximum number of values to try for a schema. */
const MAX_TRIES = 50;

/** Generates a request for an operation, or returns undefined if the sequence has no record for it yet. */
export function generate(operation: Operation, making: Making): Step | undefined {
  const { random, known, isValid } = making;
  const valueFor = (schema: Schema, name: string, from = known): unknown => {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const value = generateValue(schema, name, random, from, making.atEdges);
      if (isValid(schema, value)) return value;
    }
    return undefined;
  };
  const of = (place: Parameter['in']): readonly Parameter[] => operation.parameters.filter((one) => one.in === place);
  // Responses repeat sent values, which may be invalid ids.
  const knownAs = (schema: Schema, name: string): Reference | undefined => {
    const reference = known(name);
    return reference !== undefined && isValid(schema, reference) ? reference : undefined;
  };
  const path = Object.fromEntries(
    of('path').map(({ name, schema }) => [name, knownAs(schema, name) ?? valueFor(schema, name)]),
  );
  const isKnown = Object.values(path).every((value) => value instanceof Reference);
  // Mostly uses existing records, because otherwise most responses would be 404.
  if (!isKnown && !random.chance(0.03)) return undefined;
  const isAtEdge = ({ in: place, schema }: Parameter): boolean =>
    making.atEdges && place === 'query' && schema.type === 'integer' && schema.maximum !== undefined;
  const isSent = (one: Parameter): boolean => one.required === true || isAtEdge(one) || random.chance(0.3);
  const inQuery = of('query');
  const picked = new Set(
    inQuery.filter(isSent).flatMap(({ name, schema }) => [name, random.pick(schema['x-requires'] ?? [name])]),
  );
  const query = Object.fromEntries(
    inQuery
      // A request with `wait` would take up to 25 seconds.
      .filter(({ name }) => name !== 'wait' && name !== 'cursor' && picked.has(name))
      .map((one) => [one.name, isAtEdge(one) ? one.schema.maximum : valueFor(one.schema, one.name)])
      .filter(([, value]) => value !== undefined),
  );
  const isSandbox = making.credentials.includes('keyless');
  const headers = Object.fromEntries(
    of('header')
      .filter((one) => !HEADERS_LEFT_OUT.has(one.name) && one.name !== 'Program-Id')
      // The descriptions of these headers say that a live service refuses them.
      .filter((one) => isSandbox || !one.name.startsWith('Sandbox-'))
      .filter((one) => isSent(one) || (one.name === 'Idempotency-Key' && random.chance(0.5)))
      .map(({ name, schema }) => [name, name === 'Idempotency-Key' ? `k${random.digits(12)}` : valueFor(schema, name)]),
  );
  const senders: readonly Credential[] = takes(operation, 'Program-Id')
    ? ['program', 'program', 'program', 'program', 'viewer', 'operator', 'keyless', 'role']
    : ['operator', 'operator', 'operator', 'keyless', 'role', 'program'];
  const credential = random.pick(senders.filter((one) => making.credentials.includes(one)));
  const isBodySent = operation.body !== undefined && (operation.isBodyRequired || random.chance(0.8));
  // A new record mostly gets a new id.
  const ownId = ownIdOf(operation);
  const knownInBody: Known = (name) => (name === ownId && !random.chance(0.1) ? undefined : known(name));
  const generated = isBodySent ? valueFor(operation.body as Schema, 'body', knownInBody) : undefined;
  const idSchema = making.atEdges ? operation.body?.properties?.[ownId ?? ''] : undefined;
  const body =
    ownId !== undefined && idSchema !== undefined && isObject(generated)
      ? { ...generated, [ownId]: valueFor(idSchema, ownId, () => undefined) }
      : generated;
  if (isBodySent && body === undefined) return undefined;
  const isEscaped = random.chance(0.5);
  const wire = random.below(2 ** 31);
  const page = random.chance(0.3) ? making.nextPage(operation.id) : undefined;
  const step = { operation: operation.id, credential, path, query, ...page, headers, body, isEscaped, wire };
  return withPrecondition(operation, withAddition(operation, step, making), making);
}

/** Returns the field with the id of the record that an operation creates. */
function ownIdOf({ responses }: Operation): string | undefined {
  return Object.keys(fieldsOf(responses.get(201)?.content?.['application/json']?.schema))[0];
}

/**
 * Returns requests that create a record with each id that the document allows but a URL could change. The id becomes
 * part of the `Location`. The requests omit everything optional and use an operator's key, so that the service has no
 * other reason to refuse them.
 */
export function stepsWithOddIds(operation: Operation, { random, known, isValid }: Making): readonly Step[] {
  const [{ body = {} }, ownId] = [operation, ownIdOf(operation) ?? ''];
  const [{ required = [] }, fields] = [body, fieldsOf(body)];
  const schema = fields[ownId];
  const isInLocation = operation.responses.get(201)?.headers?.Location !== undefined;
  if (schema === undefined || !isInLocation || operation.path.includes('{')) return [];
  const others = required.filter((name) => name !== ownId).map((name) => [name, fields[name] ?? {}] as const);
  return oddIds(schema)
    .filter((id) => isValid(schema, id))
    .map((id) => ({
      operation: operation.id,
      credential: 'operator',
      path: {},
      query: {},
      headers: takes(operation, 'Idempotency-Key') ? { 'Idempotency-Key': `k${random.digits(12)}` } : {},
      body: {
        ...Object.fromEntries(others.map(([name, one]) => [name, generateValue(one, name, random, known)])),
        [ownId]: id,
      },
      isEscaped: false,
      wire: random.below(2 ** 31),
    }));
}

/**
 * Adds a plausible but undocumented field or header to a change: a field that records have, or a header of other
 * operations.
 */
function withAddition(operation: Operation, step: Step, { random, known }: Making): Step {
  if (operation.method !== 'GET' && !takes(operation, 'If-Match') && random.chance(0.03))
    return { ...step, headers: { ...step.headers, 'If-Match': '"1"' }, added: { header: 'If-Match' } };
  if (operation.method !== 'PATCH' || !isObject(step.body) || !random.chance(0.25)) return step;
  const shown = fieldsOf(operation.responses.get(200)?.content?.['application/json']?.schema);
  const names = Object.keys(shown).filter((name) => !Object.hasOwn(operation.body?.properties ?? {}, name));
  if (names.length === 0) return step;
  const field = random.pick(names);
  const value = generateValue(shown[field] ?? {}, field, random, known);
  return { ...step, body: { ...step.body, [field]: value }, added: { field } };
}

/** Adds a current or an outdated ETag that the sequence has seen at this path. */
function withPrecondition(operation: Operation, step: Step, { random, known, resolve }: Making): Step {
  if (!takes(operation, 'If-Match') || !random.chance(0.6)) return step;
  const tag = known(`ETag of ${toPath(operation, resolve(step.path) as Record<string, unknown>)}`);
  return tag === undefined ? step : { ...step, headers: { ...step.headers, 'If-Match': tag } };
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Swaps the ends of each period that ends before it begins. A real client would not send such a period. */
export function withPeriods(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
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
