import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { toWireId } from '../../../domain/identifier.ts';
import type { Database } from '../../store/connection/database.ts';
import { readHeads, toHeads } from '../../store/events/event-positions.ts';
import type { Attempt } from '../../store/webhooks/attempt.ts';
import { readRequestedDeliveries, type StoredDelivery, toDeliveries } from '../../store/webhooks/delivery.ts';
import { ALL_EVENTS } from '../../subjects/events/event-news.ts';
import type { Vault } from '../../subjects/webhooks/vault.ts';
import type { Sender } from '../outbound/sender.ts';
import { Catalog } from './catalog.ts';
import { Dispatcher } from './dispatcher.ts';
import { fromEvent, type Item } from './endpoint/definition.ts';
import type { DeliveryContext, Endpoint } from './endpoint/endpoint.ts';
import type { Notice, Outcome } from './judge.ts';
import { Leases } from './leases.ts';
import { giveNotice } from './notices.ts';
import { OutcomeWriter } from './outcome-writer.ts';
import type { Deliveries } from './start-delivery.ts';

/** How often this process renews its leases, and reads changed webhooks and due events. */
const POLL_MILLISECONDS = 1_000;

/** How often to check for events that other processes have numbered, if there are other processes. */
const HEAD_POLL_MILLISECONDS = 100;

/** Maximum number of new tests and resends to read at once. It is small, because the leases must be renewed in time. */
const REQUESTED_COUNT = 50;

/** If a webhook has more tests and resends in memory than this, no more are read, because its receiver may not respond. */
const MAX_REQUESTED = 20;

/** Time limit for requests in flight when the service stops. Requests that take longer are aborted, and sent again later. */
const MAX_DRAIN_MILLISECONDS = 3_000;

const DRAIN_POLL_MILLISECONDS = 10;

export type DelivererParts = {
  readonly database: Database;
  readonly sender: Sender;
  readonly vault: Vault;
  /** Called only for the first of several failures in a row. */
  readonly onFailure: (error: unknown) => void;
  /** Called once a second with the results of attempts. Not called if there were none and the number in flight is unchanged. */
  readonly onDeliveries?: (deliveries: Deliveries) => void;
  readonly onNotice: (sentence: string, webhookId: string) => void;
};

/** Delivers events to the webhooks of the shards that this process holds. */
export class Deliverer {
  readonly #parts: DelivererParts;
  readonly #owner = randomUUID();
  readonly #leases: Leases;
  readonly #catalog: Catalog;
  readonly #dispatcher: Dispatcher;
  readonly #writer: OutcomeWriter;
  readonly #context: DeliveryContext;
  #polling: Promise<void> | undefined;
  #pollAgain = false;
  #pollTimer: NodeJS.Timeout | undefined;
  readonly #headTimer: NodeJS.Timeout;
  #isPollingHead = false;
  #lastNumber = 0;
  #isFailing = false;
  /** Whether webhooks may have stopped because of a failure since the last poll. */
  #mustWake = false;
  #isStopping = false;
  #ended = { succeeded: 0, failed: 0, timedOut: 0 };
  #lastInFlight = 0;

  constructor(parts: DelivererParts) {
    this.#parts = parts;
    const { database, sender, vault } = parts;
    this.#leases = new Leases(database, this.#owner);
    this.#writer = new OutcomeWriter(database, this.#owner, {
      onStored: (outcome) => this.#afterStored(outcome),
      onFailure: (error) => this.#noteFailure(error),
      onLost: (endpoint) => this.#catalog.drop(endpoint),
    });
    this.#dispatcher = new Dispatcher({
      sender,
      maySend: () => !this.#isStopping && this.#leases.areValid,
      onOutcome: (outcome) => this.#takeOutcome(outcome),
    });
    this.#context = {
      database,
      queue: (endpoint) => this.#dispatcher.queue(endpoint),
      touch: (endpoint) => this.#writer.touch(endpoint),
      forgetDelivery: (endpoint, row) => this.#forgetDelivery(endpoint, row),
      stored: () => this.#writer.stored(),
      onFailure: (error) => {
        this.#mustWake = true;
        this.#noteFailure(error);
      },
      onDeleted: (endpoint, oldest) => this.#noteDeleted(endpoint, oldest),
    };
    this.#catalog = new Catalog(vault, this.#context);
    this.#headTimer = setInterval(() => void this.#pollHead(), HEAD_POLL_MILLISECONDS);
    this.poll();
  }

  /** Reads changed webhooks, and requested tests and resends, immediately. */
  poll(): void {
    if (this.#isStopping) return;
    this.#pollAgain = true;
    if (this.#polling !== undefined) return;
    clearTimeout(this.#pollTimer);
    this.#polling = this.#pollWhileRequested().finally(() => {
      this.#polling = undefined;
      if (!this.#isStopping) this.#pollTimer = setTimeout(() => this.poll(), POLL_MILLISECONDS);
    });
  }

  /** Called when the relay of this process has given positions to events of these programs. */
  announce(programIds: readonly string[]): void {
    for (const programId of programIds) this.#catalog.findFeed(programId)?.noteNews();
    this.#catalog.findFeed(null)?.noteNews();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#pollTimer);
    clearInterval(this.#headTimer);
    this.#dispatcher.stop();
    await this.#polling;
    const until = performance.now() + MAX_DRAIN_MILLISECONDS;
    while (this.#dispatcher.flights > 0 && performance.now() < until) await sleep(DRAIN_POLL_MILLISECONDS);
    this.#parts.sender.close();
    while (this.#dispatcher.flights > 0) await sleep(DRAIN_POLL_MILLISECONDS);
    for (const endpoint of this.#catalog.endpoints) this.#touchIfMoved(endpoint);
    await this.#writer.close();
    this.#reportDeliveries();
    // If this fails, other processes take the shards when their leases expire.
    await this.#leases.close().catch((error: unknown) => this.#noteFailure(error));
  }

  async #pollWhileRequested(): Promise<void> {
    while (this.#pollAgain && !this.#isStopping) {
      this.#pollAgain = false;
      try {
        await this.#pollOnce();
        this.#isFailing = false;
      } catch (error) {
        this.#mustWake = true;
        this.#noteFailure(error);
      }
    }
  }

  async #pollOnce(): Promise<void> {
    this.#reportDeliveries();
    const wereValid = this.#leases.areValid;
    await this.#leases.renew();
    await this.#catalog.refresh(this.#leases.held);
    await this.#releaseExcess();
    await this.#readRequested();
    await this.#readHeads();
    const wakesAll = this.#mustWake || !wereValid;
    this.#mustWake = false;
    for (const endpoint of this.#catalog.endpoints) {
      this.#touchIfMoved(endpoint);
      if (wakesAll || endpoint.isHeldBack || endpoint.retries.isDue) endpoint.wake();
    }
  }

  /** Releases the shards beyond this process's share that have no request in flight. */
  async #releaseExcess(): Promise<void> {
    const { excess, held } = this.#leases;
    const leaving = new Set(held.slice(held.length - excess).map(({ shard }) => shard));
    const busy = new Set<number>();
    for (const endpoint of this.#catalog.endpoints) {
      const { shard } = endpoint.held;
      const wasDraining = endpoint.isDraining;
      endpoint.isDraining = leaving.has(shard);
      if (wasDraining && !endpoint.isDraining) endpoint.wake();
      if (endpoint.isDraining && endpoint.inFlight > 0) busy.add(shard);
    }
    const free = [...leaving].filter((shard) => !busy.has(shard));
    if (free.length === 0) return;
    await this.#writer.stored();
    for (const endpoint of [...this.#catalog.endpoints]) {
      if (free.includes(endpoint.held.shard)) this.#catalog.drop(endpoint);
    }
    await this.#leases.release(free);
  }

  async #readRequested(): Promise<void> {
    const { database } = this.#parts;
    const shards = this.#leases.held.map(({ shard }) => shard);
    const endpoints = [...this.#catalog.endpoints];
    const except = endpoints.filter(isFull).map(({ webhookId }) => webhookId);
    // The statement also returns tests and resends that are already in memory, because their rows are deleted only when they
    // are done.
    const known = endpoints.reduce((sum, endpoint) => (isFull(endpoint) ? sum : sum + endpoint.requestedCount), 0);
    const count = REQUESTED_COUNT + known;
    const rows = toDeliveries(await database.read(readRequestedDeliveries({ shards, except, count })));
    for (const row of rows) {
      const endpoint = this.#catalog.find(row.webhookId);
      if (endpoint?.noteRequested(row) !== true) continue;
      try {
        await this.#queueRequested(endpoint, row);
      } catch (error) {
        endpoint.forgetRequested(row);
        throw error;
      }
    }
  }

  async #queueRequested(endpoint: Endpoint, row: StoredDelivery): Promise<void> {
    const { eventId, position, tries, nextAt: dueAt, body } = row;
    const common = { tries, dueAt, place: null, replay: null } as const;
    if (row.kind === 'test' && body !== null) {
      endpoint.queueRequested({
        ...common,
        kind: 'test',
        eventId,
        eventType: 'webhook.tested',
        position,
        body,
        traceparent: null,
      });
      return;
    }
    const found = await endpoint.feed.readOne(eventId);
    const item: Item | undefined = found && {
      ...common,
      kind: 'resend',
      ...fromEvent(found, endpoint.definition.payload),
    };
    if (item === undefined) this.#forgetDelivery(endpoint, row);
    else endpoint.queueRequested(item);
  }

  /** Checks for new events that other processes have numbered. */
  async #readHeads(): Promise<void> {
    const feeds = [...this.#catalog.feeds];
    if (feeds.length === 0) return;
    const programIds = feeds.map(({ headId }) => headId);
    const heads = toHeads(await this.#parts.database.read(readHeads({ programIds })));
    for (const feed of feeds) feed.noteHead(heads.get(feed.headId) ?? 0);
  }

  async #pollHead(): Promise<void> {
    if (this.#leases.workers < 2 || this.#isPollingHead || this.#isStopping || this.#isFailing) return;
    this.#isPollingHead = true;
    try {
      const heads = toHeads(await this.#parts.database.read(readHeads({ programIds: [ALL_EVENTS] })));
      const number = heads.get(ALL_EVENTS) ?? 0;
      if (number !== this.#lastNumber) await this.#readHeads();
      this.#lastNumber = number;
    } catch {
      // Not reported here, because the next poll will report the failure.
    } finally {
      this.#isPollingHead = false;
    }
  }

  #touchIfMoved(endpoint: Endpoint): void {
    if (!endpoint.isDropped && endpoint.hasMoved) this.#writer.touch(endpoint);
  }

  /** Called at the beginning of a poll, before anything can fail. */
  #reportDeliveries(): void {
    const inFlight = this.#dispatcher.flights;
    const { succeeded, failed, timedOut } = this.#ended;
    if (succeeded + failed + timedOut === 0 && inFlight === this.#lastInFlight) return;
    this.#parts.onDeliveries?.({ ...this.#ended, inFlight });
    this.#ended = { succeeded: 0, failed: 0, timedOut: 0 };
    this.#lastInFlight = inFlight;
  }

  #takeOutcome(outcome: Outcome): void {
    const { endpoint, notice, attempt } = outcome;
    if (attempt !== null) this.#ended[endOf(attempt)] += 1;
    if (notice === 'gone' || notice === 'disabled') endpoint.isHalted = true;
    if (notice === 'failing') endpoint.isFailingTold = true;
    this.#writer.add(outcome);
  }

  #afterStored({ endpoint, notice, revision }: Outcome): void {
    if (notice !== null) void this.#giveNotice(endpoint, notice, revision);
    if (endpoint.replay?.isComplete) this.#writer.touch(endpoint);
  }

  async #giveNotice(endpoint: Endpoint, notice: Notice, revision: number): Promise<void> {
    const { webhookId, held } = endpoint;
    while (!endpoint.isDropped && !this.#isStopping) {
      try {
        const isGiven = await giveNotice(
          this.#parts.database,
          { webhookId, revision, held, owner: this.#owner },
          notice,
        );
        if (isGiven) this.#parts.onNotice(NOTICES[notice], toWireId('wh', webhookId));
        break;
      } catch (error) {
        this.#noteFailure(error);
        await sleep(POLL_MILLISECONDS);
      }
    }
    this.poll();
  }

  #forgetDelivery(endpoint: Endpoint, { webhookId, kind, eventId, nextAt }: StoredDelivery): void {
    const dueAt = kind === 'event' ? null : nextAt;
    this.#writer.forget({ webhookId, ...endpoint.held, kind, eventId, dueAt }, endpoint);
    endpoint.forgetRequested({ kind, eventId });
  }

  #noteDeleted(endpoint: Endpoint, oldest: number): void {
    this.#parts.onNotice(
      `the next events of a webhook were deleted before they were sent: it continues with ${oldest}`,
      toWireId('wh', endpoint.webhookId),
    );
    this.#writer.touch(endpoint);
  }

  #noteFailure(error: unknown): void {
    if (!this.#isFailing) this.#parts.onFailure(error);
    this.#isFailing = true;
  }
}

function isFull({ requestedCount }: Endpoint): boolean {
  return requestedCount >= MAX_REQUESTED;
}

function endOf({ succeeded, error }: Pick<Attempt, 'succeeded' | 'error'>): 'succeeded' | 'failed' | 'timedOut' {
  if (succeeded) return 'succeeded';
  return error === 'answer_timeout' || error === 'connect_timeout' ? 'timedOut' : 'failed';
}

const NOTICES: Readonly<Record<Notice, string>> = {
  failing: 'a webhook has failed for an hour',
  disabled: 'a webhook has failed for days and was disabled',
  gone: 'a webhook was disabled, because its URL responded with 410',
};
