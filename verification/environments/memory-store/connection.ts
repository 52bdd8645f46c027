import pg from 'pg';
import { LIMITS } from '../../../server/store/connection/session-settings.ts';
import type { SimulatedTime } from '../memory/simulated-time.ts';
import type { Meanings } from './meaning.ts';
import { databaseError, type Given, partsOf, type StoredRow } from './parameters.ts';
import { type Run, type Tables, Transaction, type Wait, type Written } from './transaction.ts';

/** Observes a server. */
export type Watcher = {
  /** Called after a commit, with the rows that the transaction wrote. */
  readonly onCommit: (written: Written) => void;
  /** Called when a statement is unknown, or failed in a way that PostgreSQL would not. */
  readonly onBug: (error: unknown) => void;
  /** Writes the trace of a schedule, if there is one. */
  readonly onStep: ((step: string) => void) | undefined;
};

type Query = string | { readonly name?: string; readonly text: string; readonly values?: readonly unknown[] };

type Message = {
  readonly name: string;
  readonly run: ((transaction: Transaction) => Run<readonly StoredRow[]>) | undefined;
  readonly sentAt: number;
  readonly resolve: (result: { readonly command: string; readonly rows: readonly StoredRow[] }) => void;
  readonly reject: (error: unknown) => void;
  answer: (() => void) | undefined;
};

class UnknownStatement extends Error {
  constructor(statement: string) {
    super(`the simulation does not know the statement ${statement}`);
  }
}

/** PostgreSQL in memory. Its sessions execute one message at a time, when the scheduler decides. */
export class Server {
  readonly tables: Tables;
  readonly time: SimulatedTime;
  readonly statements: Meanings;
  readonly watcher: Watcher;
  /** The sessions that have something to do, or an open transaction. */
  readonly connections = new Set<Connection>();

  constructor(tables: Tables, time: SimulatedTime, statements: Meanings, watcher: Watcher) {
    this.tables = tables;
    this.time = time;
    this.statements = statements;
    this.watcher = watcher;
  }
}

/** Both ends of a connection: messages sent by a process, their execution by the server, and the responses. */
export class Connection {
  readonly label: string;
  readonly #server: Server;
  readonly #onIdle: (connection: Connection) => void;
  /** Messages that were sent but not executed yet. */
  readonly #inbox: Message[] = [];
  /** Messages that were executed, but whose responses have not arrived yet. */
  readonly #outbox: Message[] = [];
  #transaction: Transaction | undefined;
  /** The transaction of a statement outside BEGIN and COMMIT. */
  #implicit: Transaction | undefined;
  #hasFailed = false;
  /** The statement that waits for a lock. */
  #waiting: { readonly message: Message; readonly steps: Run<readonly StoredRow[]>; readonly wait: Wait } | undefined;
  #lockTimer: ReturnType<SimulatedTime['after']> | undefined;
  #isWatched = false;
  /** Whether the client's end is closed. */
  isCut = false;
  /** The members that `sendTogether` and the listeners of PostgreSQL's notices use. */
  readonly connection = { stream: { cork: () => undefined, uncork: () => undefined } };
  readonly on = (): this => this;
  readonly off = (): this => this;

  constructor(server: Server, label: string, onIdle: (connection: Connection) => void) {
    this.#server = server;
    this.label = label;
    this.#onIdle = onIdle;
    server.connections.add(this);
  }

  /** Whether the server can execute a message, or end a session whose client is gone. */
  get canExecute(): boolean {
    if (this.#waiting !== undefined) return this.#isFree(this.#waiting.wait);
    return this.#inbox.length > 0 || (this.isCut && this.#transaction !== undefined);
  }

  get canAnswer(): boolean {
    return this.#outbox.length > 0;
  }

  /** Whether a client waits for a response. */
  get isBusy(): boolean {
    return this.#inbox.length > 0 || this.#outbox.length > 0 || this.#waiting !== undefined;
  }

  query(query: Query): Promise<{ readonly command: string; readonly rows: readonly StoredRow[] }> {
    if (this.isCut) return Promise.reject(new Error('Connection terminated unexpectedly'));
    const { name = '', text, values = [] } = typeof query === 'string' ? { text: query } : query;
    return new Promise((resolve, reject) => {
      const { now: sentAt } = this.#server.time;
      const { run, failure, shown } = prepare(this.#server.statements, name, text, values);
      const message: Message = { name: shown, run, sentAt, resolve, reject, answer: undefined };
      if (failure !== undefined) message.answer = () => reject(failure);
      this.#inbox.push(message);
      if (!this.#isWatched) this.#watch(LIMITS.response);
    });
  }

  release(destroy?: boolean | Error): void {
    if (destroy !== undefined && destroy !== false) this.cut(new Error('Connection terminated'), this.#inbox.length);
    else if (!this.isCut) this.#onIdle(this);
  }

  /**
   * Closes the connection for the client. All its open requests fail with an error. The server has received the first
   * few of the remaining messages, and still executes them, now or later.
   */
  cut(reason: Error | undefined, received: number): void {
    if (this.isCut) return;
    this.isCut = true;
    const lost = [...this.#outbox.splice(0), ...(this.#waiting === undefined ? [] : [this.#waiting.message])];
    lost.push(...this.#inbox);
    this.#inbox.length = Math.min(received, this.#inbox.length);
    // Requests of a dead process get no error.
    if (reason !== undefined) for (const { reject } of lost) reject(reason);
    if (this.#inbox.length === 0 && this.#transaction === undefined) this.#close();
  }

  /** How many messages the server has not executed. */
  get unexecuted(): number {
    return this.#inbox.length;
  }

  /** Executes the next message as far as possible. Ends the session after the last message of a client that is gone. */
  readonly execute = (): void => {
    if (this.#waiting !== undefined) {
      this.#goOn(this.#waiting.message, this.#waiting.steps);
      return;
    }
    const message = this.#inbox.shift();
    if (message === undefined) this.#close();
    else this.#begin(message);
  };

  #begin(message: Message): void {
    this.#server.watcher.onStep?.(`${this.label} executes ${message.name}`);
    const { run, answer } = message;
    if (answer !== undefined) this.#failed(message, answer);
    else if (run === undefined) this.#control(message);
    else if (this.#hasFailed) {
      const error = databaseError('25P02', 'current transaction is aborted');
      this.#failed(message, () => message.reject(error));
    } else {
      const transaction = this.#transaction ?? this.#newTransaction();
      transaction.beginStatement();
      this.#goOn(message, run(transaction), transaction);
    }
  }

  /** Delivers the responses. */
  readonly answer = (): void => {
    for (const message of this.#outbox.splice(0)) message.answer?.();
  };

  #goOn(message: Message, steps: Run<readonly StoredRow[]>, begun?: Transaction): void {
    const { time } = this.#server;
    const isImplicit = this.#transaction === undefined || this.#implicit === this.#transaction;
    if (begun !== undefined && this.#transaction === undefined) {
      this.#transaction = begun;
      this.#implicit = begun;
    }
    this.#waiting = undefined;
    try {
      const step = steps.next();
      if (step.done !== true) {
        this.#waiting = { message, steps, wait: step.value };
        this.#lockTimer ??= time.after(LIMITS.lock, () => this.#giveUpLock());
        return;
      }
      this.#stopWaiting();
      if (isImplicit) this.#end(true);
      this.#done(message, () => message.resolve({ command: 'SELECT', rows: step.value }));
    } catch (error) {
      this.#stopWaiting();
      if (!(error instanceof pg.DatabaseError)) this.#server.watcher.onBug(error);
      if (isImplicit) this.#end(false);
      this.#failed(message, () => message.reject(error));
    }
  }

  #giveUpLock(): void {
    const { message } = this.#waiting ?? {};
    if (message === undefined) return;
    this.#stopWaiting();
    this.#server.watcher.onStep?.(`${this.label} stops waiting for a lock in ${message.name}`);
    if (this.#implicit !== undefined) this.#end(false);
    const error = databaseError('55P03', 'canceling statement due to lock timeout');
    this.#failed(message, () => message.reject(error));
  }

  #stopWaiting(): void {
    this.#waiting = undefined;
    this.#server.time.cancel(this.#lockTimer);
    this.#lockTimer = undefined;
  }

  /** Executes BEGIN, COMMIT, ROLLBACK or SET. */
  #control(message: Message): void {
    const { name } = message;
    let command = 'SET';
    if (name.startsWith('begin')) {
      command = 'BEGIN';
      this.#transaction ??= this.#newTransaction();
    } else if (name === 'commit' || name === 'rollback') {
      const commits = name === 'commit' && !this.#hasFailed;
      command = commits ? 'COMMIT' : 'ROLLBACK';
      this.#end(commits);
    }
    this.#done(message, () => message.resolve({ command, rows: [] }));
  }

  #end(commits: boolean): void {
    const transaction = this.#transaction;
    this.#transaction = undefined;
    this.#implicit = undefined;
    this.#hasFailed = false;
    if (transaction === undefined) return;
    if (!commits) {
      transaction.rollBack();
      return;
    }
    const written = transaction.commit();
    if (written.size > 0) this.#server.watcher.onCommit(written);
  }

  #failed(message: Message, answer: () => void): void {
    if (this.#transaction !== undefined) this.#hasFailed = true;
    this.#done(message, answer);
  }

  #done(message: Message, answer: () => void): void {
    message.answer = answer;
    if (!this.isCut) this.#outbox.push(message);
  }

  #close(): void {
    this.#stopWaiting();
    this.#end(false);
    this.#server.connections.delete(this);
  }

  #isFree({ lock, mode }: Wait): boolean {
    return this.#transaction !== undefined && this.#server.tables.isFree(lock, mode, this.#transaction);
  }

  #newTransaction(): Transaction {
    return new Transaction(this.#server.tables, () => this.#server.time.clock);
  }

  /** Closes the connection to a server that does not answer, like `query_timeout` of `pg`. */
  #watch(milliseconds: number): void {
    this.#isWatched = true;
    this.#server.time.after(milliseconds, () => {
      this.#isWatched = false;
      const oldest = this.#outbox[0] ?? this.#waiting?.message ?? this.#inbox[0];
      if (oldest === undefined || this.isCut) return;
      const left = oldest.sentAt + LIMITS.response - this.#server.time.now;
      if (left > 0) return this.#watch(left);
      this.#server.watcher.onStep?.(`${this.label} gets no answer in time`);
      this.cut(new Error('Query read timeout'), this.#inbox.length);
    });
  }
}

const CONTROL = /^(?:begin|commit|rollback|set )/;

/** The effect of a message. An unreadable message fails when the server executes it. */
function prepare(
  statements: Meanings,
  name: string,
  text: string,
  values: readonly unknown[],
): { readonly shown: string; readonly run?: Message['run']; readonly failure?: unknown } {
  if (name === '' && CONTROL.test(text)) return { shown: text };
  const parts = partsOf(name, text);
  const shown = parts.map((part) => part.name).join(', ');
  let given: readonly Given[];
  try {
    given = parts.map((part) => part.read(values));
  } catch (error) {
    return { shown, failure: error };
  }
  return {
    shown,
    *run(transaction) {
      let rows: readonly StoredRow[] = [];
      for (const [index, one] of given.entries()) {
        const part = parts[index]?.name ?? '';
        const statement = statements[part];
        if (statement === undefined) throw new UnknownStatement(part || text);
        const found = statement(transaction, one);
        rows = 'next' in found ? yield* found : found;
      }
      return rows;
    },
  };
}

/** The part of `pg` that the service uses. */
export function asClient(connection: Connection): pg.PoolClient {
  return connection as unknown as pg.PoolClient;
}
