import { randomFillSync } from 'node:crypto';
import { Connection } from './connection.ts';
import { AMOUNT, cardName, type LoadResult, type Traffic } from './traffic.ts';

// The bench's own load generator, a process of its own. It reads a GeneratorPlan from standard input and writes what it
// counted to standard output. Closed loop, or open loop with a constant rate of arrival, which wrk does not have.

/** A request of a list: method, path, and what a replay needs beside it. */
export type ListedRequest = {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly idempotencyKey?: string;
  readonly body?: string;
};

/** What the generator is to do. */
export type GeneratorPlan = Traffic & {
  readonly connections: number;
  /** Ends after this time, or after `count` requests, whichever is given. */
  readonly seconds?: number;
  readonly count?: number;
  readonly send:
    | { readonly kind: 'transfers' }
    | { readonly kind: 'batches'; readonly rows: number }
    | { readonly kind: 'listed'; readonly requests: readonly ListedRequest[] };
} & ({ readonly mode: 'closed' } | { readonly mode: 'open'; readonly rate: number });

type Request = { readonly bytes: string; readonly worth: number };

const randomBytes = Buffer.alloc(65_536);
let randomAt = randomBytes.length;

/** 32 hex digits, as the SDK makes its keys. Bytes are drawn in bulk: one call a key would cost more than the sending. */
function newKey(): string {
  if (randomAt + 16 > randomBytes.length) {
    randomFillSync(randomBytes);
    randomAt = 0;
  }
  randomAt += 16;
  return randomBytes.toString('hex', randomAt - 16, randomAt);
}

function pick(most: number): number {
  return Math.floor(Math.random() * most);
}

function compose(plan: GeneratorPlan): () => Request {
  const host = new URL(plan.url).host;
  const heads = plan.programs.map(
    (program) => `HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${plan.key}\r\nProgram-Id: ${program}\r\n`,
  );
  const head = (): string => heads[pick(heads.length)] ?? '';
  const post = (path: string, key: string | undefined, body: string): string => {
    const keyLine = key === undefined ? '' : `Idempotency-Key: ${key}\r\n`;
    const length = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    return `POST ${path} ${head()}${keyLine}${length}${body}`;
  };
  const terms = (): string => `"amount":${AMOUNT},"card_id":"${cardName(1 + pick(plan.cards))}"`;
  const { send } = plan;
  if (send.kind === 'transfers') {
    return () => ({ bytes: post('/api/v0.1/core/transfer', newKey(), `{${terms()}}`), worth: 1 });
  }
  if (send.kind === 'batches') {
    const row = (): string => `{${terms()},"idempotency_key":"${newKey()}"}`;
    return () => {
      const body = `{"transfers":[${Array.from({ length: send.rows }, row).join(',')}]}`;
      return { bytes: post('/api/v0.1/core/transfer/batch', undefined, body), worth: send.rows };
    };
  }
  let next = 0;
  return () => {
    const listed = send.requests[next++ % send.requests.length];
    if (listed === undefined) throw new Error('the list of requests is empty');
    const { method, path, idempotencyKey, body } = listed;
    const bytes = method === 'POST' ? post(path, idempotencyKey, body ?? '') : `GET ${path} ${head()}\r\n`;
    return { bytes, worth: 1 };
  };
}

/** Latencies in milliseconds, as many as come. */
class Record {
  #values = new Float64Array(65_536);
  #count = 0;

  add(value: number): void {
    if (this.#count === this.#values.length) {
      const larger = new Float64Array(this.#count * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#count++] = value;
  }

  percentiles(): LoadResult['latenciesMilliseconds'] {
    const sorted = this.#values.subarray(0, this.#count).sort();
    const at = (share: number): number =>
      sorted[Math.min(this.#count - 1, Math.floor(this.#count * share))] ?? Number.NaN;
    return { p50: at(0.5), p90: at(0.9), p99: at(0.99), p999: at(0.999), most: at(1) };
  }
}

class Generator {
  readonly #plan: GeneratorPlan;
  readonly #compose: () => Request;
  readonly #connections: Connection[];
  readonly #record = new Record();
  readonly #finished = Promise.withResolvers<void>();
  readonly #begun = performance.now();
  #answered = 0;
  #failed = 0;
  #firstFailure: string | null = null;
  #started = 0;
  #underWay = 0;
  #lastAnswer = this.#begun;

  constructor(plan: GeneratorPlan) {
    this.#plan = plan;
    this.#compose = compose(plan);
    const { hostname, port } = new URL(plan.url);
    const wantsBody = plan.send.kind === 'batches';
    this.#connections = Array.from(
      { length: plan.connections },
      () => new Connection(hostname, Number(port), wantsBody),
    );
  }

  async run(): Promise<Omit<LoadResult, 'generatorCores'>> {
    if (this.#plan.mode === 'open') this.#arrive(this.#plan.rate);
    else for (const connection of this.#connections) this.#loop(connection);
    await this.#finished.promise;
    for (const connection of this.#connections) connection.close();
    return {
      answered: this.#answered,
      failed: this.#failed,
      elapsed_s: (this.#lastAnswer - this.#begun) / 1000,
      latenciesMilliseconds: this.#record.percentiles(),
      firstFailure: this.#firstFailure,
    };
  }

  #isOver(): boolean {
    const { seconds, count } = this.#plan;
    if (count !== undefined) return this.#started >= count;
    return performance.now() - this.#begun >= (seconds ?? 0) * 1000;
  }

  #loop(connection: Connection): void {
    if (this.#isOver()) {
      if (this.#underWay === 0) this.#finished.resolve();
      return;
    }
    this.#send(connection, performance.now(), () => this.#loop(connection));
  }

  /**
   * Arrivals at a constant rate, whatever the answers do. A latency runs from the moment at which the request was due,
   * so neither a late timer of ours nor a wait for a free connection hides any of it.
   */
  #arrive(rate: number): void {
    const free = [...this.#connections];
    const due: number[] = [];
    let arrived = 0;
    const serve = (): void => {
      for (let connection = free.shift(); connection !== undefined; connection = free.shift()) {
        const moment = due.shift();
        if (moment === undefined) {
          free.unshift(connection);
          return;
        }
        const back = connection;
        this.#send(connection, moment, () => {
          free.push(back);
          serve();
        });
      }
    };
    const tick = (): void => {
      const over = this.#isOver();
      const now = performance.now();
      for (; !over && this.#begun + (arrived * 1000) / rate <= now; arrived += 1) {
        due.push(this.#begun + (arrived * 1000) / rate);
      }
      serve();
      if (!over) setTimeout(tick, 1);
      else if (this.#underWay === 0 && due.length === 0) this.#finished.resolve();
      else setTimeout(tick, 5);
    };
    tick();
  }

  #send(connection: Connection, since: number, andThen: () => void): void {
    const { bytes, worth } = this.#compose();
    this.#started += 1;
    this.#underWay += 1;
    connection.send(bytes, (answer) => {
      this.#underWay -= 1;
      const now = performance.now();
      if (answer instanceof Error) this.#fail(worth, answer.message);
      else {
        this.#record.add(now - since);
        this.#lastAnswer = now;
        if (answer.status === 201) this.#answered += worth;
        else if (answer.status === 200) this.#countRows(answer.body, worth);
        else this.#fail(worth, `${answer.status}: ${answer.body.slice(0, 300)}`);
      }
      andThen();
    });
  }

  /** Each row of a batch has an outcome of its own. */
  #countRows(body: string, worth: number): void {
    if (this.#plan.send.kind !== 'batches') {
      this.#answered += worth;
      return;
    }
    const made = body.split('"status":201').length - 1;
    this.#answered += made;
    if (made < worth) this.#fail(worth - made, body.slice(0, 300));
  }

  #fail(worth: number, reason: string): void {
    this.#failed += worth;
    this.#firstFailure ??= reason;
  }
}

const plan = JSON.parse(await text(process.stdin)) as GeneratorPlan;
process.stdout.write(JSON.stringify(await new Generator(plan).run()));

async function text(stream: NodeJS.ReadStream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
