import { databaseError, type StoredRow } from './parameters.ts';

/** The mode of a lock. Shared locks do not conflict with each other. */
export type LockMode = 'share' | 'exclusive';

/** The lock that a statement waits for. */
export type Wait = { readonly lock: string; readonly mode: LockMode };

/** The execution of a statement. It yields the locks that it waits for. */
export type Run<Result = void> = Generator<Wait, Result, void>;

type Version = { readonly commit: number; readonly row: StoredRow | undefined };

/** The rows that a transaction has written and not deleted, by table. */
export type Written = ReadonlyMap<string, readonly StoredRow[]>;

/** Tables with every committed version of every row, as READ COMMITTED needs them, and the locks. */
export class Tables {
  readonly #tables = new Map<string, Map<string, Version[]>>();
  readonly #locks = new Map<string, Map<Transaction, LockMode>>();
  /** How many transactions have committed. */
  commits = 0;

  table(name: string): Map<string, Version[]> {
    let table = this.#tables.get(name);
    if (table === undefined) {
      table = new Map();
      this.#tables.set(name, table);
    }
    return table;
  }

  /** The last committed version of a row. */
  newest(table: string, key: string): StoredRow | undefined {
    return this.table(table).get(key)?.at(-1)?.row;
  }

  /** The last committed versions of rows. */
  all(table: string): readonly StoredRow[] {
    const rows: StoredRow[] = [];
    for (const versions of this.table(table).values()) {
      const row = versions.at(-1)?.row;
      if (row !== undefined) rows.push(row);
    }
    return rows;
  }

  isFree(lock: string, mode: LockMode, by: Transaction): boolean {
    const holders = this.#locks.get(lock);
    if (holders === undefined) return true;
    for (const [holder, held] of holders) {
      if (holder !== by && (mode === 'exclusive' || held === 'exclusive')) return false;
    }
    return true;
  }

  take(lock: string, mode: LockMode, by: Transaction): boolean {
    if (!this.isFree(lock, mode, by)) return false;
    const holders = this.#locks.get(lock);
    if (holders === undefined) this.#locks.set(lock, new Map([[by, mode]]));
    else if (holders.get(by) !== 'exclusive') holders.set(by, mode);
    by.locks.add(lock);
    return true;
  }

  release(by: Transaction): void {
    for (const lock of by.locks) {
      const holders = this.#locks.get(lock);
      holders?.delete(by);
      if (holders?.size === 0) this.#locks.delete(lock);
    }
    by.locks.clear();
  }
}

/** A transaction: its own rows over the rows that others have committed. */
export class Transaction {
  readonly locks = new Set<string>();
  readonly #tables: Tables;
  readonly #own = new Map<string, Map<string, StoredRow | undefined>>();
  /** The snapshot of the running statement: it sees other transactions up to this number. */
  #snapshot = 0;
  /** The database's clock in milliseconds since 1970, with a fraction. */
  readonly clock: () => number;

  constructor(tables: Tables, clock: () => number) {
    this.#tables = tables;
    this.clock = clock;
    this.beginStatement();
  }

  beginStatement(): void {
    this.#snapshot = this.#tables.commits;
  }

  /** Takes a lock, or waits for it. */
  *lock(lock: string, mode: LockMode = 'exclusive'): Run {
    while (!this.#tables.take(lock, mode, this)) yield { lock, mode };
  }

  tryLock(lock: string, mode: LockMode = 'exclusive'): boolean {
    return this.#tables.take(lock, mode, this);
  }

  /** Locks a row and returns its last committed version. */
  *lockRow(table: string, key: string, mode: LockMode = 'exclusive'): Run<StoredRow | undefined> {
    yield* this.lock(`${table} ${key}`, mode);
    return this.newest(table, key);
  }

  /** A row in the statement's snapshot. */
  find(table: string, key: string): StoredRow | undefined {
    const own = this.#own.get(table);
    if (own?.has(key) === true) return own.get(key);
    return this.#atSnapshot(this.#tables.table(table).get(key));
  }

  /** The last committed version of a row. An update finds it after it has waited for the row. */
  newest(table: string, key: string): StoredRow | undefined {
    const own = this.#own.get(table);
    return own?.has(key) === true ? own.get(key) : this.#tables.newest(table, key);
  }

  /** Rows of the snapshot. */
  scan(table: string, isWanted: (row: StoredRow) => boolean): StoredRow[] {
    const found: StoredRow[] = [];
    const own = this.#own.get(table);
    for (const [key, versions] of this.#tables.table(table)) {
      if (own?.has(key) === true) continue;
      const row = this.#atSnapshot(versions);
      if (row !== undefined && isWanted(row)) found.push(row);
    }
    if (own !== undefined) {
      for (const row of own.values()) if (row !== undefined && isWanted(row)) found.push(row);
    }
    return found;
  }

  /** The last committed versions of rows: the content of a unique index. */
  scanNewest(table: string, isWanted: (row: StoredRow) => boolean): StoredRow[] {
    return [...this.#tables.table(table).keys(), ...(this.#own.get(table)?.keys() ?? [])].flatMap((key) => {
      const row = this.newest(table, key);
      return row !== undefined && isWanted(row) ? [row] : [];
    });
  }

  *insert(table: string, key: string, row: StoredRow): Run {
    yield* this.lock(`${table} ${key}`);
    if (this.newest(table, key) !== undefined) {
      throw databaseError('23505', `duplicate key value violates unique constraint "${table}_pkey"`);
    }
    this.#write(table, key, row);
  }

  /** Changes a row under its lock. Returns false if there is no row, or `change` returns undefined. */
  *update(table: string, key: string, change: (row: StoredRow) => StoredRow | undefined): Run<boolean> {
    if (this.find(table, key) === undefined) return false;
    const row = yield* this.lockRow(table, key);
    const changed = row === undefined ? undefined : change(row);
    if (changed === undefined) return false;
    this.#write(table, key, changed);
    return true;
  }

  /** Writes a row under its lock, like `on conflict do update`. The row may be newer than the snapshot. */
  *upsert(table: string, key: string, row: StoredRow): Run {
    yield* this.lock(`${table} ${key}`);
    this.#write(table, key, row);
  }

  /** Locks rows in this order. Returns the rows that still exist. */
  *lockRows(table: string, keys: readonly string[], mode?: Parameters<Transaction['lockRow']>[2]): Run<StoredRow[]> {
    const found: StoredRow[] = [];
    for (const key of keys) {
      const row = this.find(table, key) && (yield* this.lockRow(table, key, mode));
      if (row !== undefined) found.push(row);
    }
    return found;
  }

  /**
   * Returns the row with a unique key. Like a unique index of PostgreSQL, makes a second transaction wait for the
   * first.
   */
  *findUnique(table: string, key: string, isSame: (row: StoredRow) => boolean): Run<StoredRow | undefined> {
    yield* this.lock(`unique ${table} ${key}`);
    return this.scanNewest(table, isSame)[0];
  }

  *remove(table: string, key: string): Run {
    if (this.find(table, key) === undefined) return;
    yield* this.lockRow(table, key);
    this.#write(table, key, undefined);
  }

  /** Commits the transaction. Returns the rows that it has written, by table and in order. */
  commit(): Written {
    const commit = this.#tables.commits + 1;
    const written = new Map<string, readonly StoredRow[]>();
    for (const [table, own] of this.#own) {
      const rows = this.#tables.table(table);
      const there: StoredRow[] = [];
      for (const [key, row] of own) {
        const versions = rows.get(key);
        if (versions === undefined) rows.set(key, [{ commit, row }]);
        else versions.push({ commit, row });
        if (row !== undefined) there.push(row);
      }
      written.set(table, there);
    }
    this.#tables.commits = commit;
    this.#tables.release(this);
    return written;
  }

  rollBack(): void {
    this.#tables.release(this);
  }

  #write(table: string, key: string, row: StoredRow | undefined): void {
    const own = this.#own.get(table);
    if (own === undefined) this.#own.set(table, new Map([[key, row]]));
    else own.set(key, row);
  }

  #atSnapshot(versions: readonly Version[] | undefined): StoredRow | undefined {
    if (versions === undefined) return undefined;
    for (let index = versions.length - 1; index >= 0; index -= 1) {
      const version = versions[index] as Version;
      if (version.commit <= this.#snapshot) return version.row;
    }
    return undefined;
  }
}
