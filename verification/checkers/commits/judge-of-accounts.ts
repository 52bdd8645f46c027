import { CURRENCY, nameOf, PROGRAMS } from '../../environments/memory/world.ts';
import { timeOf } from '../../environments/memory-store/meaning.ts';
import type { StoredRow } from '../../environments/memory-store/parameters.ts';
import type { Tables } from '../../environments/memory-store/transaction.ts';
import { fundingOf, suspenseOf } from '../../model/books.ts';
import type { SerialBooks } from '../../model/serial-books.ts';

/** The accounts of the serial books, by their names there. */
const BOOKED: ReadonlyMap<string, string> = new Map(
  PROGRAMS.flatMap(({ fundingId, cards }, index) => [
    [fundingOf(String(index), CURRENCY), fundingId] as const,
    ...cards.map(({ name, accountId }) => [name, accountId] as const),
  ]),
);

/** The serial books identify an account by its name, the rows by its id. */
const NAMES: ReadonlyMap<unknown, string> = new Map([...BOOKED].map(([name, id]) => [id, name]));

/** Compares committed rows with the serial books, and says every problem. */
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
    const sums = new Map<unknown, bigint>();
    for (const { program_id, balance } of this.tables.all('account')) {
      sums.set(program_id, (sums.get(program_id) ?? 0n) + (balance as bigint));
    }
    for (const [id, sum] of sums) if (sum !== 0n) this.say(`the balances of program ${id} add up to ${sum}`);
    for (const [name, row] of this.#stored()) {
      const book = this.books.books.sums(name);
      const isEqual = row?.balance === book.balance && row?.held === book.held && row?.incoming === book.incoming;
      if (isEqual) continue;
      const found = `${row?.balance}/${row?.held}/${row?.incoming}`;
      this.say(`${name} has ${found} instead of ${book.balance}/${book.held}/${book.incoming}`);
    }
    this.compareCounts();
  }

  /** Compares the stored counters of limits with the books. */
  compareCounts(): void {
    const stored = new Map<string, string>();
    for (const { account_id, direction, day_start, amount, count } of this.tables.all('limit_counter')) {
      stored.set(`${NAMES.get(account_id)} ${direction} ${dayOf(day_start)}`, `${amount} in ${count}`);
    }
    for (const name of BOOKED.keys()) {
      for (const [counted, { amount, count }] of this.books.books.sums(name).counted) {
        const key = `${name} ${counted}`;
        const found = stored.get(key) ?? '0 in 0';
        if (found !== `${amount} in ${count}`) this.say(`${key} counts ${found} instead of ${amount} in ${count}`);
        stored.delete(key);
      }
    }
    for (const [key, found] of stored) this.say(`${key} counts ${found}, but should count nothing`);
  }

  /** The accounts to compare, by their names in the books. */
  *#stored(): Generator<readonly [name: string, row: StoredRow | undefined]> {
    for (const [name, accountId] of BOOKED) yield [name, this.tables.newest('account', accountId)];
    for (const row of this.tables.all('account')) {
      if (row.kind !== 'suspense') continue;
      yield [suspenseOf(nameOf(row.program_id), CURRENCY), row];
    }
  }
}

/** The start of a day. Days are in UTC here. */
function dayOf(start: unknown): string {
  return new Date(timeOf(start)).toISOString().slice(0, 'YYYY-MM-DD'.length);
}
