import { createHash } from 'node:crypto';
import { MAX_LINES_OF_MOVE_IN, StatedTotal as StatedTotalSchema } from '../../contract/move-ins.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/reading/json.ts';
import { type Problem, readFields } from '../../contract/reading/read-fields.ts';
import { type ReadLine, readMoveInLine } from '../../contract/reading/read-move-in-line.ts';
import { isCurrency, MAXIMUM_BALANCE } from '../../domain/ledger/money.ts';
import { LINE_REFUSALS, type MoveInTotals } from '../../domain/move-in.ts';
import { InvalidArgument, type CreateMoveInBody as SentMoveIn } from '../../sdk/client.ts';
import { ProblemList } from '../files/line-file.ts';

type CardLine = Extract<ReadLine, { readonly kind: 'card' }>;
type HoldLine = Extract<ReadLine, { readonly kind: 'hold' }>;
type TransferLine = Extract<ReadLine, { readonly kind: 'transfer' }>;

type Sum = { cards: number; balance: bigint; holds: number; held: bigint };

/** The currency of a card whose own line has a problem. Its holds are not compared with its balance. */
const UNKNOWN = '';

/** The cards of the lines so far. It needs 13 bytes for each card, and its {@link DigestTable}. */
class Cards {
  readonly #table = new DigestTable();
  readonly #currencies: string[] = [];
  #lines = new Uint32Array(1024);
  #available = new Float64Array(1024);
  #currencyOf = new Uint8Array(1024);

  /** Adds a card. Returns the line that already has it, or undefined. */
  add(cardId: string, line: number, currency: string, balance: number): number | undefined {
    const { index, isNew } = this.#table.add(cardId);
    if (!isNew) return this.#lines[index];
    this.#lines = withRoomFor(this.#lines, index);
    this.#available = withRoomFor(this.#available, index);
    this.#currencyOf = withRoomFor(this.#currencyOf, index);
    if (!this.#currencies.includes(currency)) this.#currencies.push(currency);
    this.#lines[index] = line;
    this.#available[index] = balance;
    this.#currencyOf[index] = this.#currencies.indexOf(currency);
    return undefined;
  }

  get(cardId: string): { readonly index: number; readonly currency: string; readonly available: number } | undefined {
    const index = this.#table.indexOf(cardId);
    if (index === undefined) return undefined;
    const currency = this.#currencies[this.#currencyOf[index] ?? 0] ?? UNKNOWN;
    return { index, currency, available: this.#available[index] ?? 0 };
  }

  hold(index: number, available: number): void {
    this.#available[index] = available;
  }
}

/** Checks the lines of a file one after the other, as the service would. It keeps a few bytes of each line. */
export class LineChecker {
  readonly found = new ProblemList();
  readonly stated: StatedTotal[] = [];
  lineCount = 0;
  readonly #now: number;
  readonly #currency: string | undefined;
  readonly #cards = new Cards();
  readonly #references = new DigestTable();
  readonly #keys = new DigestTable();
  #linesOfReferences = new Uint32Array(1024);
  readonly #sums = new Map<string, Sum>();

  /** `currency` is the currency of the card program, or undefined if every card must have its own. `now` is in milliseconds since 1970. */
  constructor(currency: string | undefined, now: number) {
    this.#currency = currency;
    this.#now = now;
  }

  /** Checks a line. `line` is its number in the file. */
  check(value: JsonValue, line: number): void {
    if (isTotal(value)) {
      const total = readTotal(value, this.stated);
      if ('problem' in total) this.#note(line, 'create_move_in_schema', total.problem);
      else this.stated.push(total);
      return;
    }
    this.lineCount += 1;
    if (this.lineCount === MAX_LINES_OF_MOVE_IN + 1) {
      const message = `The file has more than ${MAX_LINES_OF_MOVE_IN} lines. Split it.`;
      this.#note(line, 'create_move_in_schema', { field: '', message });
    }
    const reading = readMoveInLine(value, this.#now);
    if ('problem' in reading) {
      this.#note(line, reading.problem.code ?? 'add_move_in_lines_schema', reading.problem);
      this.#keepCardOf(value, line);
    } else if (reading.kind === 'card') this.#checkCard(reading, line);
    else if (reading.kind === 'hold') this.#checkHold(reading, line);
    else if (reading.kind === 'transfer') this.#checkTransfer(reading, line);
    else {
      const message = `Only 'move-in cut-over' makes lines with 'kind': '${reading.kind}'. State the balance of the card in its line.`;
      this.#note(line, 'add_move_in_lines_schema', { field: '/kind', message });
    }
  }

  /** The sums of the lines, by currency. */
  sums(): MoveInTotals {
    const sums = [...this.#sums].map(([currency, { balance, held, ...counts }]) => {
      return [currency, { ...counts, balance: String(balance), held: String(held) }] as const;
    });
    return Object.fromEntries(sums.sort(([left], [right]) => (left < right ? -1 : 1)));
  }

  #note(line: number, code: string, { field, message }: Problem): void {
    this.found.note({ line, field: field.slice(1).replaceAll('/', '.'), code, message });
  }

  /** Keeps the card of a line with a problem, so that its holds are not reported too. */
  #keepCardOf(value: JsonValue, line: number): void {
    if (!isJsonObject(value) || value.kind !== 'card' || typeof value.card_id !== 'string') return;
    this.#cards.add(value.card_id, line, UNKNOWN, 0);
  }

  #checkCard({ card_id: cardId, balance, ...rest }: CardLine, line: number): void {
    const { currency = this.#currency } = rest;
    if (currency === undefined) {
      throw new InvalidArgument(
        `the card of line ${line} has no currency: add --currency <code> or --program <program_id>`,
      );
    }
    const earlier = this.#cards.add(cardId, line, currency, balance);
    if (earlier !== undefined) {
      const message = `${LINE_REFUSALS.duplicate_card(cardId)} Line ${earlier} has it too.`;
      this.#note(line, 'duplicate_card', { field: '/card_id', message });
      return;
    }
    const sum = this.#sumOf(currency);
    const before = sum.balance;
    sum.cards += 1;
    sum.balance += BigInt(balance);
    if (before > MAXIMUM_BALANCE || sum.balance <= MAXIMUM_BALANCE) return;
    this.#note(line, 'limit_exceeded', { field: '/balance', message: LINE_REFUSALS.limit_exceeded(currency) });
  }

  #checkHold(hold: HoldLine, line: number): void {
    const { card_id: cardId, amount, reference } = hold;
    const card = this.#cards.get(cardId);
    if (card === undefined) {
      this.#note(line, 'card_not_found', { field: '/card_id', message: LINE_REFUSALS.card_not_found(cardId) });
      return;
    }
    const { index, currency, available } = card;
    if (currency !== UNKNOWN && amount > available) {
      const message = LINE_REFUSALS.insufficient_funds(cardId, currency, BigInt(available), BigInt(amount));
      this.#note(line, 'insufficient_funds', { field: '/amount', message });
      return;
    }
    const earlier = reference === undefined ? undefined : this.#lineOf(reference, line);
    if (earlier !== undefined) {
      const message = LINE_REFUSALS.duplicate_reference(reference ?? '', `line ${earlier}`);
      this.#note(line, 'duplicate_reference', { field: '/reference', message });
      return;
    }
    if (currency === UNKNOWN) return;
    this.#cards.hold(index, available - amount);
    const sum = this.#sumOf(currency);
    sum.holds += 1;
    sum.held += BigInt(amount);
  }

  #checkTransfer({ card_id: cardId, reference, idempotency_key: key }: TransferLine, line: number): void {
    if (this.#cards.get(cardId) === undefined) {
      this.#note(line, 'card_not_found', { field: '/card_id', message: LINE_REFUSALS.card_not_found(cardId) });
      return;
    }
    const earlier = reference === undefined ? undefined : this.#lineOf(reference, line);
    if (earlier !== undefined) {
      const message = LINE_REFUSALS.duplicate_reference(reference ?? '', `line ${earlier}`);
      this.#note(line, 'duplicate_reference', { field: '/reference', message });
    }
    if (key === undefined || this.#keys.add(key).isNew) return;
    const message = LINE_REFUSALS.key_taken(key, 'an earlier line');
    this.#note(line, 'add_move_in_lines_schema', { field: '/idempotency_key', message });
  }

  /** Keeps the line of a reference. Returns the line that already has it, or undefined. */
  #lineOf(reference: string, line: number): number | undefined {
    const { index, isNew } = this.#references.add(reference);
    if (!isNew) return this.#linesOfReferences[index];
    this.#linesOfReferences = withRoomFor(this.#linesOfReferences, index);
    this.#linesOfReferences[index] = line;
    return undefined;
  }

  #sumOf(currency: string): Sum {
    const known = this.#sums.get(currency);
    if (known !== undefined) return known;
    const sum = { cards: 0, balance: 0n, holds: 0, held: 0n };
    this.#sums.set(currency, sum);
    return sum;
  }
}

/** The sums of a currency, as a line of the file states them. */
export type StatedTotal = NonNullable<SentMoveIn['totals']>[number];

/** The fields of a line that states the sums of a currency, in addition to its kind. */
export const TOTAL_FIELDS: readonly string[] = Object.keys(StatedTotalSchema.properties);

/** Whether a line states the sums of a currency. */
export function isTotal(value: JsonValue): value is JsonObject {
  return isJsonObject(value) && value.kind === 'total';
}

/** Reads a line with the sums of a currency, or returns its problem. `before` has the sums of the earlier lines. */
function readTotal(
  { kind: _, ...sent }: JsonObject,
  before: readonly StatedTotal[],
): StatedTotal | { readonly problem: Problem } {
  const reading = readFields(StatedTotalSchema, sent, 'body');
  if ('problem' in reading) return reading;
  const { currency } = reading.fields;
  const problem = (message: string) => ({ problem: { field: '/currency', message } });
  if (!isCurrency(currency)) {
    return problem(`'currency' is '${currency}', which is not an ISO 4217 currency code, such as USD, EUR or JPY.`);
  }
  if (before.some((total) => total.currency === currency)) {
    return problem(`The file states the sums of ${currency} twice.`);
  }
  return reading.fields;
}

/** The stated sums by currency. */
export function byCurrency(totals: readonly (Omit<StatedTotal, 'balance' | 'held'> & Sums)[]): MoveInTotals {
  return Object.fromEntries(
    totals.map(({ currency, cards, balance, holds, held }) => [
      currency,
      { cards, balance: String(balance), holds, held: String(held) },
    ]),
  );
}

type Sums = { readonly balance: number | string; readonly held: number | string };

const WORDS_OF_DIGEST = 4;
const FREE = -1;

/**
 * A set of texts, numbered as they are added. A million texts need about 30 MB. The texts are not kept: as strings in a
 * Map they would need several times as much, and would keep the garbage collector busy.
 *
 * A text is recognized by the first 128 bits of its SHA-256. Two different texts count as the same one with a chance of about
 * n² / 2^129: below 10^-24 for ten million texts, the most that a move-in has. So the table never reports a wrong problem in practice.
 */
export class DigestTable {
  /** The digests, by their index. */
  #words = new Uint32Array(1024 * WORDS_OF_DIGEST);
  /** The index of a digest at each position, or FREE. The first word of a digest says where the search for it begins. */
  #positions = new Int32Array(2048).fill(FREE);
  #size = 0;

  /** Adds a text. Returns its index, from 0, and whether it is new. */
  add(text: string): { readonly index: number; readonly isNew: boolean } {
    const digest = digestOf(text);
    const position = this.#find(digest);
    const known = this.#positions[position] ?? FREE;
    if (known !== FREE) return { index: known, isNew: false };
    const index = this.#size;
    this.#words = withRoomFor(this.#words, (index + 1) * WORDS_OF_DIGEST - 1);
    this.#words.set(digest, index * WORDS_OF_DIGEST);
    this.#positions[position] = index;
    this.#size += 1;
    // Searches stay short while at most half of the positions are taken.
    if (this.#size * 2 > this.#positions.length) this.#spread();
    return { index, isNew: true };
  }

  /** Returns the index of a text, or undefined. */
  indexOf(text: string): number | undefined {
    const index = this.#positions[this.#find(digestOf(text))] ?? FREE;
    return index === FREE ? undefined : index;
  }

  /** Returns the position of a digest, or the free position where it belongs. */
  #find(digest: Uint32Array): number {
    const last = this.#positions.length - 1;
    for (let position = (digest[0] ?? 0) & last; ; position = (position + 1) & last) {
      const index = this.#positions[position] ?? FREE;
      if (index === FREE) return position;
      const start = index * WORDS_OF_DIGEST;
      if (digest.every((word, at) => this.#words[start + at] === word)) return position;
    }
  }

  /** Doubles the number of positions, a power of two. */
  #spread(): void {
    this.#positions = new Int32Array(this.#positions.length * 2).fill(FREE);
    for (let index = 0; index < this.#size; index += 1) {
      const start = index * WORDS_OF_DIGEST;
      this.#positions[this.#find(this.#words.subarray(start, start + WORDS_OF_DIGEST))] = index;
    }
  }
}

function digestOf(text: string): Uint32Array {
  const digest = createHash('sha256').update(text).digest();
  return Uint32Array.of(
    digest.readUInt32LE(0),
    digest.readUInt32LE(4),
    digest.readUInt32LE(8),
    digest.readUInt32LE(12),
  );
}

type Numbers = Uint8Array | Uint32Array | Float64Array;

/** Returns an array with room for an index: the same one, or a copy of twice its length. */
export function withRoomFor<Kind extends Numbers>(numbers: Kind, index: number): Kind {
  if (index < numbers.length) return numbers;
  const larger = new (numbers.constructor as new (length: number) => Kind)(Math.max(index + 1, numbers.length * 2));
  larger.set(numbers);
  return larger;
}
