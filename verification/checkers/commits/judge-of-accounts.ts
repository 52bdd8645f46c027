import { nameOf } from '../../environments/memory/world.ts';
import { timeOf } from '../../environments/memory-store/meaning.ts';
import type { StoredRow } from '../../environments/memory-store/parameters.ts';
import type { Tables } from '../../environments/memory-store/transaction.ts';
import { dayIn } from '../../model/calendar.ts';
import type { SerialBooks } from '../../model/serial-books.ts';

/** Compares committed rows with the serial books, and reports every difference. */
export class JudgeOfRows {
  protected readonly tables: Tables;
  protected readonly books: SerialBooks;
  protected readonly say: (problem: string) => void;

  constructor(tables: Tables, books: SerialBooks, say: (problem: string) => void) {
    this.tables = tables;
    this.books = books;
    this.say = say;
  }
}

/** Compares accounts and the counters of limits with the serial books. */
export class JudgeOfAccounts extends JudgeOfRows {
  /** Compares all accounts and counters with the books. */
  compare(): void {
    const sums = new Map<string, bigint>();
    for (const row of this.tables.all('account')) {
      const { program_id, currency, balance, held, incoming, sequence } = row;
      const whole = `${program_id} in ${currency}`;
      sums.set(whole, (sums.get(whole) ?? 0n) + (balance as bigint));
      const name = this.#nameOf(row);
      const book = this.books.books.sums(name);
      const found = [balance, held, incoming, sequence].join('/');
      const expected = [book.balance, book.held, book.incoming, book.lines].join('/');
      if (found !== expected) this.say(`${name} has ${found} instead of ${expected}`);
    }
    for (const [whole, sum] of sums) if (sum !== 0n) this.say(`the balances of program ${whole} add up to ${sum}`);
    this.compareCounts();
  }

  /** The name of an account in the books. */
  #nameOf({ kind, owner_id, program_id, currency }: StoredRow): string {
    if (kind === 'card' || kind === 'clearing') return String(this.tables.newest('card', String(owner_id))?.name);
    return `${kind} ${nameOf(program_id)} ${currency}`;
  }

  /**
   * Compares the stored counters of limits with the books. Each counter belongs to a local day, and starts when that day starts.
   */
  compareCounts(): void {
    const stored = new Map<string, Map<string, string>>();
    for (const { account_id, direction, day_start, amount, count } of this.tables.all('limit_counter')) {
      const row = this.tables.newest('account', String(account_id)) as StoredRow;
      const { zone } = this.books.books.program(nameOf(row.program_id));
      const [start, name] = [timeOf(day_start), this.#nameOf(row)];
      const day = dayIn(zone, start);
      if (dayIn(zone, start - 1) === day) this.say(`a day of ${name} begins late, at ${new Date(start).toISOString()}`);
      const own = stored.get(name) ?? new Map<string, string>();
      stored.set(name, own.set(`${direction} ${day}`, `${amount} in ${count}`));
    }
    for (const row of this.tables.all('account')) {
      const name = this.#nameOf(row);
      const counted = new Map(
        [...this.books.books.sums(name).counted].map(([key, used]) => [key, `${used.amount} in ${used.count}`]),
      );
      const found = stored.get(name) ?? new Map<string, string>();
      for (const key of new Set([...counted.keys(), ...found.keys()])) {
        const [is, expected] = [found.get(key) ?? NONE, counted.get(key) ?? NONE];
        if (is !== expected) this.say(`${name} ${key} counts ${is} instead of ${expected}`);
      }
    }
  }
}

const NONE = '0 in 0';
