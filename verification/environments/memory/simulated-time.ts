import nodeCrypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import nodeTimers from 'node:timers/promises';
import { databaseTime, setDatabaseTime } from '../../../server/foundation/database-clock.ts';
import { newId } from '../../../server/foundation/ids.ts';
import { Random } from '../../../test/harness/random.ts';

/** The default time of the database when a schedule begins: 2026-01-01. */
export const EPOCH = 1_767_225_600_000;

type Timer = { at: number; readonly order: number; readonly every: number | undefined; readonly run: () => void };

/** The result of the simulated timers. `unref` has no effect, because a schedule has its own rules for ending. */
type Handle = { readonly timer: Timer; readonly ref: () => Handle; readonly unref: () => Handle };

const real = {
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
  setImmediate: globalThis.setImmediate,
  now: performance.now.bind(performance),
  dateNow: Date.now,
  random: Math.random,
  emitWarning: process.emitWarning,
  sleep: nodeTimers.setTimeout,
  randomBytes: nodeCrypto.randomBytes,
  randomFillSync: nodeCrypto.randomFillSync,
  randomUUID: nodeCrypto.randomUUID,
};

/** The current time source of this process. */
let current: SimulatedTime | undefined;

/**
 * Replaces the clock, timers and randomness of this process while a function that uses a {@link SimulatedTime} runs. Ten simulated
 * seconds then cost nothing, and the same seed gives the same ids. Nothing else may run in the process during that time.
 */
export async function inSimulatedTime<Result>(run: () => Promise<Result>): Promise<Result> {
  if (current !== undefined) return run();
  current = new SimulatedTime(new Random(0));
  const [databaseNow, now] = [databaseTime(), performance.now()];
  const putBack = replaceClocks(() => current as SimulatedTime);
  try {
    return await run();
  } finally {
    putBack();
    // The test files that follow in this process use the clock for their ids.
    setDatabaseTime(databaseNow, now);
    current = undefined;
  }
}

/** Real milliseconds, as from `performance.now()`, while time is simulated. */
export function realTime(): number {
  return real.now();
}

/** The clock, timers and randomness of a schedule. */
export class SimulatedTime {
  /** Milliseconds since the schedule began. `performance.now()` returns them. */
  now = 0;
  /** The database's time when `now` was 0, in milliseconds since 1970. */
  epoch: number;
  readonly #random: Random;
  readonly #timers = new Set<Timer>();
  #order = 0;
  #isRefilled = false;

  constructor(random: Random, epoch: number = EPOCH) {
    this.#random = random;
    this.epoch = epoch;
  }

  /** The database's clock, in milliseconds since 1970. */
  get clock(): number {
    return this.epoch + this.now;
  }

  get hasTimers(): boolean {
    return this.#timers.size > 0;
  }

  /** Makes this the time of the process. Only for {@link inSimulatedTime}. */
  begin(): void {
    current = this;
    setDatabaseTime(this.epoch, 0);
    // Random bytes left over from the previous schedule would change the ids of this one.
    while (!this.#isRefilled) newId();
  }

  /** Sets the database's clock, later or earlier. Timers continue as before. */
  setClock(clock: number): void {
    this.epoch = Math.round(clock) - this.now;
    setDatabaseTime(this.clock, this.now);
  }

  /** Calls back after a time, like `setTimeout`. */
  after(milliseconds: number | undefined, run: () => void, every?: number): Timer {
    this.#order += 1;
    const timer = { at: this.now + Math.max(1, milliseconds ?? 1), order: this.#order, every, run };
    this.#timers.add(timer);
    return timer;
  }

  cancel(timer: Timer | undefined): void {
    if (timer !== undefined) this.#timers.delete(timer);
  }

  /** Advances to the next timer and runs it. */
  leap(): void {
    let next: Timer | undefined;
    for (const timer of this.#timers) {
      if (next === undefined || timer.at < next.at || (timer.at === next.at && timer.order < next.order)) next = timer;
    }
    if (next === undefined) return;
    this.now = Math.max(this.now, next.at);
    if (next.every === undefined) this.cancel(next);
    else next.at = this.now + next.every;
    next.run();
  }

  /** A number from 0 up to, but not including, 1. */
  fraction(): number {
    return this.#random.below(1_000_000) / 1_000_000;
  }

  fill(bytes: Uint8Array): void {
    this.#isRefilled = true;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let at = 0; at + 4 <= bytes.length; at += 4) view.setUint32(at, this.#random.below(0x1_0000_0000));
  }

  uuid(): string {
    let digits = '';
    for (let count = 0; count < 12; count += 1) digits += this.#random.below(16).toString(16);
    return `00000000-0000-4000-8000-${digits}`;
  }
}

/** How many immediates are requested at once. If requested separately, each would wait for the operating system. */
const TURNS = 64;

/** The callbacks of the next immediates. */
const immediates: (() => void)[] = [];
let turnsLeft = 0;

function turn(): void {
  turnsLeft -= 1;
  immediates.shift()?.();
  if (immediates.length > 0) askForTurns();
}

function askForTurns(): void {
  if (turnsLeft > 0) return;
  turnsLeft = TURNS;
  for (let count = 0; count < TURNS; count += 1) real.setImmediate(turn);
}

/** Calls back after all ready promise callbacks. Node runs those between two immediates. */
function simulatedImmediate(run: () => void): void {
  immediates.push(run);
  askForTurns();
}

/** Resolves after all ready promise callbacks. */
export function settle(): Promise<void> {
  return new Promise(simulatedImmediate);
}

/** Replaces the clocks of the process. Returns a function that restores them. */
function replaceClocks(timeNow: () => SimulatedTime): () => void {
  const own = Object.getOwnPropertyDescriptor(performance, 'now');
  Object.defineProperty(performance, 'now', { configurable: true, writable: true, value: () => timeNow().now });
  Date.now = () => Math.round(timeNow().clock);
  // Suppresses the warnings about listeners that throw.
  process.emitWarning = () => undefined;
  Math.random = () => timeNow().fraction();
  const clear = (handle: Handle | undefined): void => timeNow().cancel(handle?.timer);
  Object.assign(globalThis, {
    setTimeout: (run: () => void, milliseconds?: number) => toHandle(timeNow().after(milliseconds, run)),
    clearTimeout: clear,
    setInterval: (run: () => void, milliseconds = 1) => toHandle(timeNow().after(milliseconds, run, milliseconds)),
    clearInterval: clear,
    setImmediate: simulatedImmediate,
  });
  Object.assign(nodeTimers, {
    setTimeout: (milliseconds?: number, value?: unknown) =>
      new Promise((resolve) => timeNow().after(milliseconds, () => resolve(value))),
  });
  Object.assign(nodeCrypto, {
    randomUUID: () => timeNow().uuid(),
    randomBytes: (count: number) => {
      const bytes = Buffer.alloc(count);
      timeNow().fill(bytes);
      return bytes;
    },
    randomFillSync: (bytes: Uint8Array) => {
      timeNow().fill(bytes);
      return bytes;
    },
  });
  syncBuiltinESMExports();
  return () => {
    if (own === undefined) Reflect.deleteProperty(performance, 'now');
    else Object.defineProperty(performance, 'now', own);
    Date.now = real.dateNow;
    Math.random = real.random;
    process.emitWarning = real.emitWarning;
    const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate } = real;
    Object.assign(globalThis, { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate });
    Object.assign(nodeTimers, { setTimeout: real.sleep });
    const { randomBytes, randomFillSync, randomUUID } = real;
    Object.assign(nodeCrypto, { randomBytes, randomFillSync, randomUUID });
    syncBuiltinESMExports();
  };
}

function toHandle(timer: Timer): Handle {
  const handle: Handle = { timer, ref: () => handle, unref: () => handle };
  return handle;
}
