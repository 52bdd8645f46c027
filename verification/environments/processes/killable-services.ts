import type { Resources } from '../../../bench/resources.ts';
import { type ServiceProcess, startService } from '../../../test/harness/process.ts';
import { pause } from '../../campaign.ts';
import { untilAtWork } from '../../generators/loads.ts';
import { killPostgres, killTree } from '../../nemeses/kill.ts';
import { startTwoServices, type TwoServices } from './two-services.ts';

/**
 * The processes to kill. `owner` is the service that owns PostgreSQL, `postmaster` is PostgreSQL's main process alone, and
 * `postgres` is all of its processes.
 */
const VICTIMS = ['owner', 'other', 'both_services', 'postmaster', 'postgres', 'everything'] as const;
export type Victims = (typeof VICTIMS)[number];

/** The indexes of the services that each kill ends. */
const DYING: Readonly<Record<Victims, readonly (0 | 1)[]>> = {
  owner: [0],
  other: [1],
  both_services: [0, 1],
  postmaster: [],
  postgres: [],
  everything: [0, 1],
};

/** Alternates between the services and PostgreSQL, with random exceptions. */
export function chooseVictims(kill: number, random: () => number): Victims {
  const at = (bound: number): number => Math.floor(random() * bound);
  if (random() < 0.25) return VICTIMS[at(VICTIMS.length)] ?? 'owner';
  if (kill % 2 === 1) return (['owner', 'other', 'both_services'] as const)[at(3)] ?? 'owner';
  return (['postgres', 'postgres', 'everything', 'postmaster'] as const)[at(4)] ?? 'postgres';
}

type Settings = Readonly<Record<string, string>>;

/** Callbacks around a kill. */
export type Witness = {
  /** Something is about to be killed. */
  readonly kills?: () => void;
  /** The service at this address is about to die. */
  readonly expectDeath: (url: string) => void;
  /** Everything killed has been restarted, at the current addresses of the services. */
  readonly moved: () => void;
};

/** Two services on one ledger. Kills and restarts them and PostgreSQL. */
export class KillableServices {
  readonly path: string;
  /** Stays the same when PostgreSQL restarts, so that surviving processes can reconnect. */
  readonly databaseUrl: string;
  readonly #main: string | undefined;
  readonly #ofOther: Settings;
  readonly #ofBoth: Settings;
  readonly #services: [ServiceProcess, ServiceProcess];
  /** The last start. It may still be in progress in `killAll`. */
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

  /** `main` overrides the checkout's program. `ofOther` are settings for the service without PostgreSQL. */
  static async start(
    resources: Resources,
    main: string | undefined,
    ofOther: Settings = {},
    ofBoth: Settings = {},
  ): Promise<KillableServices> {
    const services = await startTwoServices(resources, main, ofOther, ofBoth);
    return new KillableServices(services, main, ofOther, ofBoth);
  }

  /** The service that owns PostgreSQL. */
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
   * Kills processes, restarts the services, and waits until both make transfers. Returns the duration in milliseconds, or
   * Infinity if that never happens. If only PostgreSQL was killed, it is killed again during recovery in one of ten cases.
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
    // The owner of PostgreSQL goes first: the other service needs the database to start.
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

  /** Sends SIGTERM to both and waits until they exit. */
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
 * Retries a read until PostgreSQL is back. If only its main process was killed, a remaining backend may have made the
 * transfer that counted as recovery, and the server restarts afterwards.
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
