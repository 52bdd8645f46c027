import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Health } from '../../../domain/webhooks/health.ts';
import type { Database, Row, Statement } from '../../store/connection/database.ts';
import { StoreFailure } from '../../store/connection/failure.ts';
import { type Attempt, insertAttempts } from '../../store/webhooks/attempt.ts';
import {
  deleteDeliveries,
  type FailedDelivery,
  type FinishedDelivery,
  storeFailedDeliveries,
} from '../../store/webhooks/delivery.ts';
import { moveReplays } from '../../store/webhooks/replay.ts';
import { lockShards } from '../../store/webhooks/shard.ts';
import { lockRevisions, moveCursors, storeHealth } from '../../store/webhooks/state.ts';
import type { Endpoint } from './endpoint/endpoint.ts';
import type { Outcome } from './judge.ts';

// Invariant: Every event that matches a webhook's types is sent to the webhook at least once, and never before the event is
//   committed
// Kept by: the transaction that stores the outcome also moves the cursor; events have positions only after the commit
// Tested by: `test/delivery/processes.test.ts`, `verification/campaigns/webhooks.ts`

/** How long outcomes are collected and then stored together. At 1,000 deliveries a second, there is one commit for ten outcomes. */
const INTERVAL_MILLISECONDS = 10;

const RETRY_MILLISECONDS = 500;

/** Number of lock timeouts and conflicts in a row that are not reported as failures. */
const MAX_QUIET_ATTEMPTS = 10;

const MAX_OUTCOMES = 1_000;

export type WriterReports = {
  readonly onStored: (outcome: Outcome) => void;
  readonly onFailure: (error: unknown) => void;
  /** Called for a webhook that was deleted, or that another process now delivers to. */
  readonly onLost: (endpoint: Endpoint) => void;
};

/** Outcomes that are stored together, and the webhooks whose cursors are stored with them. */
type Batch = {
  readonly outcomes: readonly Outcome[];
  readonly endpoints: ReadonlySet<Endpoint>;
  /** Rows of deliveries that have ended. They are deleted. */
  readonly forgotten: readonly FinishedDelivery[];
};

/**
 * Stores outcomes in batches. Each statement compares the owner and the epoch of the shard, so a process that has lost its lease
 * changes nothing. Storing a batch twice does no harm, so it is stored again after any failure.
 */
export class OutcomeWriter {
  readonly #database: Database;
  readonly #owner: string;
  readonly #reports: WriterReports;
  #outcomes: Outcome[] = [];
  #touched = new Set<Endpoint>();
  #forgotten: FinishedDelivery[] = [];
  #running: Promise<void> | undefined;
  #startedAt = Number.NEGATIVE_INFINITY;
  #isClosing = false;

  constructor(database: Database, owner: string, reports: WriterReports) {
    this.#database = database;
    this.#owner = owner;
    this.#reports = reports;
  }

  add(outcome: Outcome): void {
    this.#outcomes.push(outcome);
    this.#start();
  }

  touch(endpoint: Endpoint): void {
    this.#touched.add(endpoint);
    this.#start();
  }

  forget(row: FinishedDelivery, endpoint: Endpoint): void {
    this.#forgotten.push(row);
    this.touch(endpoint);
  }

  /** Resolves when everything that was added before is stored. */
  async stored(): Promise<void> {
    await this.#running;
    await this.#running;
  }

  /** Stores the remaining outcomes. After this call, a batch that cannot be stored is dropped. */
  async close(): Promise<void> {
    this.#isClosing = true;
    while (this.#running !== undefined) await this.#running;
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      if (this.#hasWork) this.#start();
    });
  }

  get #hasWork(): boolean {
    return this.#outcomes.length > 0 || this.#touched.size > 0;
  }

  async #run(): Promise<void> {
    const waitMilliseconds = this.#startedAt + INTERVAL_MILLISECONDS - performance.now();
    if (waitMilliseconds > 0) await sleep(waitMilliseconds);
    // Collects outcomes of the same turn of the event loop, to store them together.
    else await new Promise((resolve) => setImmediate(resolve));
    this.#startedAt = performance.now();
    const outcomes = this.#outcomes.splice(0, MAX_OUTCOMES);
    const endpoints = new Set([...this.#touched, ...outcomes.map(({ endpoint }) => endpoint)]);
    this.#touched = new Set();
    for (const { item, isPassed } of outcomes) if (isPassed && item.place !== null) item.place.isDone = true;
    await this.#store({ outcomes, endpoints, forgotten: this.#forgotten.splice(0) });
  }

  /** Stores a batch, with retries. If the database refuses the rows of one webhook, the others are not delayed. */
  async #store(batch: Batch): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return this.#finish(batch, await this.#write(batch));
      } catch (error) {
        const isLocked = error instanceof StoreFailure && (error.lockTimeout || error.conflict);
        // A request that changes one of the webhooks holds the lock only briefly.
        if (!isLocked || attempt > MAX_QUIET_ATTEMPTS) this.#reports.onFailure(error);
        if (this.#isClosing) return;
        const isRowAtFault = !isLocked && error instanceof StoreFailure && error.rowAtFault;
        if (isRowAtFault && batch.endpoints.size > 1) {
          for (const part of divide(batch)) await this.#store(part);
          return;
        }
        if (isRowAtFault) {
          for (const endpoint of batch.endpoints) this.#reports.onLost(endpoint);
          return;
        }
        await sleep(RETRY_MILLISECONDS);
      }
    }
  }

  /** Writes a batch. Returns the ids of the webhooks whose shards this process still holds. */
  async #write({ outcomes, endpoints, forgotten }: Batch): Promise<ReadonlySet<string>> {
    const owner = this.#owner;
    const held = [...endpoints].filter(({ isDropped }) => !isDropped);
    const statements: Statement[] = [];
    if (held.length > 0) {
      statements.push(lockShards({ owner, shards: [...new Set(held.map((endpoint) => endpoint.held.shard))] }));
      const changed = held.filter(({ health, storedHealth }) => !isStored(health, storedHealth));
      const webhookIds = changed.map(({ webhookId }) => webhookId);
      if (changed.length > 0) statements.push(lockRevisions({ webhookIds }));
      statements.push(moveCursors({ sent: held.map(toProgress), owner }));
      if (changed.length > 0) statements.push(storeHealth({ sent: changed.map(toStoredHealth), owner }));
      statements.push(...writeDeliveries(outcomes, forgotten, owner));
      const replays = held.flatMap(toMovedReplay);
      if (replays.length > 0) statements.push(moveReplays({ sent: replays, owner }));
    }
    const attempts = outcomes.flatMap(({ attempt }): Attempt[] => (attempt === null ? [] : [attempt]));
    if (attempts.length > 0) statements.push(insertAttempts(attempts));
    const written = held.map((endpoint) => ({ endpoint, health: endpoint.health, definition: endpoint.definition }));
    const unchanged = held.filter(({ health, storedHealth }) => isStored(health, storedHealth));
    const found = await this.#database.inOnePacket(statements);
    const idsOf = (name: string): ReadonlySet<string> => {
      const returned = found[statements.findIndex((statement) => statement.name === name)] ?? [];
      return new Set(returned.map((row: Row) => String(row.webhook_id)));
    };
    const stored = new Set([...unchanged.map(({ webhookId }) => webhookId), ...idsOf('store_webhook_health')]);
    for (const { endpoint, health, definition } of written) {
      // If the webhook was changed in the meantime, the stored health comes from that change.
      const isCurrent = endpoint.definition === definition && stored.has(endpoint.webhookId);
      if (isCurrent) endpoint.storedHealth = health;
    }
    return idsOf('move_webhook_cursors');
  }

  #finish({ outcomes, endpoints }: Batch, held: ReadonlySet<string>): void {
    for (const endpoint of endpoints) {
      if (!endpoint.isDropped && !held.has(endpoint.webhookId)) this.#reports.onLost(endpoint);
    }
    for (const outcome of outcomes) {
      const { failed, finished } = outcome;
      outcome.endpoint.release(outcome.item, failed?.nextAt ?? null, failed !== null || finished.length > 0);
      if (!outcome.endpoint.isDropped) this.#reports.onStored(outcome);
    }
  }
}

function divide({ outcomes, endpoints, forgotten }: Batch): readonly Batch[] {
  return [...endpoints].map((endpoint) => ({
    endpoints: new Set([endpoint]),
    outcomes: outcomes.filter((outcome) => outcome.endpoint === endpoint),
    forgotten: forgotten.filter(({ webhookId }) => webhookId === endpoint.webhookId),
  }));
}

function toProgress(endpoint: Endpoint): Parameters<typeof moveCursors>[0]['sent'][number] {
  const { passed: cursor, ahead } = endpoint.cursor.places;
  endpoint.storedCursor = cursor;
  const { lastSuccessAt, lastFailureAt } = endpoint.health;
  return { webhookId: endpoint.webhookId, ...endpoint.held, cursor, ahead, lastSuccessAt, lastFailureAt };
}

/**
 * Returns whether the health is already stored. Its times do not count, because they are stored with the cursor after every
 * attempt.
 */
function isStored(health: Health, stored: Health): boolean {
  return (
    health.status === stored.status &&
    health.failures === stored.failures &&
    health.failingSince === stored.failingSince &&
    health.probes === stored.probes &&
    health.nextProbeAt === stored.nextProbeAt
  );
}

function toStoredHealth({ webhookId, held, definition, health, isFailingTold }: Endpoint) {
  const { status, failures, failingSince, probes: probeTries, nextProbeAt } = health;
  const { revision } = definition;
  return { webhookId, ...held, revision, status, failures, failingSince, probeTries, nextProbeAt, isFailingTold };
}

function toMovedReplay({ held, replay }: Endpoint) {
  if (replay === null) return [];
  const { replayId, position: cursor, sent: sentCount, isComplete } = replay;
  const state = isComplete ? ('completed' as const) : ('running' as const);
  return [{ replayId, ...held, cursor, sentCount, state }];
}

/** Writes only the last outcome of each event, because a statement can change a row only once. */
function writeDeliveries(
  outcomes: readonly Outcome[],
  forgotten: readonly FinishedDelivery[],
  owner: string,
): readonly Statement[] {
  const failed = new Map<string, FailedDelivery>();
  const finished = new Map<string, FinishedDelivery>();
  for (const row of forgotten) finished.set(`${row.webhookId} ${row.kind} ${row.eventId}`, row);
  for (const outcome of outcomes) {
    if (outcome.endpoint.isDropped) continue;
    for (const row of outcome.finished) {
      const key = `${row.webhookId} ${row.kind} ${row.eventId}`;
      failed.delete(key);
      finished.set(key, row);
    }
    if (outcome.failed === null) continue;
    const key = `${outcome.failed.webhookId} event ${outcome.failed.eventId}`;
    finished.delete(key);
    failed.set(key, outcome.failed);
  }
  const statements: Statement[] = [];
  if (failed.size > 0) statements.push(storeFailedDeliveries({ sent: [...failed.values()], owner }));
  if (finished.size > 0) statements.push(deleteDeliveries({ sent: [...finished.values()], owner }));
  return statements;
}
