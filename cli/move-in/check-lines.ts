import { MAX_LINES_OF_MOVE_IN } from '../../contract/move-ins.ts';
import { isJsonObject, type JsonValue } from '../../contract/reading/json.ts';
import type { Problem } from '../../contract/reading/read-fields.ts';
import { type ReadLine, readMoveInLine } from '../../contract/reading/read-move-in-line.ts';
import { MAXIMUM_BALANCE } from '../../domain/ledger/money.ts';
import { LINE_REFUSALS, type MoveInTotals } from '../../domain/move-in.ts';
import { InvalidArgument } from '../../sdk/client.ts';
import { ProblemList } from '../files/line-file.ts';
import { DigestTable, withRoomFor } from './digest-table.ts';
import { isTotal, readTotal, type StatedTotal } from './totals.ts';

type CardLine = Extract<ReadLine, { readonly kind: 'card' }>;
type HoldLine = Extract<ReadLine, { readonly kind: 'hold' }>;

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
    else this.#checkHold(reading, line);
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
      const message = LINE_REFUSALS.duplicate_reference(reference ?? '', `the hold of line ${earlier}`);
      this.#note(line, 'duplicate_reference', { field: '/reference', message });
      return;
    }
    if (currency === UNKNOWN) return;
    this.#cards.hold(index, available - amount);
    const sum = this.#sumOf(currency);
    sum.holds += 1;
    sum.held += BigInt(amount);
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
