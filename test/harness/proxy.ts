import { mkdtemp, rename, rm } from 'node:fs/promises';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** A fault of the proxy at the next COMMIT. */
export type CommitFault =
  /** Cuts the connection before the server receives the COMMIT. */
  | 'cut_before'
  /** Cuts the connection after the server has committed, before passing on any of its response. */
  | 'cut_after'
  /**
   * Reports an ordinary error to the service after the server has committed, like a pooler that has lost its server.
   */
  | 'deny_after'
  /** Passes the COMMIT on and cuts the service's side immediately. The server may continue without a client. */
  | 'orphan'
  /**
   * Cuts the connection of a chained group between the group's early and late parts. For other groups, it does the same
   * as `cut_before`.
   */
  | 'cut_early';

/** The point in a transaction at which a trap is set. */
export type TrapPlace =
  /** BEGIN and the load have arrived from the service and have not been passed on. */
  | 'before_load'
  /** BEGIN and the load have reached the server. Its response is held back. */
  | 'during_load'
  /** The early part of a chained group has arrived from the service and has not been passed on. */
  | 'before_early'
  /** The writes and COMMIT have arrived from the service and have not been passed on. */
  | 'before_save'
  /** The server has executed the writes. COMMIT has not been passed on. */
  | 'before_commit'
  /** The server has committed. Its response is held back. */
  | 'after_commit';

/** The effect of a sprung trap on the connection and on the held-back data. */
export type TrapOutcome =
  | 'continue'
  /** Both sides are cut, and the held-back data never arrives. */
  | 'cut'
  /** The service's side is cut. The server still gets the held-back data. */
  | 'orphan'
  /** The server still gets the held-back data, but nothing is returned, and both connections stay open. */
  | 'swallow'
  /** The service gets an ordinary error instead of the response to COMMIT, as from a pooler that has lost its server. */
  | 'deny';

/** An action that a test performs in the middle of a transaction. */
export type Trap = { readonly at: TrapPlace; readonly spring: () => TrapOutcome | Promise<TrapOutcome> };

/** A proxy between the service and PostgreSQL that causes network faults. */
export type DatabaseProxy = {
  /** The directory of the proxy's Unix socket, for use as `host`. */
  readonly host: string;
  /** Faults for the next COMMITs, in order. Each is removed when it happens. */
  readonly faults: CommitFault[];
  /** Traps for the next transactions. The first one springs and is removed when its place is reached. */
  readonly traps: Trap[];
  /** Returns the number of open transactions. If the service is doing nothing else, these are the groups in flight. */
  readonly open: () => number;
  /** Starts to count how often the service sends the prepared statement with this name. */
  readonly watch: (statement: string) => () => number;
  /**
   * Returns the number of round trips on all connections, that is, how often a client sent data after the server did.
   * The first round trip of a connection applies its settings. It does not count, because the machine's speed
   * determines when connections open.
   */
  readonly turns: () => number;
  readonly cutAll: () => void;
  /** Starts or stops accepting new connections. Open connections stay open. */
  readonly listen: (isListening: boolean) => Promise<void>;
  /** Stops or resumes passing data on. Connections are accepted either way. */
  readonly mute: (isMute: boolean) => void;
  /** Delays all data by this many milliseconds. */
  readonly delayBy: (milliseconds: number) => void;
  /** Sends all data byte by byte, or in whole chunks again. */
  readonly slice: (isSliced: boolean) => void;
  readonly close: () => Promise<void>;
};

const SOCKET = '.s.PGSQL.5432';

/** The simple queries `begin` (with the settings of the transaction) and `commit`, as the service sends them. */
const BEGIN = /Q\0\0[\s\S]{2}begin( read write)?(; set local [^\0]*)?\0/;
const COMMIT = Buffer.from('Q\0\0\0\x0bcommit\0', 'latin1');

/** The prepared statement that begins the writes of every transaction. */
const FENCE = Buffer.from('fence_batch\0', 'latin1');

/** Statements of background loops, which can run at any time. Their transactions get no faults and no traps. */
const OF_LOOPS = ['hold_relay', 'force_a_file', 'lock_due_errors'].map((name) => Buffer.from(`${name}\0`, 'latin1'));

/** The start of a write without a fence. Such writes also run at any time. */
const UNGUARDED = Buffer.from('begin read write', 'latin1');

/** The server's responses to COMMIT and to ROLLBACK. */
const COMMITTED = Buffer.from('COMMIT\0', 'latin1');
const ROLLED_BACK = Buffer.from('ROLLBACK\0', 'latin1');

/** The number of bytes before the command's name in a CommandComplete message: a type and a length. */
const BEFORE_COMMAND = 5;

const DENIAL = 'SERROR\0VERROR\0C08006\0Mthe server has closed the connection\0\0';

/** An error that does not close the connection, followed by ReadyForQuery. */
const DENIED = Buffer.concat([
  Buffer.from('E', 'latin1'),
  Buffer.from(Uint32Array.of(DENIAL.length + 4).buffer).swap32(),
  Buffer.from(`${DENIAL}Z\0\0\0\x05I`, 'latin1'),
]);

/** The shared state of a proxy's connections. */
type Setting = {
  readonly faults: CommitFault[];
  readonly traps: Trap[];
  /** Wires in the middle of a transaction. */
  readonly open: Set<Wire>;
  /** The number of times that each watched statement was sent. */
  readonly watched: Map<string, number>;
  turns: number;
  isMute: boolean;
  milliseconds: number;
  isSliced: boolean;
};

/** One connection. It handles data from either side in order, so a trap also holds back the data that follows. */
class Wire {
  readonly #setting: Setting;
  readonly #client: Socket;
  readonly #server: Socket;
  #toServer: Promise<void> = Promise.resolve();
  #toClient: Promise<void> = Promise.resolve();
  #fault: CommitFault | undefined;
  #serverSpoke = false;
  #hasSettings = false;
  #isOrphan = false;
  #isSwallowed = false;
  #isOfLoop = false;
  #serverAnswered: () => void = () => undefined;

  constructor(setting: Setting, client: Socket, server: Socket) {
    this.#setting = setting;
    this.#client = client;
    this.#server = server;
    client.on('data', (chunk: Buffer) => {
      this.#toServer = this.#toServer.then(() => this.#hinder()).then(() => this.#fromClient(chunk));
    });
    server.on('data', (chunk: Buffer) => {
      this.#serverAnswered();
      this.#toClient = this.#toClient.then(() => this.#hinder()).then(() => this.#fromServer(chunk));
    });
    for (const socket of [client, server]) {
      socket.on('error', () => undefined);
      socket.on('close', () => {
        if (!this.#isOrphan) this.cut();
      });
    }
  }

  cut(): void {
    this.#setting.open.delete(this);
    this.#client.destroy();
    this.#server.destroy();
  }

  async #fromClient(chunk: Buffer): Promise<void> {
    const { faults } = this.#setting;
    if (this.#serverSpoke && this.#hasSettings) this.#setting.turns += 1;
    this.#hasSettings ||= this.#serverSpoke;
    for (const [statement, times] of this.#setting.watched) {
      if (chunk.includes(`${statement}\0`)) this.#setting.watched.set(statement, times + 1);
    }
    this.#serverSpoke = false;
    if (this.#setting.isMute) return;
    const begins = BEGIN.test(chunk.toString('latin1'));
    const isUnguarded = chunk.includes(UNGUARDED) && !chunk.includes(FENCE);
    const isOfLoop = isUnguarded || OF_LOOPS.some((name) => chunk.includes(name));
    if (begins || isOfLoop) this.#isOfLoop = isOfLoop;
    if (this.#isOfLoop) return this.#pass(this.#server, chunk);
    const at = chunk.indexOf(COMMIT);
    // A single write with its fence begins and commits in one packet.
    if (begins && (at === -1 || !chunk.includes(FENCE))) return this.#load(chunk);
    if (at === -1) return chunk.includes(FENCE) ? this.#early(chunk) : this.#pass(this.#server, chunk);
    this.#fault = faults.shift();
    if (this.#fault === 'cut_before' || this.#fault === 'cut_early') {
      // Earlier statements still arrive, as they would on a network.
      this.#isOrphan = true;
      this.#server.end(chunk.subarray(0, at));
      this.#client.destroy();
      return;
    }
    await this.#save(chunk, at);
    if (this.#fault === 'orphan') this.#abandon();
  }

  async #early(chunk: Buffer): Promise<void> {
    if (!(await this.#passes('before_early', () => this.#server.write(chunk)))) return;
    if (this.#setting.faults[0] !== 'cut_early') return this.#pass(this.#server, chunk);
    this.#setting.faults.shift();
    this.#isOrphan = true;
    this.#server.end(chunk);
    this.#client.destroy();
  }

  async #load(chunk: Buffer): Promise<void> {
    this.#setting.open.add(this);
    if (!(await this.#passes('before_load', () => this.#server.write(chunk)))) return;
    const trap = this.#take('during_load');
    if (trap === undefined) return this.#pass(this.#server, chunk);
    // Nothing is returned before the trap has sprung.
    const sprung = Promise.withResolvers<void>();
    this.#toClient = this.#toClient.then(() => sprung.promise);
    this.#server.write(chunk);
    this.#obey(await trap.spring(), () => undefined);
    sprung.resolve();
  }

  async #save(chunk: Buffer, commitAt: number): Promise<void> {
    if (!(await this.#passes('before_save', () => this.#server.write(chunk)))) return;
    const [next] = this.#setting.traps;
    if (next?.at !== 'before_commit') return this.#pass(this.#server, chunk);
    const answered = new Promise<void>((resolve) => {
      this.#serverAnswered = resolve;
    });
    this.#server.write(chunk.subarray(0, commitAt));
    await answered;
    // The rest of the server's response follows immediately.
    await delay(20);
    const rest = chunk.subarray(commitAt);
    if (await this.#passes('before_commit', () => this.#server.write(rest))) this.#server.write(rest);
  }

  async #fromServer(chunk: Buffer): Promise<void> {
    this.#serverSpoke = true;
    if (this.#isSwallowed || this.#setting.isMute) return;
    const committedAt = chunk.indexOf(COMMITTED);
    const isCommitted = committedAt !== -1;
    const isEnd = isCommitted || chunk.includes(ROLLED_BACK);
    const wasOpen = isEnd && this.#setting.open.delete(this);
    const before = chunk.subarray(0, Math.max(0, committedAt - BEFORE_COMMAND));
    if (this.#fault !== undefined) {
      if (isCommitted) this.#obey(this.#fault === 'deny_after' ? 'deny' : 'cut', () => undefined, before);
      return;
    }
    if (isCommitted && wasOpen && !(await this.#passes('after_commit', () => undefined, before))) return;
    return this.#pass(this.#client, chunk);
  }

  /**
   * Passes data on, either whole or byte by byte. A turn of the event loop between the bytes ensures that they are sent
   * separately.
   */
  async #pass(to: Socket, chunk: Buffer): Promise<void> {
    if (!this.#setting.isSliced) {
      to.write(chunk);
      return;
    }
    for (const byte of chunk) {
      to.write(Buffer.of(byte));
      await new Promise((turn) => setImmediate(turn));
    }
  }

  async #hinder(): Promise<void> {
    const { milliseconds } = this.#setting;
    if (milliseconds > 0) await delay(milliseconds);
  }

  /**
   * Springs the next trap if it is set for this place. Returns false if the caller must not pass the data on. `before`
   * is the data that arrives before a denial.
   */
  async #passes(place: TrapPlace, deliver: () => void, before?: Buffer): Promise<boolean> {
    const outcome = await this.#take(place)?.spring();
    if (outcome === undefined || outcome === 'continue') return true;
    this.#obey(outcome, deliver, before);
    return false;
  }

  #take(place: TrapPlace): Trap | undefined {
    return this.#setting.traps[0]?.at === place ? this.#setting.traps.shift() : undefined;
  }

  #obey(outcome: TrapOutcome, deliver: () => void, before: Buffer = Buffer.alloc(0)): void {
    if (outcome === 'cut') this.cut();
    if (outcome === 'deny') this.#client.write(Buffer.concat([before, DENIED]));
    if (outcome === 'deny' || outcome === 'swallow') this.#isSwallowed = true;
    if (outcome === 'orphan' || outcome === 'swallow') deliver();
    if (outcome === 'orphan') {
      this.#abandon();
      this.#server.end();
    }
  }

  #abandon(): void {
    this.#isOrphan = true;
    this.#client.destroy();
  }
}

/** Starts a proxy in front of the server whose Unix socket is in `target`. */
export async function startProxy(target: string): Promise<DatabaseProxy> {
  const host = await mkdtemp('/tmp/proxy-');
  const setting: Setting = {
    faults: [],
    traps: [],
    open: new Set(),
    watched: new Map(),
    turns: 0,
    isMute: false,
    milliseconds: 0,
    isSliced: false,
  };
  const wires = new Set<Wire>();
  const server: Server = createServer((client) => {
    const upstream = createConnection(join(target, SOCKET));
    const wire = new Wire(setting, client, upstream);
    wires.add(wire);
    upstream.once('close', () => {
      wires.delete(wire);
      setting.open.delete(wire);
    });
  });
  const [here, away] = [join(host, SOCKET), join(host, 'away')];
  await new Promise<void>((resolve) => server.listen(here, resolve));
  const cutAll = (): void => {
    for (const wire of wires) wire.cut();
  };
  return {
    host,
    faults: setting.faults,
    traps: setting.traps,
    open: () => setting.open.size,
    watch: (statement) => {
      setting.watched.set(statement, 0);
      return () => setting.watched.get(statement) ?? 0;
    },
    turns: () => setting.turns,
    cutAll,
    listen: (isListening) => (isListening ? rename(away, here) : rename(here, away)),
    mute: (isMute) => {
      setting.isMute = isMute;
    },
    delayBy: (milliseconds) => {
      setting.milliseconds = milliseconds;
    },
    slice: (isSliced) => {
      setting.isSliced = isSliced;
    },
    close: async () => {
      cutAll();
      await new Promise((resolve) => server.close(resolve));
      await rm(host, { recursive: true, force: true });
    },
  };
}
