import { READINESS, type ReadinessReason } from '../../domain/service-status.ts';
import { newId } from '../foundation/ids.ts';
import type { Database } from '../store/connection/database.ts';
import type { Databases } from '../store/connection/databases.ts';
import { DISK_FULL, READ_ONLY, StoreFailure } from '../store/connection/failure.ts';
import { FORCE_A_FILE, TRY_TO_WRITE } from '../store/connection/standby.ts';
import { COUNT_OPERATOR_KEYS } from '../store/key.ts';
import type { SchemaState } from '../store/migrations/compatibility.ts';

// Invariant: Ready means that a transfer can be committed; every other state is named
// Tested by: `test/start/readiness.test.ts`, `test/faults/read-only.test.ts`, `test/faults/few-connections.test.ts`

/** A check that takes longer has failed, because health probes expect a response within two seconds. */
const CHECK_TIMEOUT_MILLISECONDS = 1500;

const CONFIRM_TIMEOUT_MILLISECONDS = 1000;

/**
 * How long a result is reused. Results are reused because the check needs no key and is not rate limited. A probe must notice a
 * lost standby within two seconds. This time plus the maximum wait for a standby is well below that.
 */
const CACHE_MILLISECONDS = 250;

/** How long the service is not ready after a failed commit, unless a later commit has succeeded. */
const FAILED_COMMIT_MILLISECONDS = 5000;

/** How long a lack of connections is reported. This is longer than the ten seconds between two probes. */
const SHORT_MILLISECONDS = 30_000;

/** How often the schema is checked while readiness is requested. Its table has one row per migration. */
const SCHEMA_MILLISECONDS = 1_000;

/** How often the state is checked if no one requests it, so that the log shows changes. */
const WATCH_MILLISECONDS = 10_000;

/** The SQLSTATE of a server that is starting, recovering or shutting down. */
const CANNOT_CONNECT_NOW = '57P03';

const SCHEMA_REASONS: Readonly<Record<SchemaState, ReadinessReason>> = {
  current: 'ready',
  older: 'schema_older',
  newer_usable: 'schema_newer',
  newer_unusable: 'schema_too_new',
};

export type ReadinessSources = {
  readonly databases: Pick<Databases, 'application' | 'health'>;
  /** The state of the embedded server, and whether its disk is full. Undefined for an external server. */
  readonly embedded?: () => 'running' | 'starting' | 'stopped' | 'failed' | 'disk_full';
  readonly findSchema: () => Promise<SchemaState>;
  /** Whether the process may open fewer connections than configured. */
  readonly isLimited?: boolean;
  /** Called when the state has changed, and at startup if the service is not ready. */
  readonly onChange?: (reason: ReadinessReason, before: ReadinessReason) => void;
};

export type ReadinessCheck = {
  /**
   * Returns whether operations can be served, or the reason why not. Never throws. It uses a connection of the pool for transfers,
   * so that it fails if none is available. Concurrent requests share one check. Its result is reused for a quarter of a second,
   * unless a connection is lost in the meantime.
   */
  readonly find: () => Promise<ReadinessReason>;
  readonly latest: () => { readonly reason: ReadinessReason; readonly since: Date };
  /** Runs a first check. Its result is not reported, because the service is not in use yet. */
  readonly warmUp: () => Promise<void>;
  readonly stop: () => void;
};

/** Checks the readiness on request, and at intervals so that every change is noticed. */
export function openReadiness(sources: ReadinessSources): ReadinessCheck {
  const check = new Check(sources);
  const timer = setInterval(() => void check.find(), WATCH_MILLISECONDS).unref();
  return {
    find: () => check.find(),
    latest: () => check.latest,
    warmUp: () => check.warmUp(),
    stop: () => clearInterval(timer),
  };
}

class Check {
  readonly #sources: ReadinessSources;
  readonly #database: Database;
  #checking: Promise<ReadinessReason> | undefined;
  #kept: { readonly reason: ReadinessReason; readonly until: number; readonly losses: number } | undefined;
  #schema: { readonly reason: ReadinessReason; readonly until: number } = { reason: 'ready', until: 0 };
  latest: { readonly reason: ReadinessReason; readonly since: Date } = { reason: 'ready', since: new Date() };

  constructor(sources: ReadinessSources) {
    this.#sources = sources;
    this.#database = sources.databases.application.forProgram();
  }

  async find(): Promise<ReadinessReason> {
    const { databases, onChange } = this.#sources;
    const { losses, commitFailedAt, committedAt, isDiskFull } = databases.health();
    const isRecent = performance.now() - commitFailedAt < FAILED_COMMIT_MILLISECONDS;
    let reason: ReadinessReason;
    if (isRecent && commitFailedAt > committedAt) reason = isDiskFull ? 'disk_full' : 'write_failing';
    else if (this.#kept !== undefined && this.#kept.until > performance.now() && this.#kept.losses === losses) {
      ({ reason } = this.#kept);
    } else {
      this.#checking ??= this.#check();
      reason = (await inTime(this.#checking)) ?? this.#silence(undefined);
    }
    const before = this.latest.reason;
    if (reason !== before) {
      this.latest = { reason, since: new Date() };
      onChange?.(reason, before);
    }
    return reason;
  }

  async warmUp(): Promise<void> {
    this.#checking ??= this.#check();
    await this.#checking;
  }

  async #check(): Promise<ReadinessReason> {
    const { losses } = this.#sources.databases.health();
    const written = await this.#tryToWrite();
    const reason = written === 'ready' ? await this.#findShortage() : written;
    this.#kept = { reason, until: performance.now() + CACHE_MILLISECONDS, losses };
    this.#checking = undefined;
    return reason;
  }

  /** Returns the state of a service that can write: a problem with the schema, a lack of connections, or ready. */
  async #findShortage(): Promise<ReadinessReason> {
    const schema = await this.#findSchema();
    if (!READINESS[schema].isReady) return schema;
    const { databases, isLimited } = this.#sources;
    const isShort = performance.now() - databases.health().shortAt < SHORT_MILLISECONDS;
    return isShort || isLimited === true ? 'few_connections' : schema;
  }

  async #findSchema(): Promise<ReadinessReason> {
    if (this.#schema.until > performance.now()) return this.#schema.reason;
    // If the schema cannot be read, the next check finds the reason in the database.
    const found = await this.#sources.findSchema().catch(() => undefined);
    const reason = found === undefined ? this.#schema.reason : SCHEMA_REASONS[found];
    this.#schema = { reason, until: performance.now() + SCHEMA_MILLISECONDS };
    return reason;
  }

  async #tryToWrite(): Promise<ReadinessReason> {
    try {
      const tried = await this.#database.transact({
        batchId: newId(),
        load: { forced: FORCE_A_FILE, tried: TRY_TO_WRITE },
        decide: ({ tried: [row] }) => ({ result: row, writes: [], readsOnly: true }),
      });
      if (tried?.read_only !== false) return 'database_read_only';
      if (tried.lacks_standby === true) return 'standby_not_set';
      if (tried.replicated === null) return 'ready';
      const deadline = performance.now() + CONFIRM_TIMEOUT_MILLISECONDS;
      return (await this.#database.confirm(String(tried.replicated), deadline)) ? 'ready' : 'write_failing';
    } catch (error) {
      if (!(error instanceof StoreFailure)) return 'write_failing';
      if (error.crowded) return 'no_connection';
      if (error.sqlState === READ_ONLY) return 'database_read_only';
      if (error.connectionLost) return this.#silence(error.sqlState);
      if (error.sqlState === DISK_FULL) return 'disk_full';
      return 'write_failing';
    }
  }

  /**
   * Returns the reason why the database does not respond: from the supervisor of the embedded server, or from the error
   * of an external server.
   */
  #silence(sqlState: string | undefined): ReadinessReason {
    const state = this.#sources.embedded?.() ?? 'running';
    if (state === 'disk_full') return 'disk_full';
    if (state === 'failed' || state === 'stopped') return `database_${state}`;
    const isStarting = state === 'starting' || sqlState === CANNOT_CONNECT_NOW;
    if (isStarting) return 'database_starting';
    return 'database_silent';
  }
}

async function inTime(checking: Promise<ReadinessReason>): Promise<ReadinessReason | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), CHECK_TIMEOUT_MILLISECONDS);
  });
  const reason = await Promise.race([checking, tooLate]);
  clearTimeout(timer);
  return reason;
}

export async function hasOperatorKey(database: Database): Promise<boolean> {
  const [row] = await database.read(COUNT_OPERATOR_KEYS);
  return row !== undefined && row.count !== 0n;
}
