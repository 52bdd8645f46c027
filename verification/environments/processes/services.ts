import { Resources } from '../../../bench/resources.ts';
import { ledgerDirectory } from '../../../test/harness/ledger-directory.ts';
import {
  embeddedServerOf,
  type ServiceProcess,
  type ServiceSettings,
  startService,
} from '../../../test/harness/process.ts';
import { pause, type Setting, Tally } from '../../campaign.ts';
import { untilServing } from '../../generators/load.ts';
import { killPostgres, killTree } from '../../nemeses/kill.ts';

type Settings = Readonly<Record<string, string>>;

/** Service processes on one database. A process that is started again keeps its settings. */
export class Services {
  readonly #main: string | undefined;
  readonly #members: { readonly settings: ServiceSettings; process: ServiceProcess }[] = [];
  /** The last start. It may still be in progress in `killAll`. */
  #starting: Promise<ServiceProcess | undefined> = Promise.resolve(undefined);

  /** `main` overrides the checkout's main file. */
  constructor(main?: string) {
    this.#main = main;
  }

  get urls(): readonly string[] {
    return this.#members.map(({ process }) => process.url);
  }

  process(index: number): ServiceProcess {
    return this.#member(index).process;
  }

  /** Starts one more process. */
  async add(settings: ServiceSettings): Promise<ServiceProcess> {
    const process = await this.#startWith(settings, this.#main);
    this.#members.push({ settings, process });
    return process;
  }

  /** Restarts a process that was stopped or killed. `main` overrides the main file. */
  async start(index: number, main = this.#main): Promise<void> {
    const member = this.#member(index);
    member.process = await this.#startWith(member.settings, main);
  }

  /** Sends SIGTERM and waits for the exit. Returns the exit code and the duration in milliseconds. */
  async stop(index: number): Promise<{ readonly exitCode: number | null; readonly milliseconds: number }> {
    const started = performance.now();
    const exitCode = await this.process(index).stop();
    return { exitCode, milliseconds: performance.now() - started };
  }

  /** Stops all of them. The first one is stopped last, because it may own PostgreSQL. */
  async stopAll(): Promise<void> {
    for (const { process } of this.#members.toReversed()) await process.stop();
  }

  /** Sends SIGKILL to all of them and to the processes that they started. */
  async killAll(): Promise<void> {
    const starting = await this.#starting.catch(() => undefined);
    for (const process of [...this.#members.map((member) => member.process), starting]) {
      if (process === undefined) continue;
      const { pid, exitCode, signalCode } = process.child;
      if (pid !== undefined && exitCode === null && signalCode === null) await killTree(pid);
    }
  }

  #member(index: number) {
    const member = this.#members[index];
    if (member === undefined) throw new Error(`there is no process ${index}`);
    return member;
  }

  #startWith(settings: ServiceSettings, main: string | undefined): Promise<ServiceProcess> {
    const starting = startService({ LOG_LEVEL: 'silent', ...settings }, main);
    this.#starting = starting;
    return starting;
  }
}

/**
 * Everything that a kill can end: services, and PostgreSQL's main process alone or with all of its processes. The service that
 * owns PostgreSQL is started first, because the other one needs it.
 */
const VICTIMS = {
  owner: { services: [0], postgres: 'none' },
  other: { services: [1], postgres: 'none' },
  both_services: { services: [0, 1], postgres: 'none' },
  postmaster: { services: [], postgres: 'main' },
  postgres: { services: [], postgres: 'all' },
  everything: { services: [0, 1], postgres: 'all' },
} as const;
export type Victims = keyof typeof VICTIMS;

/** Alternates between the services and PostgreSQL, with random exceptions. */
export function chooseVictims(kill: number, random: () => number): Victims {
  const pick = (victims: readonly Victims[]) => victims[Math.floor(random() * victims.length)] ?? 'owner';
  if (random() < 0.25) return pick(Object.keys(VICTIMS) as Victims[]);
  return pick(
    kill % 2 === 1 ? ['owner', 'other', 'both_services'] : ['postgres', 'postgres', 'everything', 'postmaster'],
  );
}

/** Callbacks around a kill. */
export type Witness = {
  /** Called when something is about to be killed. */
  readonly kills?: () => void;
  /** Called when the service at this address is about to die. */
  readonly expectDeath: (url: string) => void;
  /** Called when everything that was killed has been restarted. The services may then have new addresses. */
  readonly moved: () => void;
};

/** Settings of two services. */
export type TwoSettings = {
  /** Overrides the checkout's main file. */
  readonly main?: string | undefined;
  readonly ofBoth?: Settings;
  /** Settings of the service without PostgreSQL. */
  readonly ofSecond?: Settings;
};

/** Two services on a new ledger. The first owns PostgreSQL, and the second connects to it. */
export class TwoServices extends Services {
  readonly path: string;
  /** The database's URL. It stays the same when PostgreSQL restarts, so that surviving processes can reconnect. */
  databaseUrl = '';
  /** Whether the ledger's files remain when everything has ended. */
  isKept = false;
  #isStopped = false;
  readonly #end: () => Promise<void>;

  constructor(resources: Resources, { path, remove }: Awaited<ReturnType<typeof ledgerDirectory>>, main?: string) {
    super(main);
    this.path = path;
    this.#end = resources.add('two services and their ledger', async () => {
      if (!this.#isStopped) await this.killAll();
      if (!this.isKept) await remove();
    });
  }

  /** The settings for a further service on the same ledger. */
  settings(): ServiceSettings {
    return { DATABASE_URL: this.databaseUrl, DATA_DIR: this.path, LOG_LEVEL: 'silent' };
  }

  /** The service that owns PostgreSQL. */
  get owner(): ServiceProcess {
    return this.process(0);
  }

  get other(): ServiceProcess {
    return this.process(1);
  }

  get both(): readonly [ServiceProcess, ServiceProcess] {
    return [this.owner, this.other];
  }

  override async killAll(): Promise<void> {
    await super.killAll();
    await killPostgres(this.path, true).catch(() => undefined);
  }

  /** Stops both, and removes the ledger. */
  async end(): Promise<void> {
    await this.stopAll();
    this.#isStopped = true;
    await this.#end();
  }

  /**
   * Kills processes, restarts the services, and waits until both create transfers. Adds the time of the recovery to the
   * tally, and a violation if it never happens. If only PostgreSQL was killed, it is killed again during recovery in
   * one of ten cases.
   */
  async kill(victims: Victims, random: () => number, tally: Tally, witness: Witness): Promise<void> {
    const { kills, expectDeath, moved } = witness;
    tally.add(`kills_${victims}`);
    const killedAt = performance.now();
    const { services: dying, postgres } = VICTIMS[victims];
    kills?.();
    for (const index of dying) expectDeath(this.process(index).url);
    const killing: Promise<unknown>[] = dying.map((index) => this.process(index).kill());
    if (postgres !== 'none') killing.push(killPostgres(this.path, postgres === 'all'));
    await Promise.all(killing);
    for (const index of dying) await this.start(index);
    moved();
    if (dying.length === 0 && random() < 0.1) {
      await pause(random() * 200);
      kills?.();
      await killPostgres(this.path, true).catch(() => undefined);
    }
    const rests = await Promise.all(this.urls.map((url) => untilServing(url)));
    if (rests.includes(Number.POSITIVE_INFINITY))
      return tally.violate('recovery', [`no transfer within 60 s of: ${victims}`]);
    for (const what of ['recovery', `recovery_${victims}`]) tally.time(what, performance.now() - killedAt);
  }
}

/** Starts two services. Ending `resources` kills both and removes the ledger. */
export async function startTwoServices(
  resources = new Resources(),
  { main, ofBoth = {}, ofSecond = {} }: TwoSettings = {},
): Promise<TwoServices> {
  const services = new TwoServices(resources, await ledgerDirectory(), main);
  await services.add({ ...ofBoth, DATA_DIR: services.path });
  services.databaseUrl = (await embeddedServerOf(services.path)).databaseUrl;
  await services.add({ ...ofBoth, ...ofSecond, ...services.settings() });
  return services;
}

/**
 * Runs part of a campaign on two services with a separate tally, because other ledgers may run at the same time. Keeps the
 * files of a ledger with a violation, except in the negative control.
 */
export async function withTwoServices(
  { main, resources }: Setting,
  tally: Tally,
  ledger: number,
  settings: TwoSettings,
  run: (services: TwoServices, found: Tally, started: Resources) => Promise<void>,
): Promise<void> {
  const [started, found] = [new Resources(), new Tally()];
  let services: TwoServices | undefined;
  const end = resources.add('the services and their ledger', async () => {
    if (services !== undefined && found.violations.length > 0 && main === undefined) {
      services.isKept = true;
      found.violate(`ledger ${ledger}`, [`its files are in ${services.path}`]);
    }
    await started.endAll(() => undefined);
  });
  try {
    services = await startTwoServices(started, { main, ...settings });
    await run(services, found, started);
    await services.stopAll();
  } finally {
    await end();
    tally.take(found);
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
