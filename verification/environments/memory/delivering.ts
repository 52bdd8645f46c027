import {
  afterFailure,
  afterSuccess,
  type Health,
  mergeHealth,
  withLastSuccess,
} from '../../../domain/webhooks/health.ts';
import { type Definition, toDefinition } from '../../../server/background/delivery/endpoint/definition.ts';
import type { Endpoint } from '../../../server/background/delivery/endpoint/endpoint.ts';
import { type Place, Places } from '../../../server/background/delivery/endpoint/places.ts';
import type { Outcome } from '../../../server/background/delivery/judge.ts';
import { Leases } from '../../../server/background/delivery/leases.ts';
import { OutcomeWriter } from '../../../server/background/delivery/outcome-writer.ts';
import { databaseTime } from '../../../server/foundation/database-clock.ts';
import type { Database } from '../../../server/store/connection/database.ts';
import {
  readDeliveredWebhooks,
  readRevisions,
  toDeliveredWebhooks,
  toRevisions,
} from '../../../server/store/webhooks/state.ts';
import type { Vault } from '../../../server/subjects/webhooks/vault.ts';
import type { Random } from '../../../test/harness/random.ts';
import type { Tables } from '../memory-store/transaction.ts';
import type { Judge } from './judge.ts';
import type { SimulatedTime } from './simulated-time.ts';

/** How often leases are renewed. */
const POLL_MILLISECONDS = 1_000;

/** The maximum number of a webhook's requests in flight. */
const WINDOW = 3;

/** The longest time that a receiver takes to respond. */
const MAX_RESPONSE_MILLISECONDS = 40;

/** Encrypts nothing, to save time. There are no real secrets. */
export const VAULT: Vault = {
  seal: (text) => Buffer.from(text),
  open: (sealed) => Buffer.from(sealed).toString(),
};

/** The part of an endpoint that the outcome writer uses. */
type Sending = Pick<Endpoint, 'webhookId' | 'held' | 'storedCursor' | 'isFailingTold' | 'release'> & {
  readonly programId: string;
  readonly cursor: { readonly places: Places };
  definition: Definition;
  health: Health;
  storedHealth: Health;
  readonly replay: null;
  /** Failed deliveries that will be retried. */
  readonly again: Place[];
  inFlight: number;
  isDropped: boolean;
};

/** The parts of the simulation that deliverers need. */
export type DeliveryWorld = {
  readonly tables: Tables;
  readonly time: SimulatedTime;
  readonly judge: Judge;
  readonly random: Random;
  /** The chance that a receiver fails. */
  readonly failing: number;
};

/**
 * Delivers the events of programs to webhooks, with the service's leases, slots and outcome writer. The choice of events is
 * simplified: the next few events are sent to receivers that respond after random times.
 */
export class Delivering {
  readonly #world: DeliveryWorld;
  readonly #database: Database;
  readonly #leases: Leases;
  readonly #writer: OutcomeWriter;
  readonly #sendings = new Map<string, Sending>();
  isAlive = true;

  constructor(world: DeliveryWorld, database: Database, owner: string) {
    this.#world = world;
    this.#database = database;
    this.#leases = new Leases(database, owner);
    this.#writer = new OutcomeWriter(database, owner, {
      onStored: () => undefined,
      onFailure: () => undefined,
      onLost: (endpoint) => this.#drop(endpoint.webhookId),
    });
    void this.#poll();
  }

  /** Called when there may be new events. */
  send(): void {
    for (const sending of this.#sendings.values()) this.#sendNext(sending);
  }

  async #poll(): Promise<void> {
    while (this.isAlive) {
      try {
        await this.#leases.renew();
        await this.#refresh();
      } catch {
        // The next poll tries again.
      }
      this.send();
      await new Promise((resolve) => setTimeout(resolve, POLL_MILLISECONDS));
    }
  }

  /** Reads the changed webhooks of the shards that this process holds, and drops the webhooks of other shards. */
  async #refresh(): Promise<void> {
    const epochs = new Map(this.#leases.held.map(({ shard, epoch }) => [shard, epoch]));
    for (const { webhookId, held } of this.#sendings.values()) {
      if (epochs.get(held.shard) !== held.epoch) this.#drop(webhookId);
    }
    const stored = toRevisions(await this.#database.read(readRevisions({ shards: [...epochs.keys()] })));
    const known = new Set(stored.map(({ webhookId }) => webhookId));
    for (const { webhookId } of this.#sendings.values()) if (!known.has(webhookId)) this.#drop(webhookId);
    const webhookIds = stored
      .filter(({ webhookId, revision }) => this.#sendings.get(webhookId)?.definition.revision !== revision)
      .map(({ webhookId }) => webhookId);
    if (webhookIds.length === 0) return;
    for (const webhook of toDeliveredWebhooks(await this.#database.read(readDeliveredWebhooks({ webhookIds })))) {
      this.#take(toDefinition(webhook, [], VAULT), epochs.get(webhook.shard));
    }
  }

  /** Adds a new webhook, or updates one after a request has changed it. */
  #take(definition: Definition, epoch: number | undefined): void {
    const sending = this.#sendings.get(definition.webhookId);
    if (sending === undefined) {
      if (epoch !== undefined) this.#sendings.set(definition.webhookId, this.#open(definition, epoch));
      return;
    }
    sending.definition = definition;
    sending.health = mergeHealth(definition.health, sending.health);
    sending.storedHealth = definition.health;
    if (definition.cursor > sending.cursor.places.passed) {
      sending.again.length = 0;
      sending.cursor.places.skipTo(definition.cursor);
    }
    sending.storedCursor = definition.cursor;
  }

  #open(definition: Definition, epoch: number): Sending {
    const { webhookId, programId, shard, cursor, ahead, health } = definition;
    const sending: Sending = {
      webhookId,
      programId: String(programId),
      held: { shard, epoch },
      cursor: { places: new Places(cursor, ahead) },
      ...{ definition, health: withLastSuccess(health), storedHealth: health, storedCursor: cursor, replay: null },
      ...{ again: [], inFlight: 0, isDropped: false, isFailingTold: false },
      release: () => {
        sending.inFlight -= 1;
        this.#sendNext(sending);
      },
    };
    return sending;
  }

  #drop(webhookId: string): void {
    const sending = this.#sendings.get(webhookId);
    if (sending !== undefined) sending.isDropped = true;
    this.#sendings.delete(webhookId);
  }

  #sendNext(sending: Sending): void {
    while (this.isAlive && !sending.isDropped && this.#leases.areValid && maySend(sending)) {
      const place = this.#next(sending);
      if (place === undefined) return;
      sending.inFlight += 1;
      this.#send(sending, place);
    }
  }

  #next({ programId, again, cursor: { places } }: Sending): Place | undefined {
    const first = again.shift();
    if (first !== undefined) return first;
    const head = Number(this.#world.tables.newest('event_head', programId)?.position ?? 0n);
    while (places.readTo < head) {
      const place = places.add(places.readTo + 1);
      if (!places.isSettled(place.place)) return place;
      place.isDone = true;
    }
    return undefined;
  }

  /** Delivers an event after some time. The response arrives later. */
  #send(sending: Sending, place: Place): void {
    const { judge, random, failing } = this.#world;
    const startedAt = databaseTime();
    const { revision } = sending.definition;
    // A probe always succeeds: its retries are not simulated.
    const succeeds = sending.health.status === 'paused' || !random.chance(failing);
    this.#after(() => {
      if (succeeds) judge.onDelivered(sending.webhookId, place.place);
      this.#after(() => {
        if (!this.isAlive) return;
        if (succeeds) sending.health = afterSuccess(sending.health, databaseTime());
        else this.#fail(sending, place, startedAt);
        this.#writer.add(toOutcome(sending, place, succeeds, revision));
      });
    });
  }

  #fail(sending: Sending, place: Place, startedAt: number): void {
    const failure = { kind: 'failed', retryAfterMilliseconds: null, random: Math.random() } as const;
    const timing = { startedAt, endedAt: databaseTime(), dueAt: null, isStrict: false };
    sending.health = afterFailure(sending.health, { ...failure, ...timing });
    // A request may have moved the cursor past this event.
    if (place.place > sending.cursor.places.passed) sending.again.push(place);
  }

  #after(run: () => void): void {
    const { time, random } = this.#world;
    time.after(random.below(MAX_RESPONSE_MILLISECONDS), run);
  }
}

/** A paused webhook gets one event when its probe is due. */
function maySend({ health: { status, nextProbeAt }, inFlight }: Sending): boolean {
  if (status === 'enabled') return inFlight < WINDOW;
  return status === 'paused' && inFlight === 0 && databaseTime() >= (nextProbeAt ?? 0);
}

function toOutcome(endpoint: Sending, item: Place, isPassed: boolean, revision: number): Outcome {
  const outcome = { endpoint, item: { place: item }, attempt: null, failed: null, finished: [], notice: null };
  return { ...outcome, isPassed, revision } as unknown as Outcome;
}
