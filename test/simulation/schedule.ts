import { Random } from '../fuzz/random.ts';
import { Callers } from './callers.ts';
import { Judge } from './judge.ts';
import type { Subjects } from './requests.ts';
import { type LaneListeners, ServiceProcess } from './service-process.ts';
import { inSimulatedTime, SimulatedTime, settle } from './simulated-time.ts';
import { STATEMENTS } from './statements/statements.ts';
import { type Connection, Server } from './store/connection.ts';
import type { Meanings } from './store/meaning.ts';
import type { StoredRow } from './store/parameters.ts';
import { type Tables, Transaction } from './store/transaction.ts';
import { openTables, type ProgramLimits } from './world.ts';

/** The result of a schedule. */
export type ScheduleResult = {
  readonly seed: number;
  /** The violations; empty if there are none. */
  readonly problems: readonly string[];
  readonly steps: number;
  /** The trace, line by line, if requested. */
  readonly trace: readonly string[];
};

/** A seeded mistake that must be found: in the service, or in the meaning of its statements. */
export type Mistake = {
  /** Statements with a changed meaning. */
  readonly statements?: Meanings;
  /** Changes the service; returns a function that undoes it. */
  readonly make?: () => () => void;
};

/** The parameters of a schedule, drawn from its seed, so that some have many faults, and some none. */
type Profile = {
  readonly processes: number;
  readonly wishes: number;
  /** The chance of each fault at each step. */
  readonly cuts: number;
  readonly freezes: number;
  readonly deaths: number;
  /** The chance that time advances although there is something to do. */
  readonly hurry: number;
  /** Whether there are webhooks, and the chance at each step that a lease is taken away. */
  readonly delivers: boolean;
  readonly expiries: number;
  /** The chance that a receiver fails. */
  readonly failing: number;
  /** Whether callers mostly wait for each other's responses. */
  readonly isPatient: boolean;
  /** The chance that a listener of the lane throws. */
  readonly throws: number;
  /** The longest pause between two requests, in milliseconds; most have none. */
  readonly pace: number;
  /** The subjects of requests besides transfers, cards and webhooks. */
  readonly subjects: Subjects;
};

/** A moment shortly before a day ends, and sometimes a week or a month with it: limits count by these. */
const EVES: readonly number[] = ['2026-01-14', '2026-03-01', '2026-06-30', '2026-05-31'].map((day) =>
  Date.parse(`${day}T23:59:58.800Z`),
);

function drawSubjects(random: Random): Subjects & Pick<Profile, 'pace'> {
  const drawn = {
    due: random.chance(0.35),
    limits: random.chance(0.3),
    programs: random.chance(0.25),
    switch: random.chance(0.25),
  };
  const isAboutTime = drawn.due || drawn.limits || drawn.switch;
  return { ...drawn, pace: isAboutTime && random.chance(0.6) ? MAX_PACE_MILLISECONDS : 0 };
}

/** With this pace the requests of a schedule take a few seconds, in which transfers become due and a day ends. */
const MAX_PACE_MILLISECONDS = 250;

/** The initial limits of programs in schedules about limits, which a few transfers use up. */
const LIMITS: readonly ProgramLimits[] = [
  { limits: null, card_limits: { in: { daily_amount: 40, weekly_count: 4 }, out: { daily_count: 2 } } },
  { limits: { in: { daily_amount: 60 }, out: { daily_count: 3 } }, card_limits: { maximum_balance: 55 } },
  {
    limits: { in: { weekly_amount: 80, daily_count: 4 } },
    card_limits: { in: { daily_count: 2 }, maximum_balance: 60 },
  },
  { limits: { out: { monthly_amount: 50 } }, card_limits: { out: { daily_amount: 25, monthly_count: 4 } } },
];

/** More steps than any schedule takes: one that reaches this never comes to rest. */
const MAX_STEPS = 40_000;

/** How long after the last answer everything must have come to rest: longer than any deadline and any pause. */
const MAX_REST_MILLISECONDS = 60_000;

/** How long a connection on which nothing arrives stays so: until the client gives it up. */
const FREEZE_MILLISECONDS = 2_500;

function drawProfile(random: Random, { pace, ...subjects }: ReturnType<typeof drawSubjects>): Profile {
  const rate = (chance: number, most: number): number =>
    random.chance(chance) ? random.below(1000) * most * 0.001 : 0;
  return {
    processes: 1 + random.below(3),
    wishes: 4 + random.below(20),
    cuts: rate(0.5, 0.02),
    freezes: rate(0.2, 0.004),
    deaths: rate(0.3, 0.004),
    hurry: rate(0.7, 0.05),
    delivers: random.chance(0.4),
    expiries: rate(0.5, 0.01),
    isPatient: random.chance(0.3),
    throws: rate(0.3, 0.5),
    failing: rate(0.5, 0.4),
    ...{ pace, subjects },
  };
}

/**
 * Runs one schedule: the same seed, the same steps, the same result. With a mistake, that is made for as long as it runs.
 */
export function runSchedule(
  seed: number,
  { traced = false, mistake }: { readonly traced?: boolean; readonly mistake?: Mistake | undefined } = {},
): Promise<ScheduleResult> {
  return inSimulatedTime(() => run(seed, traced, mistake));
}

async function run(seed: number, traced: boolean, mistake: Mistake | undefined): Promise<ScheduleResult> {
  const time = new SimulatedTime(new Random(seed, 1), new Random(seed, 5).pick(EVES));
  time.begin();
  const correct = mistake?.make?.();
  const { stackTraceLimit } = Error;
  // Most schedules have failures, and capturing their stacks would take longer than the rest.
  if (!traced) Error.stackTraceLimit = 0;
  const schedule = new Schedule(seed, time, traced, mistake);
  const onUnhandled = (error: unknown): void => schedule.say('nobody handles', error);
  process.on('unhandledRejection', onUnhandled);
  try {
    return await schedule.run();
  } finally {
    process.off('unhandledRejection', onUnhandled);
    Error.stackTraceLimit = stackTraceLimit;
    correct?.();
  }
}

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
  readonly #frozenUntil = new Map<Connection, number>();
  #processes: ServiceProcess[] = [];
  #started = 0;
  #steps = 0;
  #restingSince: number | undefined;

  constructor(seed: number, time: SimulatedTime, traced: boolean, mistake: Mistake | undefined) {
    this.#seed = seed;
    this.#time = time;
    this.#random = new Random(seed, 2);
    this.#profile = drawProfile(this.#random, drawSubjects(new Random(seed, 6)));
    this.#trace = traced ? [] : undefined;
    const limits = this.#profile.subjects.limits ? new Random(seed, 7).pick(LIMITS) : undefined;
    const tables = openTables(new Date(time.epoch - 1000), limits);
    this.#judge = new Judge(tables, () => time.clock);
    const note = traced ? (step: string): void => this.#note(step) : undefined;
    const statements = { ...STATEMENTS, ...mistake?.statements };
    this.#server = new Server(tables, time, statements, {
      onCommit: (written) => this.#judge.onCommit(written),
      onBug: (error) => this.say('a statement has failed', error),
      onStep: note,
    });
    this.#callers = new Callers(new Random(seed, 3), time, this.#judge, this.#profile, note);
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
      // Two moments are never quite the same.
      this.#time.now += 0.01;
      if (!this.#step()) this.#judge.say('nothing can go on');
      if (this.#steps > MAX_STEPS) this.#judge.say('it does not come to rest');
    }
    return { seed: this.#seed, problems: this.#judge.problems, steps: this.#steps, trace: this.#trace ?? [] };
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

  /** Makes something fail; false if nothing did. */
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

  /** Makes a lease expire immediately, as for a process that was suspended. */
  #expire(): void {
    const { tables } = this.#server;
    // One of a shard with webhooks.
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
    const jobs = { delivery, settles: subjects.due };
    this.#processes.push(new ServiceProcess(this.#server, name, this.#listeners(), jobs));
  }

  /** The listeners of a lane, any of which may throw. */
  #listeners(): LaneListeners | undefined {
    const { throws } = this.#profile;
    if (throws === 0) return undefined;
    const random = new Random(this.#seed, 4, this.#started);
    const hear = (): void => {
      if (random.chance(throws)) throw new Error('a listener has failed');
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
    if (!this.#callers.areDone) return false;
    const { tables, connections } = this.#server;
    this.#restingSince ??= this.#time.now;
    if (this.#time.now - this.#restingSince > MAX_REST_MILLISECONDS) {
      this.#judge.say('what was committed does not get its place');
      return false;
    }
    for (const connection of connections) if (connection.isBusy) return false;
    const isBehind = (row: StoredRow): boolean => row.status !== 'disabled' && row.cursor !== headOf(tables, row);
    if (this.#profile.delivers && tables.all('webhook_state').some(isBehind)) return false;
    if (tables.all('card_erasure').some((row) => row.completed_at === null)) return false;
    if (this.#profile.subjects.due && this.#judge.isSomethingDue) return false;
    return tables.all('write_batch').every((row) => row.relayed === true || row.abandoned === true);
  }

  #note(step: string): void {
    this.#trace?.push(`${this.#time.now.toFixed(2).padStart(9)} ms  ${step}`);
  }
}

/** The last position of the program of a webhook. */
function headOf(tables: Tables, webhook: StoredRow): unknown {
  return tables.newest('event_head', String(webhook.program_id))?.position ?? 0n;
}
