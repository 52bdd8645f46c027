import { connect, type Socket } from 'node:net';

// The load generator of the overload row, a separate process. It shares the machine with the service, so it reads as little
// of each response as possible. It reads a plan from standard input, and writes the outcome to standard output.

/** A load: as fast as responses arrive (closed loop), or at a constant rate (open loop). */
export type Plan = {
  readonly url: string;
  readonly card: string;
  /** The prefix of this run's keys. */
  readonly name: string;
  readonly connections: number;
  readonly seconds: number;
  /** Requests a second; 0 for a closed loop. */
  readonly rate: number;
};

/** The outcome of a plan. Requests are identified by their number. */
export type Outcome = {
  readonly seconds: number;
  /** Requests that were never sent, because no connection was free. */
  readonly unsent: number;
  readonly sent: number;
  /** Acknowledged transfers: number and id. */
  readonly made: readonly (readonly [number, string])[];
  /** Requests refused with a correct error record, which had no effect. */
  readonly refused: readonly number[];
  /** Requests without a response, because the connection broke. */
  readonly unanswered: readonly number[];
  /** The number of other responses, and the full text of the first. */
  readonly dishonest: number;
  readonly example: string | undefined;
  /** The times to accept or refuse a request, in milliseconds from sending it. */
  readonly acceptedMilliseconds: Spread;
  readonly refusedMilliseconds: Spread;
};

export type Spread = { readonly p50: number; readonly p99: number; readonly most: number };

/** The timeout of a request, in milliseconds. It is longer than the service's own deadline. */
const SILENCE = 20_000;

/** The number of connections to open at the same time. */
const AT_ONCE = 200;

const HONEST = ['"Code":"service_unavailable"', 'money-moved: no', 'retry-after: ', 'should-retry: true'];

class Caller {
  readonly #generator: Generator;
  #socket: Socket | undefined;
  #received = '';
  #number = -1;
  #sentAt = 0;

  constructor(generator: Generator) {
    this.#generator = generator;
  }

  send(number: number): void {
    this.#number = number;
    this.#sentAt = performance.now();
    this.#received = '';
    this.#socket ??= this.#open();
    this.#socket.write(this.#generator.compose(number), 'latin1');
  }

  /** Connects before the load begins, because accepting thousands of connections takes time. */
  connect(): Promise<void> {
    const socket = this.#open();
    this.#socket = socket;
    return new Promise((done) => socket.once('connect', done).once('close', done));
  }

  end(): void {
    this.#socket?.destroy();
  }

  /** Abandons a request that has waited too long. */
  look(now: number): void {
    if (this.#number !== -1 && now - this.#sentAt > SILENCE) this.#socket?.destroy();
  }

  #open(): Socket {
    const { hostname, port } = new URL(this.#generator.plan.url);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    socket.setEncoding('latin1');
    // Data on an old connection does not belong to the current request.
    const ifPresent = (act: () => void): void => {
      if (this.#socket === socket) act();
    };
    socket.on('data', (chunk: string) => ifPresent(() => this.#read(chunk)));
    socket.on('error', () => undefined);
    socket.on('close', () =>
      ifPresent(() => {
        this.#socket = undefined;
        if (this.#number !== -1) this.#tell(undefined);
      }),
    );
    return socket;
  }

  #read(chunk: string): void {
    this.#received += chunk;
    const headEnd = this.#received.indexOf('\r\n\r\n');
    // The service may send a response as it closes an idle connection.
    if (headEnd === -1 || this.#number === -1) return;
    const length = Number(/\r\ncontent-length: *([0-9]+)/i.exec(this.#received)?.[1]);
    if (this.#received.length < headEnd + 4 + length) return;
    if (/\r\nconnection: close/i.test(this.#received)) {
      this.#socket?.destroy();
      this.#socket = undefined;
    }
    this.#tell(this.#received);
  }

  #tell(response: string | undefined): void {
    const number = this.#number;
    this.#number = -1;
    this.#generator.hear(this, number, response, performance.now() - this.#sentAt);
  }
}

class Generator {
  readonly plan: Plan;
  readonly #head: string;
  readonly #free: Caller[];
  readonly #callers: readonly Caller[];
  readonly #finished = Promise.withResolvers<void>();
  readonly #made: [number, string][] = [];
  readonly #refused: number[] = [];
  readonly #unanswered: number[] = [];
  readonly #acceptedMilliseconds: number[] = [];
  readonly #refusedMilliseconds: number[] = [];
  #begun = 0;
  #dishonest = 0;
  #example: string | undefined;
  #sent = 0;
  #unsent = 0;
  #underWay = 0;

  constructor(plan: Plan) {
    this.plan = plan;
    this.#head = `POST /api/v0.1/core/transfer HTTP/1.1\r\nHost: ${new URL(plan.url).host}\r\n`;
    this.#callers = Array.from({ length: plan.connections }, () => new Caller(this));
    this.#free = [...this.#callers];
  }

  async run(): Promise<Outcome> {
    for (let at = 0; at < this.#callers.length; at += AT_ONCE) {
      await Promise.all(this.#callers.slice(at, at + AT_ONCE).map((caller) => caller.connect()));
    }
    this.#begun = performance.now();
    const watch = setInterval(() => {
      for (const caller of this.#callers) caller.look(performance.now());
    }, 1_000);
    if (this.plan.rate === 0) for (const caller of this.#free.splice(0)) this.#send(caller);
    else this.#arrive();
    await this.#finished.promise;
    clearInterval(watch);
    for (const caller of this.#callers) caller.end();
    return {
      seconds: (performance.now() - this.#begun) / 1000,
      unsent: this.#unsent,
      sent: this.#sent,
      made: this.#made,
      refused: this.#refused,
      unanswered: this.#unanswered,
      dishonest: this.#dishonest,
      example: this.#example,
      acceptedMilliseconds: spreadOf(this.#acceptedMilliseconds),
      refusedMilliseconds: spreadOf(this.#refusedMilliseconds),
    };
  }

  compose(number: number): string {
    const { name, card } = this.plan;
    const key = `${name}-${number}`;
    const body = `{"amount":1,"card_id":"${card}","metadata":{"key":"${key}"}}`;
    return `${this.#head}Idempotency-Key: ${key}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  }

  hear(caller: Caller, number: number, response: string | undefined, milliseconds: number): void {
    this.#underWay -= 1;
    const status = response?.slice(9, 12);
    if (response === undefined) this.#unanswered.push(number);
    else if (status === '201') {
      this.#made.push([number, /"transfer_id":"([^"]+)"/.exec(response)?.[1] ?? '']);
      this.#acceptedMilliseconds.push(milliseconds);
    } else if (status === '503' && isHonest(response)) {
      this.#refused.push(number);
      this.#refusedMilliseconds.push(milliseconds);
    } else {
      this.#dishonest += 1;
      this.#example ??= response;
    }
    if (this.plan.rate === 0) this.#send(caller);
    else this.#free.push(caller);
    if (this.#isOver && this.#underWay === 0) this.#finished.resolve();
  }

  get #isOver(): boolean {
    return performance.now() - this.#begun >= this.plan.seconds * 1000;
  }

  #send(caller: Caller): void {
    if (this.#isOver) return;
    this.#underWay += 1;
    caller.send(this.#sent++);
  }

  #arrive(): void {
    let arrived = 0;
    const tick = (): void => {
      const due = Math.floor(((performance.now() - this.#begun) * this.plan.rate) / 1000);
      for (; arrived < due && !this.#isOver; arrived += 1) {
        const caller = this.#free.shift();
        if (caller === undefined) this.#unsent += 1;
        else this.#send(caller);
      }
      if (!this.#isOver) setTimeout(tick, 1);
      else if (this.#underWay === 0) this.#finished.resolve();
    };
    tick();
  }
}

function isHonest(response: string): boolean {
  const [head = '', body = ''] = response.split('\r\n\r\n');
  const text = `${head.toLowerCase()}\r\n${body}`;
  return HONEST.every((part) => text.includes(part));
}

function spreadOf(times: readonly number[]): Spread {
  const sorted = [...times].sort((left, right) => left - right);
  const at = (share: number): number => Math.round(sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0);
  return { p50: at(0.5), p99: at(0.99), most: at(1) };
}

process.stdin.setEncoding('utf8');
let text = '';
for await (const chunk of process.stdin) text += String(chunk);
const outcome = await new Generator(JSON.parse(text) as Plan).run();
process.stdout.write(JSON.stringify(outcome), () => process.exit(0));
