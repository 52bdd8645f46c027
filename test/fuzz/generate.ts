import { type Draft, type Expectation, encode, NEEDED_ID, type Need } from './draft.ts';
import { FAULTY_BODY } from './faulty-body.ts';
import { FAULTY_HEAD } from './faulty-head.ts';
import { type Change, HARMLESS } from './harmless.ts';
import { newDraft } from './kinds.ts';
import { PLANTS } from './plant.ts';
import { Random } from './random.ts';

/** One request as it is sent, and what is known of its response. */
export type Request = {
  readonly bytes: Buffer;
  readonly method: string;
  readonly operation: Draft['operation'];
  readonly expectation: Expectation;
  /** Names of all changes, in their order. */
  readonly changes: readonly string[];
  readonly faults: readonly string[];
  readonly planted: readonly string[];
  readonly closes: boolean;
  readonly amount: number | undefined;
  /** What must be made before it is sent, and stands in its path by its id. */
  readonly needs: Need | undefined;
};

/** Requests that follow each other on a connection that is kept, or bytes that were requests once, on one of their own. */
export type Batch =
  | { readonly kind: 'requests'; readonly requests: readonly Request[] }
  | {
      readonly kind: 'bytes';
      readonly bytes: Buffer;
      readonly count: number;
      readonly planted: readonly string[];
      readonly needs: readonly Need[];
    };

/** Which case is meant, and what is left out of it to find the smallest that still goes wrong. */
export type Recipe = {
  readonly seed: number;
  readonly batch: number;
  /** Keeps keys and references of a repetition from those of the first time. */
  readonly salt?: string;
  /** `<request>.<change>` for each change to be left out. */
  readonly without?: ReadonlySet<string>;
};

/** Streams of one request: what it is at first, and what is changed. */
const AT_FIRST = 1;
const PLAN = 2;
const FIRST_CHANGE = 10;

/** Of a hundred batches, those that are bytes gone wrong. */
const BYTES = 0.15;

/** The batch of a recipe: always the same. */
export function newBatchOf(recipe: Recipe): Batch {
  const random = new Random(recipe.seed, recipe.batch);
  if (random.chance(BYTES)) return newBytes(recipe, random);
  const count = 1 + random.below(8);
  const requests: Request[] = [];
  for (let at = 0; at < count; at += 1) {
    const request = newRequest(recipe, at);
    requests.push(request);
    // What comes behind a request that ends the connection is not answered.
    if (request.closes) break;
  }
  return { kind: 'requests', requests };
}

/** Puts the ids of what was made for some requests where they are needed, one after the other. */
export function withNeeded(bytes: Buffer, transferIds: readonly string[]): Buffer {
  const filled = Buffer.from(bytes);
  let from = 0;
  for (const transferId of transferIds) {
    const at = filled.indexOf(NEEDED_ID, from);
    if (at === -1) break;
    from = at + filled.write(transferId, at);
  }
  return filled;
}

/** A letter for each digit: a text with so many digits is taken for a card number now and then. */
function inLetters(text: string): string {
  return text.replace(/[0-9]/g, (digit) => 'abcdefghij'.charAt(Number(digit)));
}

/** One request of a batch. */
export function newRequest(recipe: Recipe, at: number): Request {
  const { seed, batch, salt = '', without = new Set() } = recipe;
  const unique = inLetters(`${salt}${seed}-${batch}-${at}`);
  const made = newDraft(new Random(seed, batch, at, AT_FIRST), unique);
  for (const [place, change] of planOf(new Random(seed, batch, at, PLAN)).entries()) {
    if (without.has(`${at}.${place}`)) continue;
    apply(made, change, new Random(seed, batch, at, FIRST_CHANGE + place));
  }
  const { method, operation, closes, amount, planted, needs } = made;
  return {
    bytes: encode(made),
    method,
    operation,
    closes,
    amount,
    needs,
    planted,
    changes: [...made.changes, ...made.faults],
    faults: made.faults,
    expectation: made.faults.length > 0 ? 'refusal' : planted.length > 0 ? 'either' : made.expectation,
  };
}

type Planned = { readonly change: Change; readonly isFault: boolean };

/** Harmless changes come first, so that none of them takes a fault back; two faults are one of the head, one of the body. */
function planOf(random: Random): readonly Planned[] {
  const harmless = Array.from({ length: random.below(4) }, () => random.pick(HARMLESS));
  const plants = random.chance(0.15) ? [random.pick(PLANTS)] : [];
  const faults: Change[] = [];
  if (random.chance(0.4)) faults.push(random.pick(FAULTY_BODY));
  if (random.chance(0.25)) faults.push(random.pick(FAULTY_HEAD));
  return [
    ...[...new Set(harmless), ...plants].map((change) => ({ change, isFault: false })),
    ...faults.map((change) => ({ change, isFault: true })),
  ];
}

function apply(made: Draft, { change, isFault }: Planned, random: Random): void {
  if (!change.apply(made, random)) return;
  (isFault ? made.faults : made.changes).push(change.name);
}

const PIECES = [
  '\r\n',
  '\r\n\r\n',
  '\n',
  ':',
  ' ',
  '\0',
  '%',
  '"',
  ',',
  '{',
  '}',
  '0',
  '9',
  'e',
  '\\',
  '\x7f',
  '\xff',
  'Host: a\r\n',
];

/** Requests in a row, then a few bytes of them gone wrong. */
function newBytes(recipe: Recipe, random: Random): Batch {
  const count = 1 + random.below(3);
  const requests = Array.from({ length: count }, (_, at) => newRequest({ ...recipe, without: EVERY_CHANGE }, at));
  const planted = requests.flatMap((request) => request.planted);
  let bytes: Buffer = Buffer.concat(requests.map((request) => request.bytes));
  const changes = 1 + random.below(4);
  for (let at = 0; at < changes; at += 1) {
    const own = new Random(recipe.seed, recipe.batch, at, FIRST_CHANGE);
    if (recipe.without?.has(`bytes.${at}`) === true) continue;
    bytes = damage(bytes, own);
  }
  const needs = requests.flatMap((request) => request.needs ?? []);
  return { kind: 'bytes', bytes, count, planted, needs };
}

/** Bytes begin as requests without any change: what is wrong with them is wrong with the bytes. */
const EVERY_CHANGE: ReadonlySet<string> = new Set(
  Array.from({ length: 3 }, (_, request) => Array.from({ length: 8 }, (_, change) => `${request}.${change}`)).flat(),
);

function damage(bytes: Buffer, random: Random): Buffer {
  const at = random.below(bytes.length + 1);
  const removed = random.pick([0, 0, 1, 1, 2, 8, 40]);
  const put = random.chance(0.5)
    ? Buffer.from(random.pick(PIECES), 'latin1')
    : Buffer.from(Array.from({ length: random.below(6) }, () => random.below(256)));
  return Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + removed)]);
}
