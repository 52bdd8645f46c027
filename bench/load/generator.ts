import { Connection } from './connection.ts';
import { composer, type Request, type Sending } from './requests.ts';
import type { Latencies, LoadResult, Traffic } from './traffic.ts';

// The load generator, which runs in a separate process. It reads a GeneratorPlan from standard input and writes its
// counts to standard output. In a closed loop, each connection sends its next request after the response to the last
// one. In an open loop, requests are due at a constant rate.

/** The task of the generator. */
export type GeneratorPlan = Traffic & {
  readonly connections: number;
  /** The generator ends after this time or after `count` requests. One of the two is given. */
  readonly seconds?: number;
  readonly count?: number;
  readonly send: Sending;
} & ({ readonly mode: 'closed' } | { readonly mode: 'open'; readonly rate: number });

/** A growing list of latencies in milliseconds. */
class LatencyList {
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

  percentiles(): Latencies {
    const sorted = this.#values.subarray(0, this.#count).sort();
    const at = (share: number): number =>
      sorted[Math.min(this.#count - 1, Math.floor(this.#count * share))] ?? Number.NaN;
    return { p50: at(0.5), p90: at(0.9), p99: at(0.99), p999: at(0.999), maximum: at(1) };
  }
}

type Lane = { readonly connection: Connection; readonly compose: () => Request };

class Generator {
  readonly #plan: GeneratorPlan;
  readonly #lanes: readonly Lane[];
  readonly #latencies = new LatencyList();
  readonly #finished = Promise.withResolvers<void>();
  readonly #startedAt = performance.now();
  #succeeded = 0;
  #failed = 0;
  #firstFailure: string | null = null;
  #sent = 0;
  #inFlight = 0;
  #lastResponseAt = this.#startedAt;

  constructor(plan: GeneratorPlan) {
    this.#plan = plan;
    const { hostname, port } = new URL(plan.url);
    const wantsBody = plan.send.kind === 'batches';
    this.#lanes = Array.from({ length: plan.connections }, () => ({
      connection: new Connection(hostname, Number(port), wantsBody),
      compose: composer(plan, plan.send),
    }));
  }

  async run(): Promise<Omit<LoadResult, 'generatorCores'>> {
    if (this.#plan.mode === 'open') this.#arrive(this.#plan.rate);
    else for (const lane of this.#lanes) this.#loop(lane, this.#startedAt);
    await this.#finished.promise;
    for (const { connection } of this.#lanes) connection.close();
    return {
      succeeded: this.#succeeded,
      failed: this.#failed,
      elapsedSeconds: (this.#lastResponseAt - this.#startedAt) / 1000,
      latenciesMilliseconds: this.#latencies.percentiles(),
      firstFailure: this.#firstFailure,
    };
  }

  #isOver(now: number): boolean {
    const { seconds, count } = this.#plan;
    if (count !== undefined) return this.#sent >= count;
    return now - this.#startedAt >= (seconds ?? 0) * 1000;
  }

  #loop(lane: Lane, now: number): void {
    if (this.#isOver(now)) {
      if (this.#inFlight === 0) this.#finished.resolve();
      return;
    }
    this.#send(lane, now, (later) => this.#loop(lane, later));
  }

  /**
   * Sends requests at a constant rate, independent of the responses. A latency starts when the request was due, so it includes
   * late timers and waits for a free connection.
   */
  #arrive(rate: number): void {
    const free = [...this.#lanes];
    const due: number[] = [];
    let arrived = 0;
    const serve = (): void => {
      for (let lane = free.pop(); lane !== undefined; lane = free.pop()) {
        const moment = due.shift();
        const used = lane;
        if (moment === undefined) {
          free.push(used);
          return;
        }
        this.#send(used, moment, () => {
          free.push(used);
          serve();
        });
      }
    };
    const tick = (): void => {
      const now = performance.now();
      const over = this.#isOver(now);
      for (; !over && this.#startedAt + (arrived * 1000) / rate <= now; arrived += 1) {
        due.push(this.#startedAt + (arrived * 1000) / rate);
      }
      serve();
      if (!over) setTimeout(tick, 1);
      else if (this.#inFlight === 0 && due.length === 0) this.#finished.resolve();
      else setTimeout(tick, 5);
    };
    tick();
  }

  #send({ connection, compose }: Lane, since: number, andThen: (now: number) => void): void {
    const { bytes, transfers } = compose();
    this.#sent += 1;
    this.#inFlight += 1;
    connection.send(bytes, (response) => {
      this.#inFlight -= 1;
      const now = performance.now();
      if (response instanceof Error) this.#fail(transfers, response.message);
      else {
        this.#latencies.add(now - since);
        this.#lastResponseAt = now;
        if (response.status === 201) this.#succeeded += transfers;
        else if (response.status === 200) this.#countRows(response.body, transfers);
        else this.#fail(transfers, `${response.status}: ${response.body.slice(0, 300)}`);
      }
      andThen(now);
    });
  }

  /** Each row of a batch has a separate outcome. */
  #countRows(body: string, transfers: number): void {
    if (this.#plan.send.kind !== 'batches') {
      this.#succeeded += transfers;
      return;
    }
    const made = body.split('"status":201').length - 1;
    this.#succeeded += made;
    if (made < transfers) this.#fail(transfers - made, body.slice(0, 300));
  }

  #fail(transfers: number, reason: string): void {
    this.#failed += transfers;
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
