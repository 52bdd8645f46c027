import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { notify } from '../../../foundation/notify.ts';
import { codeOf } from '../../../foundation/startup-problem.ts';
import { describeRefusals, type HostRefusal, NoWritableHost, TOO_MANY_CONNECTIONS } from '../failure.ts';
import { hasTables, IS_PLACEMENT_IN } from '../placement.ts';
import { DEFAULT_SCHEMA, LIMITS } from '../session-settings.ts';
import { readHostList } from './host-list.ts';

// Invariant: If there are several hosts, the service uses only a host that accepts writes, and never a replaced one
// Kept by: every new connection asks its server; a change of host closes all connections to other hosts, even those in use
// Tested by: `test/store/hosts.test.ts`, `test/faults/hosts.test.ts`

/**
 * The time that remains for the other hosts to respond after the first response of a host that accepts writes, in milliseconds.
 * If a connection takes longer than this, all hosts are asked. A healthy host needs only a few milliseconds.
 */
const LEAD_MILLISECONDS = 200;

/** The pause before an unusable host is asked again while other hosts have not responded. */
const PAUSE_MILLISECONDS = 500;

/** How long the result of a failed search is reused. Searches must not slow down a standby that is being promoted. */
const FAILED_MILLISECONDS = 100;

/** The pause before a request looks again for a host that accepts writes. */
const AGAIN_MILLISECONDS = 50;

/** Detects that a machine is gone. The kernel of a running machine responds immediately, even if its PostgreSQL is slow. */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 30_000 } as const;

/** A host as configured, such as `db1:5432` or the path of a socket, and the time when this process began to use it. */
export type UsedHost = { readonly name: string; readonly since: Date };

/** A host of DATABASE_URL, and the URL as if it named only this host. */
type Host = { readonly name: string; readonly connectionString: string };

type Found = { readonly host: Host; readonly history: History | undefined };

type Opened = { readonly host: Host; readonly late: NodeJS.Timeout; readonly cut: () => void };

const known = new Map<string, Hosts>();

/** Returns the hosts of a DATABASE_URL. All connections of a thread share them. Undefined for the embedded PostgreSQL. */
export function hostsOf(settings: object): Hosts | undefined {
  if (!('connectionString' in settings) || typeof settings.connectionString !== 'string') return undefined;
  const { connectionString } = settings;
  const schema = 'schema' in settings && typeof settings.schema === 'string' ? settings.schema : DEFAULT_SCHEMA;
  const key = `${schema} ${connectionString}`;
  const hosts = known.get(key) ?? new Hosts(connectionString, schema);
  known.set(key, hosts);
  return hosts;
}

/**
 * The hosts of a DATABASE_URL: which of them is in use, since when, and why the others cannot be used.
 *
 * If there are several hosts, or `target_session_attrs=read-write` is set, all hosts are asked at the same time whether they accept
 * writes. A host that does is trusted until there is a reason for doubt. Otherwise, the service connects directly to the single
 * host.
 */
export class Hosts {
  readonly mustWrite: boolean;
  leadMilliseconds = LEAD_MILLISECONDS;
  readonly #schema: string;
  readonly #all: readonly [Host, ...Host[]];
  readonly #refusals = new Map<Host, HostRefusal>();
  readonly #open = new Map<pg.ClientBase, Opened>();
  readonly #searches = new Map<number, Promise<void>>();
  readonly #listeners = new Set<() => void>();
  #current: (UsedHost & { readonly host: Host }) | undefined;
  #history: History | undefined;
  #isTrusted = false;

  /** `schema` is the schema of the tables. */
  constructor(url: string, schema: string) {
    this.#schema = schema;
    const { urls, mustWrite } = readHostList(url);
    const [first, ...others] = urls;
    this.#all = [toHost(first), ...others.map(toHost)];
    this.mustWrite = mustWrite;
  }

  /** The host that was last used, or undefined before the first connection. */
  get used(): UsedHost | undefined {
    return this.#current && { name: this.#current.name, since: this.#current.since };
  }

  /** Describes each unusable host and the reason. Undefined if there is none. */
  describe(): string | undefined {
    if (!this.mustWrite || this.#isTrusted) return undefined;
    return describeRefusals(this.#all.map((host) => this.#refusals.get(host) ?? noResponse(host)));
  }

  /** Calls a listener each time a different host comes into use. Returns a function that removes the listener. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Connects when it is known which host accepts writes. `attempt` creates its clients with {@link clientOf} or {@link poolClient}.
   * If the host was just lost, tries once more. While no host accepts writes, tries until `primaryBy` (`performance.now()`). Then
   * it throws {@link NoWritableHost}, or the error of `attempt`. Waits `limitMilliseconds` for a host that does not respond. 0
   * means no limit.
   */
  async connect<Client>(attempt: () => Promise<Client>, limitMilliseconds: number, primaryBy = 0): Promise<Client> {
    if (!this.mustWrite) {
      const client = await attempt();
      this.#current ??= { name: this.#all[0].name, since: new Date(), host: this.#all[0] };
      return client;
    }
    for (let isAgain = false; ; isAgain = true) {
      try {
        if (!this.#isTrusted) await this.#search(limitMilliseconds);
        return await attempt();
      } catch (error) {
        if (codeOf(error) === TOO_MANY_CONNECTIONS) throw error;
        this.doubt();
        const isOver = performance.now() >= primaryBy;
        if (isOver && (isAgain || error instanceof NoWritableHost)) throw error;
        if (!isOver) await sleep(AGAIN_MILLISECONDS);
      }
    }
  }

  clientOf(config: pg.ClientConfig): pg.Client {
    if (!this.mustWrite) return new pg.Client(config);
    const host = this.#current?.host ?? this.#all[0];
    return this.#watch(new pg.Client({ ...config, connectionString: host.connectionString }), host);
  }

  /** The option that makes a `pg.Pool` create the same clients as {@link clientOf}. */
  get poolClient(): Pick<pg.PoolConfig, 'Client'> {
    if (!this.mustWrite) return {};
    const next = (): Host => this.#current?.host ?? this.#all[0];
    const watch = (client: pg.Client, host: Host): pg.Client => this.#watch(client, host);
    return {
      Client: class extends pg.Client {
        constructor(config: pg.ClientConfig = {}) {
          const host = next();
          super({ ...config, connectionString: host.connectionString });
          watch(this, host);
        }
      },
    };
  }

  #watch(client: pg.Client, host: Host): pg.Client {
    // A slow connection may be to a host that is gone or stopped. So another host is searched for until the connection is
    // established.
    const late = setInterval(() => this.doubt(), this.leadMilliseconds).unref();
    this.#open.set(client, { host, late, cut: () => void client.connection.stream.destroy() });
    client.once('end', () => this.#forget(client));
    return client;
  }

  /**
   * Applies settings to a new connection, and checks in the same packet that its host accepts writes. Throws {@link NoWritableHost}
   * if it does not.
   */
  async require(client: pg.ClientBase, apply?: () => Promise<unknown>): Promise<void> {
    if (!this.mustWrite) {
      await apply?.();
      return;
    }
    const opened = this.#open.get(client);
    const refusal = await findReadOnly(client, this.#schema, apply).finally(() => clearInterval(opened?.late));
    if (refusal === undefined) {
      if (opened?.host === this.#current?.host) this.#isTrusted = true;
      return;
    }
    const host = opened?.host ?? this.#all[0];
    this.#refusals.set(host, { host: host.name, ...refusal });
    this.doubt();
    throw new NoWritableHost([{ host: host.name, ...refusal }]);
  }

  /** Returns whether a broken connection was to the host in use, and not to a replaced host. */
  isUsedBy(client: pg.ClientBase): boolean {
    return this.#open.has(client);
  }

  /** Notes that the host may be lost. All hosts are asked again immediately, and new connections wait for the result. */
  doubt(): void {
    if (!this.mustWrite) return;
    this.#isTrusted = false;
    this.#search(LIMITS.connect).catch(() => undefined);
  }

  /** All callers with the same limit wait for the same search. */
  #search(limitMilliseconds: number): Promise<void> {
    const running = this.#searches.get(limitMilliseconds);
    if (running !== undefined) return running;
    const search = this.#find(limitMilliseconds).then((found) => this.#use(found));
    this.#searches.set(limitMilliseconds, search);
    const end = (): void => void this.#searches.delete(limitMilliseconds);
    search.then(end, () => setTimeout(end, FAILED_MILLISECONDS).unref());
    return search;
  }

  #use({ host, history }: Found): void {
    // Another search or connection has already found the host.
    if (this.#isTrusted && !isOlder(this.#history, history)) return;
    this.#isTrusted = true;
    this.#history = history ?? this.#history;
    const before = this.#current?.host;
    if (before === host) return;
    this.#current = { name: host.name, since: new Date(), host };
    if (before === undefined) return;
    // Connections in use are cut too, because their results would come from a replaced server. For example, the new primary may
    // lack their commits.
    for (const [client, opened] of [...this.#open]) {
      if (opened.host === host) continue;
      this.#forget(client);
      opened.cut();
    }
    for (const listener of this.#listeners) notify(listener);
  }

  #forget(client: pg.ClientBase): void {
    clearInterval(this.#open.get(client)?.late);
    this.#open.delete(client);
  }

  /**
   * Asks all hosts at the same time. A host that accepts writes may not have noticed yet that a promoted standby has replaced
   * it. So after the first response, the other hosts get a moment to respond. The host with the newest history wins. If several
   * have it, the last used host wins.
   */
  async #find(limitMilliseconds: number): Promise<Found> {
    const { promise, resolve, reject } = Promise.withResolvers<Found>();
    const over = new AbortController();
    const last = this.#current?.host;
    const refused = new Map<Host, HostRefusal>();
    const usable: Found[] = [];
    let lead: NodeJS.Timeout | undefined;
    const choose = (): void => {
      const isBetter = (one: Found, best: Found): boolean =>
        isOlder(best.history, one.history) || (one.host === last && !isOlder(one.history, best.history));
      if (usable.length > 0) resolve(usable.reduce((best, one) => (isBetter(one, best) ? one : best)));
      else reject(failureOf([...refused.values()]));
    };
    const ask = async (host: Host): Promise<void> => {
      while (!over.signal.aborted) {
        const answer = await this.#ask(host, limitMilliseconds, over.signal);
        if (over.signal.aborted) return;
        const isUsable = 'history' in answer;
        if (isUsable) {
          usable.push(answer);
          refused.delete(host);
          this.#refusals.delete(host);
          lead ??= setTimeout(choose, this.leadMilliseconds);
        } else {
          refused.set(host, answer);
          this.#refusals.set(host, answer);
        }
        if (usable.length + refused.size === this.#all.length) choose();
        if (isUsable) return;
        await sleep(PAUSE_MILLISECONDS, undefined, { signal: over.signal }).catch(() => undefined);
      }
    };
    this.#refusals.clear();
    for (const host of this.#all) void ask(host);
    return promise.finally(() => {
      clearTimeout(lead);
      over.abort();
    });
  }

  /** Returns whether a host accepts writes now. If not, returns the reason. */
  async #ask(host: Host, limitMilliseconds: number, over: AbortSignal): Promise<Found | HostRefusal> {
    const { name, connectionString } = host;
    const client = new pg.Client({ connectionString, ...KEEP_ALIVE, pipeline: true });
    client.on('error', () => undefined);
    const cut = (): void => void client.connection.stream.destroy();
    let isSilent = false;
    const end = (): void => {
      isSilent = true;
      cut();
    };
    const timer = limitMilliseconds === 0 ? undefined : setTimeout(end, limitMilliseconds);
    over.addEventListener('abort', cut, { once: true });
    try {
      await client.connect();
      const refusal = await findReadOnly(client, this.#schema, () =>
        client.query('set default_transaction_read_only to off'),
      );
      if (refusal !== undefined) return { host: name, ...refusal };
      const history = await readHistory(client);
      if (!isOlder(history, this.#history)) return { host, history };
      const reason = 'it was replaced by a standby that was promoted';
      return { host: name, reason, isReadOnly: true };
    } catch (cause) {
      const reason = isSilent ? `no response within ${limitMilliseconds} ms` : messageOf(cause);
      return { host: name, reason, isReadOnly: false, cause };
    } finally {
      clearTimeout(timer);
      over.removeEventListener('abort', cut);
      client.end().catch(() => undefined);
    }
  }
}

/** Finds out with `pg` where a URL leads, even with PGHOST and PGPORT. This client never connects. */
function toHost(connectionString: string): Host {
  const { host, port } = new pg.Client({ connectionString });
  return { name: `${host.includes(':') ? `[${host}]` : host}:${port}`, connectionString };
}

function noResponse({ name }: Host): HostRefusal {
  return { host: name, reason: 'no response yet', isReadOnly: false };
}

/** If a host has no free connection, the service waits for it as if it were the only host. */
function failureOf(refusals: readonly HostRefusal[]): unknown {
  const crowded = refusals.find(({ cause }) => codeOf(cause) === TOO_MANY_CONNECTIONS);
  return crowded?.cause ?? new NoWritableHost(refusals);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || String(codeOf(error)) : String(error);
}

type ReadOnlyHost = { readonly reason: string; readonly isReadOnly: true };

/**
 * Whether the host is a standby, and whether the server or the database was made read-only. Operators and providers do that to
 * keep clients away from a replaced primary. A setting of the user does not count, because the service overrides it.
 */
const READ_STATE = `select pg_catalog.pg_is_in_recovery() as "isStandby", ${IS_PLACEMENT_IN} as "isPlacement",
    setting = 'on' and source <> all ('{user,database user,client,session}') as "isReadOnly"
  from pg_catalog.pg_settings where name = 'default_transaction_read_only'`;

/** Some engines have no standbys in PostgreSQL's sense, and report only here that they are read-only. */
const READ_TRANSACTION = `select pg_catalog.current_setting('transaction_read_only') = 'on' as "isReadOnly"`;

type State = { readonly isStandby: boolean; readonly isReadOnly: boolean; readonly isPlacement: boolean };

/**
 * Returns the reason why the tables of a schema cannot be written to on a server, or undefined if they can. Asks the server before
 * and after `apply`, which makes its transactions writable if possible. On a connection with `pipeline`, everything is sent
 * together. This does not rely on the server's announcement (`in_hot_standby`), which is wrong on some engines.
 */
async function findReadOnly(
  client: pg.ClientBase,
  schema: string,
  apply?: () => Promise<unknown>,
): Promise<ReadOnlyHost | undefined> {
  const isPipeline = 'pipeline' in client && client.pipeline === true;
  const state = client.query<State>(READ_STATE, [schema]);
  if (!isPipeline) await state;
  const applied = apply?.();
  if (!isPipeline) await applied;
  const transaction = apply && client.query<Pick<State, 'isReadOnly'>>(READ_TRANSACTION);
  const [found, , foundLater] = await Promise.all([state, applied, transaction]);
  const [{ isStandby, isReadOnly, isPlacement } = { isStandby: false, isReadOnly: false, isPlacement: false }] =
    found.rows;
  if (isStandby) return { reason: 'it is a standby', isReadOnly: true };
  if (isReadOnly || foundLater?.rows[0]?.isReadOnly === true) return { reason: 'it is read-only', isReadOnly: true };
  if (isPlacement && !(await hasTables(client, schema)))
    return { reason: 'the tables are on another node', isReadOnly: true };
  return undefined;
}

/** The identity of the ledger on a server, and how often a standby was promoted in its history. */
type History = { readonly system: string; readonly timeline: number };

const READ_HISTORY = `select system_identifier::text as system,
    pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8) as timeline
  from pg_catalog.pg_control_system()`;

/** Reads the history of a primary. Undefined on an engine that does not show it. */
async function readHistory(client: pg.ClientBase): Promise<History | undefined> {
  try {
    const { rows } = await client.query<{ system: string; timeline: string }>(READ_HISTORY);
    const [row] = rows;
    return row && { system: row.system, timeline: Number.parseInt(row.timeline, 16) };
  } catch {
    return undefined;
  }
}

/**
 * Returns whether a server's history is older than that of another server. If it is, a promoted standby has replaced the first
 * server. Commits that the first server still makes are lost when it follows the new primary.
 */
function isOlder(one: History | undefined, other: History | undefined): boolean {
  return one !== undefined && one.system === other?.system && one.timeline < other.timeline;
}
