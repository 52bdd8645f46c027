import type { Resources } from '../../bench/resources.ts';
import { killPostgres } from '../crashes/killing.ts';
import { type ServiceProcess, startService } from '../harness/process.ts';
import { untilAtWork } from './loads.ts';
import { killTree } from './process-tree.ts';
import { pause } from './row.ts';
import { startTwoServices, type TwoServices } from './two-services.ts';

/**
 * What is killed: either service, of which one owns PostgreSQL; both; PostgreSQL's main process alone or all of its
 * processes; everything at once.
 */
const VICTIMS = ['owner', 'other', 'both_services', 'postmaster', 'postgres', 'everything'] as const;
export type Victims = (typeof VICTIMS)[number];

/** Which of the two services die. */
const DYING: Readonly<Record<Victims, readonly (0 | 1)[]>> = {
  owner: [0],
  other: [1],
  both_services: [0, 1],
  postmaster: [],
  postgres: [],
  everything: [0, 1],
};

/** Alternates, with random exceptions; every other kill is of a service. */
export function chooseVictims(kill: number, random: () => number): Victims {
  const at = (bound: number): number => Math.floor(random() * bound);
  if (random() < 0.25) return VICTIMS[at(VICTIMS.length)] ?? 'owner';
  if (kill % 2 === 1) return (['owner', 'other', 'both_services'] as const)[at(3)] ?? 'owner';
  return (['postgres', 'postgres', 'everything', 'postmaster'] as const)[at(4)] ?? 'postgres';
}

type Settings = Readonly<Record<string, string>>;

/** Notifies the users of the services of a kill. */
export type Witness = {
  /** Something is about to be killed. */
  readonly kills?: () => void;
  /** The service at this address is about to die. */
  readonly expectDeath: (url: string) => void;
  /** Everything killed has been restarted, at the current addresses of the services. */
  readonly moved: () => void;
};

/** Two services on one ledger that are killed and started again, PostgreSQL included. */
export class KillableServices {
  readonly path: string;
  /** Stays the same after each start of PostgreSQL, so that surviving processes find it again. */
  readonly databaseUrl: string;
  readonly #main: string | undefined;
  readonly #ofOther: Settings;
  readonly #ofBoth: Settings;
  readonly #services: [ServiceProcess, ServiceProcess];
  /** The last start, which may still be running when everything is to end. */
  #starting: Promise<ServiceProcess | undefined> = Promise.resolve(undefined);

  private constructor(
    { path, databaseUrl, both }: TwoServices,
    main: string | undefined,
    ofOther: Settings,
    ofBoth: Settings,
  ) {
    this.path = path;
    this.databaseUrl = databaseUrl;
    this.#main = main;
    this.#ofOther = ofOther;
    this.#ofBoth = ofBoth;
    this.#services = [...both];
  }

  /** `main` is another program than that of the checkout; `ofOther` are settings of the service without PostgreSQL, `ofBoth` of both. */
  static async start(
    resources: Resources,
    main: string | undefined,
    ofOther: Settings = {},
    ofBoth: Settings = {},
  ): Promise<KillableServices> {
    const services = await startTwoServices(resources, main, ofOther, ofBoth);
    return new KillableServices(services, main, ofOther, ofBoth);
  }

  /** The one that owns PostgreSQL. */
  get owner(): ServiceProcess {
    return this.#services[0];
  }

  get other(): ServiceProcess {
    return this.#services[1];
  }

  get urls(): readonly string[] {
    return this.#services.map(({ url }) => url);
  }

  /**
   * Kills, restarts what is necessary, and waits until both services make transfers; returns how long that took in
   * milliseconds, Infinity for never. One time in ten PostgreSQL is killed again while it recovers.
   */
  async kill(victims: Victims, random: () => number, { kills, expectDeath, moved }: Witness): Promise<number> {
    const killedAt = performance.now();
    const dying = DYING[victims];
    kills?.();
    for (const place of dying) expectDeath(this.#services[place].url);
    await Promise.all([
      ...(['postmaster', 'postgres', 'everything'].includes(victims)
        ? [killPostgres(this.path, victims !== 'postmaster')]
        : []),
      ...dying.map((place) => this.#services[place].kill()),
    ]);
    // The owner of PostgreSQL first: the other one does not start without the database.
    for (const place of dying) this.#services[place] = await this.#start(place);
    moved();
    if (dying.length === 0 && random() < 0.1) {
      await pause(random() * 200);
      kills?.();
      await killPostgres(this.path, true).catch(() => undefined);
    }
    const rests = await Promise.all(this.urls.map((url) => untilAtWork(url)));
    return rests.includes(Number.POSITIVE_INFINITY) ? Number.POSITIVE_INFINITY : performance.now() - killedAt;
  }

  /** SIGTERM for both, and waits for the end. */
  async stop(): Promise<void> {
    for (const service of this.#services.toReversed()) await service.stop();
  }

  async killAll(): Promise<void> {
    const starting = await this.#starting.catch(() => undefined);
    for (const service of [...this.#services, starting]) {
      if (service === undefined) continue;
      const { pid, exitCode, signalCode } = service.child;
      if (pid !== undefined && exitCode === null && signalCode === null) await killTree(pid);
    }
    await killPostgres(this.path, true).catch(() => undefined);
  }

  #start(place: 0 | 1): Promise<ServiceProcess> {
    const own = place === 0 ? { DATA_DIR: this.path } : { DATABASE_URL: this.databaseUrl, ...this.#ofOther };
    const starting = startService({ ...own, ...this.#ofBoth, LOG_LEVEL: 'silent' }, this.#main);
    this.#starting = starting;
    return starting;
  }
}

/** How long to wait for PostgreSQL after a kill, in milliseconds. */
const BACK_WITHIN = 30_000;

/**
 * Retries a read for a while: if only PostgreSQL's main process was killed, a remaining backend may have made the transfer
 * that counted as recovery, and the server restarts after that.
 */
export async function oncePostgresIsBack<Books>(read: () => Promise<Books>): Promise<Books> {
  for (const end = performance.now() + BACK_WITHIN; ; ) {
    try {
      return await read();
    } catch (error) {
      if (performance.now() > end) throw error;
      await pause(100);
    }
  }
}
