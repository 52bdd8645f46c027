import type { Recorded } from './record.ts';

/** Differences of one kind, in the same part of the responses to one operation. */
export type Difference = { readonly kind: string; readonly count: number; readonly example: string };

/** Lists the differences between two recordings of the same requests, the most frequent first. */
export function compareRecordings(one: readonly Recorded[], other: readonly Recorded[]): readonly Difference[] {
  const found = new Map<string, { count: number; example: string }>();
  const same = new Pairs();
  const others = new Map(other.map((recorded) => [recorded.name, recorded]));
  const add = (recorded: Recorded, kind: string, before: unknown, after: unknown): void => {
    const key = `${recorded.operation}: ${kind}`;
    const example = `${recorded.name}: ${short(before)} -> ${short(after)}`;
    found.set(key, { count: (found.get(key)?.count ?? 0) + 1, example: found.get(key)?.example ?? example });
  };
  for (const before of one) {
    const after = others.get(before.name);
    others.delete(before.name);
    if (after === undefined) add(before, 'no response', before.status, undefined);
    else for (const [kind, left, right] of differencesOf(before, after, same)) add(before, kind, left, right);
  }
  for (const after of others.values()) add(after, 'an extra response', undefined, after.status);
  return [...found].map(([kind, rest]) => ({ kind, ...rest })).sort((left, right) => right.count - left.count);
}

type Found = readonly [kind: string, before: unknown, after: unknown];

/**
 * Maps the placeholders of the two recordings to each other. If one version shows one more id than the other, all later
 * placeholders have different numbers but mean the same.
 */
class Pairs {
  readonly #forth = new Map<string, string>();
  readonly #back = new Map<string, string>();

  are(one: string, other: string): boolean {
    const [left, right] = [one.match(PLACEHOLDER) ?? [], other.match(PLACEHOLDER) ?? []];
    if (one.replace(PLACEHOLDER, '') !== other.replace(PLACEHOLDER, '') || left.length !== right.length) return false;
    return left.every((name, at) => this.#isPair(name, right[at] ?? ''));
  }

  #isPair(one: string, other: string): boolean {
    if (kindOf(one) !== kindOf(other)) return false;
    const [forth, back] = [this.#forth.get(one), this.#back.get(other)];
    if (forth !== undefined || back !== undefined) return forth === other && back === one;
    this.#forth.set(one, other);
    this.#back.set(other, one);
    return true;
  }
}

const PLACEHOLDER = /<[a-z]+ \d+>/g;
const kindOf = (placeholder: string): string => placeholder.split(' ')[0] ?? '';

/** Compares headers first, because the request id in them may also be in the body. */
function* differencesOf(before: Recorded, after: Recorded, same: Pairs): Generator<Found> {
  if (before.status !== after.status) yield [`status ${before.status} -> ${after.status}`, before.body, after.body];
  const [left, right] = [new Map(before.headers), new Map(after.headers)];
  for (const name of new Set([...left.keys(), ...right.keys()])) {
    const [one, other] = [left.get(name), right.get(name)];
    if (one === undefined || other === undefined)
      yield [`header ${name} is ${one === undefined ? 'new' : 'gone'}`, one, other];
    else if (!same.are(one, other)) yield [`header ${name}`, one, other];
  }
  const common = [...left.keys()].filter((name) => right.has(name)).join();
  const order = [...right.keys()].filter((name) => left.has(name)).join();
  if (common !== order) yield ['order of the headers', common, order];
  if (before.status === after.status) yield* differencesIn(read(before.body), read(after.body), 'body', same);
}

function* differencesIn(before: unknown, after: unknown, path: string, same: Pairs): Generator<Found> {
  if (Array.isArray(before) && Array.isArray(after)) {
    if (before.length !== after.length) yield [`${path}[]: length`, before.length, after.length];
    else for (const [at, value] of before.entries()) yield* differencesIn(value, after[at], `${path}[]`, same);
  } else if (isObject(before) && isObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    for (const name of names) {
      const [has, had] = [Object.hasOwn(after, name), Object.hasOwn(before, name)];
      if (has && had) yield* differencesIn(before[name], after[name], `${path}.${name}`, same);
      else yield [`${path}.${name} is ${has ? 'new' : 'gone'}`, before[name], after[name]];
    }
    const [order, other] = [inBoth(before, after), inBoth(after, before)];
    if (order !== other) yield [`${path}: order of the fields`, order, other];
  } else if (typeof before === 'string' && typeof after === 'string') {
    if (!same.are(before, after)) yield [path, before, after];
  } else if (JSON.stringify(before) !== JSON.stringify(after)) yield [path, before, after];
}

const inBoth = (one: object, other: object): string =>
  Object.keys(one)
    .filter((name) => Object.hasOwn(other, name))
    .join();

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function read(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

function short(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}
