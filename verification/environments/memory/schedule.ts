import { Random } from '../../../test/harness/random.ts';
import type { Coverage } from '../../generators/commands.ts';
import { drawOpening } from '../../generators/openings.ts';
import type { Opening } from '../../model/commands.ts';
import { type Connection, Server } from '../memory-store/connection.ts';
import type { Meanings } from '../memory-store/meaning.ts';
import type { StoredRow } from '../memory-store/parameters.ts';
import { STATEMENTS } from '../memory-store/statements.ts';
import { type Tables, Transaction } from '../memory-store/transaction.ts';
import { Callers } from './callers.ts';
import { Judge } from './judge.ts';
import { SimulatedProcessor } from './processor.ts';
import type { ProcessorProfile } from './processor-profile.ts';
import { drawProfile, EVES, endOf, type Forced, LIMITS, type Profile } from './profile.ts';
import { type LaneListeners, ServiceProcess } from './service-process.ts';
import { inSimulatedTime, SimulatedTime, settle } from './simulated-time.ts';
import { CARDS_AT_PROCESSOR, openTables, PLACES, plainOpening } from './world.ts';

/** The result of a schedule. */
export type ScheduleResult = {
  readonly seed: number;
  /** The broken rules. Empty if all held. */
  readonly problems: readonly string[];
  readonly steps: number;
  /** The lines of the trace, if it was requested. */
  readonly trace: readonly string[];
};

/** A planted mistake in the service, or in the meaning of its statements. The simulation must find it. */
export type Mistake = {
  /** Statements with a changed meaning. */
  readonly statements?: Meanings;
  /** Changes the service. Returns a function that undoes the change. */
  readonly make?: () => () => void;
};

/**
 * The maximum number of steps of a schedule, more than any schedule needs. A schedule that takes this many steps never
 * settles.
 */
const MAX_STEPS = 40_000;

/** Everything must settle within this time after the last response. It is longer than any deadline and any pause. */
const MAX_REST_MILLISECONDS = 60_000;

/** Time is skipped if nothing happens for this long. Processes poll several times within it. */
const SKIPPED_MILLISECONDS = 1_500;

/** How long a connection can hang before its client closes it. */
const FREEZE_MILLISECONDS = 2_500;

/**
 * Runs one schedule. The same seed gives the same steps and the same result. A planted mistake stays in place for the
 * whole run.
 */
export function runSchedule(seed: number, options: Options = {}): Promise<ScheduleResult> {
  return inSimulatedTime(() => run(seed, options));
}

export type Options = Forced & {
  readonly traced?: boolean;
  readonly mistake?: Mistake | undefined;
  /** Counts the commands, refusals and moves that stories produce. */
  readonly coverage?: Coverage;
};

async function run(seed: number, options: Options): Promise<ScheduleResult> {
  const { traced = false, mistake } = options;
  const random = new Random(seed, 2);
  const profile = drawProfile(seed, random, options);
  const opening = drawOpeningFor(seed, profile);
  const time = new SimulatedTime(new Random(seed, 1), opening.now);
  time.begin();
  const correct = mistake?.make?.();
  const { stackTraceLimit } = Error;
  // Most schedules have failures, and capturing their stacks would take longer than everything else.
  if (!traced) Error.stackTraceLimit = 0;
  const schedule = new Schedule(seed, { time, random, profile, opening }, options);
  const onUnhandled = (error: unknown): void => schedule.say('an error was not handled', error);
  process.on('unhandledRejection', onUnhandled);
  try {
    return await schedule.run();
  } finally {
    process.off('unhandledRejection', onUnhandled);
    Error.stackTraceLimit = stackTraceLimit;
    correct?.();
  }
}

/** Draws the programs and cards at the beginning of a schedule. */
function drawOpeningFor(seed: number, { isStory, subjects, processor }: Profile): Opening {
  if (isStory) return drawOpening(new Random(seed, 10));
  const place = new Random(seed, 10).pick(PLACES);
  const limits = subjects.limits ? new Random(seed, 7).pick(LIMITS) : undefined;
  const now = endOf(new Random(seed, 5).pick(EVES), place[1]);
  return plainOpening(now, place, limits, processor && CARDS_AT_PROCESSOR);
}

/** The basis of a schedule, drawn from its seed. */
type Drawn = {
  readonly time: SimulatedTime;
  readonly random: Random;
  readonly profile: Profile;
  readonly opening: Opening;
};

/** Decides the next step, until nothing is left to do. */
class Schedule {
  readonly #seed: number;
  readonly #time: SimulatedTime;
  readonly #random: Random;
  readonly #profile: Profile;
  readonly #server: Server;
  readonly #judge: Judge;
  readonly #callers: Callers;
  readonly #trace: string[] | undefined;
  readonly #processor: SimulatedProcessor | undefined;
  readonly #frozenUntil = new Map<Connection, number>();
  #processes: ServiceProcess[] = [];
  #started = 0;
  #steps = 0;
  #restingSince: number | undefined;
  /** The time at which the last request got its response. */
  #lastAnswer = 0;

  constructor(seed: number, { time, random, profile, opening }: Drawn, { traced = false, mistake, coverage }: Options) {
    this.#seed = seed;
    this.#time = time;
    this.#random = random;
    this.#profile = profile;
    const { processor: drawn } = profile;
    this.#trace = traced ? [] : undefined;
    const tables = openTables(opening, new Date(opening.now - 1000));
    this.#judge = new Judge(tables, opening, () => time.clock, coverage);
    const note = traced ? (step: string): void => this.#note(step) : undefined;
    const statements = { ...STATEMENTS, ...mistake?.statements };
    this.#server = new Server(tables, time, statements, {
      onCommit: (written) => this.#judge.onCommit(written),
      onBug: (error) => this.say('a statement failed', error),
      onStep: note,
    });
    const { processors } = this.#judge;
    if (drawn !== undefined) this.#processor = this.#openProcessor(drawn, note);
    processors.processor = this.#processor;
    const findResolvable = drawn && processors.findResolvable.bind(processors);
    const asked = { ...this.#profile, findResolvable };
    this.#callers = new Callers(new Random(seed, 3), time, this.#judge, asked, note);
  }

  #openProcessor(profile: ProcessorProfile, note: ((step: string) => void) | undefined): SimulatedProcessor {
    const { processors } = this.#judge;
    return new SimulatedProcessor(profile, new Random(this.#seed, 9), this.#time, () => this.#processes, {
      onCall: (...call) => processors.onCall(...call),
      onExecuted: (entry) => processors.onExecuted(entry),
      note,
    });
  }

  say(problem: string, error: unknown): void {
    this.#judge.say(`${problem}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  }

  async run(): Promise<ScheduleResult> {
    this.#note(`profile ${JSON.stringify(this.#profile)}`);
    for (let count = 0; count < this.#profile.processes; count += 1) this.#start();
    while (this.#judge.problems.length === 0) {
      await settle();
      if (this.#isAtRest()) {
        this.#judge.atRest();
        break;
      }
      this.#steps += 1;
      this.#skip();
      // Advances the time slightly, so that no two steps happen at the same moment.
      this.#time.now += 0.01;
      if (!this.#step()) this.#judge.say('no further step is possible');
      if (this.#steps > MAX_STEPS) this.#judge.say('the schedule does not settle');
    }
    return { seed: this.#seed, problems: this.#judge.problems, steps: this.#steps, trace: this.#trace ?? [] };
  }

  /** Skips time in which processes only poll. The service needs minutes to find an order that a processor lost. */
  #skip(): void {
    const processor = this.#processor;
    const { now, epoch } = this.#time;
    if (processor === undefined || !this.#callers.areAnswered) return;
    for (const connection of this.#server.connections) if (connection.isBusy) return;
    const { canAsk, areDone, pausedUntil } = this.#callers;
    if (canAsk) return;
    const due = this.#judge.nextDue - epoch;
    const next = Math.min(areDone ? this.#troubleUntil : pausedUntil, processor.next, due);
    if (next < now + SKIPPED_MILLISECONDS || next === Number.POSITIVE_INFINITY) return;
    this.#note(`nothing happens for ${Math.round(next - now)} ms`);
    if (this.#restingSince !== undefined) this.#restingSince += next - now;
    this.#time.now = next;
  }

  /** The time until which faults continue, even if all requests have a response. */
  get #troubleUntil(): number {
    if (this.#restingSince !== undefined) return Number.POSITIVE_INFINITY;
    return this.#lastAnswer + (this.#profile.processor?.troubleMilliseconds ?? 0);
  }

  readonly #ask = (): void => this.#callers.ask(this.#processes);

  #step(): boolean {
    const random = this.#random;
    if (this.#restingSince === undefined && this.#fault()) return true;
    const { now } = this.#time;
    const ready: (() => void)[] = [];
    for (const connection of this.#server.connections) {
      if (this.#frozenUntil.size > 0 && (this.#frozenUntil.get(connection) ?? 0) > now) continue;
      if (connection.canExecute) ready.push(connection.execute);
      if (connection.canAnswer) ready.push(connection.answer);
    }
    const isBusy = ready.length > 0;
    const isPatient = this.#profile.isPatient && !this.#callers.areAnswered && !random.chance(0.03);
    if (this.#callers.canAsk && !isPatient) ready.push(this.#ask);
    if (ready.length === 0 || (this.#time.hasTimers && random.chance(isBusy ? this.#profile.hurry : 0.5))) {
      if (!this.#time.hasTimers) return false;
      this.#time.leap();
      return true;
    }
    random.pick(ready)();
    return true;
  }

  /** Injects a fault. Returns false if there was none. */
  #fault(): boolean {
    const { cuts, freezes, deaths, delivers, expiries } = this.#profile;
    const random = this.#random;
    if (delivers && random.chance(expiries)) this.#expire();
    if (cuts + freezes + deaths === 0) return false;
    if (random.chance(cuts)) {
      const busy = this.#processes.flatMap(({ databases }) => databases.connections().filter(({ isBusy }) => isBusy));
      if (busy.length === 0) return false;
      const connection = random.pick(busy);
      const received = random.below(connection.unexecuted + 1);
      this.#note(`${connection.label} is cut, the server has received ${received}`);
      connection.cut(new Error('Connection terminated unexpectedly'), received);
      return true;
    }
    if (random.chance(freezes) && this.#server.connections.size > 0) {
      const connection = random.pick([...this.#server.connections]);
      this.#note(`${connection.label} is frozen`);
      this.#frozenUntil.set(connection, this.#time.now + FREEZE_MILLISECONDS);
      return true;
    }
    if (!random.chance(deaths)) return false;
    const dying = random.pick(this.#processes);
    this.#note(`${dying.name} dies`);
    dying.die(({ unexecuted }) => random.below(unexecuted + 1));
    this.#callers.onDeath(dying);
    this.#processes = this.#processes.filter((process) => process !== dying);
    this.#start();
    return true;
  }

  /** Makes a lease expire immediately, as if the process had been suspended. */
  #expire(): void {
    const { tables } = this.#server;
    // A shard without webhooks has nothing to lose.
    const webhooks = tables.all('webhook_state');
    if (webhooks.length === 0) return;
    const key = String(this.#random.pick(webhooks).shard);
    const { shard, owner } = tables.newest('webhook_shard', key) as StoredRow;
    const transaction = new Transaction(tables, () => this.#time.clock);
    if (owner === null || !transaction.tryLock(`webhook_shard ${shard}`)) {
      transaction.rollBack();
      return;
    }
    [
      ...transaction.update('webhook_shard', String(shard), (row) => ({
        ...row,
        expires_at: new Date(this.#time.epoch),
      })),
    ];
    transaction.commit();
    this.#note(`the lease of shard ${shard} expires`);
  }

  #start(): void {
    const name = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'[this.#started % 26] ?? '';
    this.#started += 1;
    const { delivers, failing, subjects } = this.#profile;
    const world = { tables: this.#server.tables, time: this.#time, judge: this.#judge, random: this.#random };
    const delivery = delivers ? { ...world, failing } : undefined;
    const jobs = { delivery, settles: subjects.due, processor: this.#processor };
    this.#processes.push(new ServiceProcess(this.#server, name, this.#listeners(), jobs));
  }

  /** The listeners of a lane. Each of them may throw. */
  #listeners(): LaneListeners | undefined {
    const { throws } = this.#profile;
    if (throws === 0) return undefined;
    const random = new Random(this.#seed, 4, this.#started);
    const hear = (): void => {
      if (random.chance(throws)) throw new Error('a listener failed');
    };
    const beginGroup = () => {
      hear();
      return { loaded: hear, decided: hear, ended: hear };
    };
    return {
      observer: { onGroup: hear, onBreak: hear, onSettled: hear, onUnknown: hear },
      onCreated: hear,
      onCommit: hear,
      trace: { submitted: hear, beginGroup, end: hear },
    };
  }

  /** Whether all requests have a response, and all committed events have positions. */
  #isAtRest(): boolean {
    if (!this.#callers.areDone) {
      this.#lastAnswer = this.#time.now;
      return false;
    }
    if (this.#restingSince === undefined && this.#time.now < this.#troubleUntil) return false;
    this.#processor?.calm();
    const { tables, connections } = this.#server;
    this.#restingSince ??= this.#time.now;
    if (this.#time.now - this.#restingSince > MAX_REST_MILLISECONDS) {
      this.#judge.say('a committed event gets no position');
      return false;
    }
    for (const connection of connections) if (connection.isBusy) return false;
    const isBehind = (row: StoredRow): boolean => row.status !== 'disabled' && row.cursor !== headOf(tables, row);
    if (this.#profile.delivers && tables.all('webhook_state').some(isBehind)) return false;
    if (this.#profile.subjects.due && this.#judge.isSomethingDue) return false;
    if (this.#processor !== undefined && !this.#judge.processors.isSettled) return false;
    if (this.#processor !== undefined && this.#processor.next < Number.POSITIVE_INFINITY) return false;
    return this.#judge.areEventsPlaced;
  }

  #note(step: string): void {
    this.#trace?.push(`${this.#time.now.toFixed(2).padStart(9)} ms  ${step}`);
  }
}

/** The last position of the program of a webhook. */
function headOf(tables: Tables, webhook: StoredRow): unknown {
  return tables.newest('event_head', String(webhook.program_id))?.position ?? 0n;
}
