import type { Database } from '../../store/connection/database.ts';
import { readRunningReplays, toReplays } from '../../store/webhooks/replay.ts';
import type { HeldShard } from '../../store/webhooks/shard.ts';
import {
  readDeliveredWebhooks,
  readRevisions,
  readSigningSecrets,
  toDeliveredWebhooks,
  toRevisions,
  toSigningSecrets,
} from '../../store/webhooks/state.ts';
import type { Vault } from '../../subjects/webhooks/vault.ts';
import { type Definition, toDefinition } from './endpoint/definition.ts';
import { type DeliveryContext, Endpoint } from './endpoint/endpoint.ts';
import { EventFeed, FeedReader } from './endpoint/event-feed.ts';

/** Maximum number of webhooks to read at once. */
const COUNT = 500;

/** The stored webhooks that a process delivers to. */
export class Catalog {
  readonly #database: Database;
  readonly #vault: Vault;
  readonly #context: DeliveryContext;
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #reader: FeedReader;
  /** Feeds by program. The feed of all events has the key null. */
  readonly #feeds = new Map<string | null, EventFeed>();
  /** The revisions of webhooks that could not be decrypted. Each one is reported once. */
  readonly #unreadable = new Map<string, number>();

  constructor(vault: Vault, context: DeliveryContext) {
    this.#database = context.database;
    this.#reader = new FeedReader(context.database);
    this.#vault = vault;
    this.#context = context;
  }

  get endpoints(): Iterable<Endpoint> {
    return this.#endpoints.values();
  }

  get feeds(): Iterable<EventFeed> {
    return this.#feeds.values();
  }

  find(webhookId: string): Endpoint | undefined {
    return this.#endpoints.get(webhookId);
  }

  findFeed(programId: string | null): EventFeed | undefined {
    return this.#feeds.get(programId);
  }

  /**
   * Reads the changed webhooks of the held shards. Removes deleted webhooks, and webhooks of other shards, from memory.
   */
  async refresh(held: readonly HeldShard[]): Promise<void> {
    const epochs = new Map(held.map(({ shard, epoch }) => [shard, epoch]));
    for (const endpoint of [...this.#endpoints.values()]) {
      if (epochs.get(endpoint.held.shard) !== endpoint.held.epoch) this.drop(endpoint);
    }
    const shards = [...epochs.keys()];
    const stored = toRevisions(await this.#database.read(readRevisions({ shards })));
    const known = new Set(stored.map(({ webhookId }) => webhookId));
    for (const endpoint of [...this.#endpoints.values()]) {
      if (!known.has(endpoint.webhookId)) this.drop(endpoint);
    }
    const changed = stored.filter(
      ({ webhookId, revision }) =>
        this.#endpoints.get(webhookId)?.definition.revision !== revision &&
        this.#unreadable.get(webhookId) !== revision,
    );
    for (let start = 0; start < changed.length; start += COUNT) {
      const webhookIds = changed.slice(start, start + COUNT).map(({ webhookId }) => webhookId);
      for (const definition of await this.#load(webhookIds)) this.#take(definition, epochs.get(definition.shard));
    }
    await this.#refreshReplays(shards);
    for (const feed of [...this.#feeds.values()]) {
      feed.tidy();
      if (!feed.isUsed) this.#feeds.delete(feed.programId);
    }
  }

  drop(endpoint: Endpoint): void {
    endpoint.drop();
    if (this.#endpoints.get(endpoint.webhookId) === endpoint) this.#endpoints.delete(endpoint.webhookId);
  }

  async #load(webhookIds: readonly string[]): Promise<readonly Definition[]> {
    const webhooks = toDeliveredWebhooks(await this.#database.read(readDeliveredWebhooks({ webhookIds })));
    // Read after the revision. If secrets change in between, the revision is raised, so they are read again.
    const secrets = toSigningSecrets(await this.#database.read(readSigningSecrets({ webhookIds })));
    const definitions: Definition[] = [];
    for (const webhook of webhooks) {
      try {
        definitions.push(toDefinition(webhook, secrets, this.#vault));
        this.#unreadable.delete(webhook.webhookId);
      } catch (error) {
        this.#unreadable.set(webhook.webhookId, webhook.revision);
        this.#context.onFailure(error);
      }
    }
    return definitions;
  }

  #take(definition: Definition, epoch: number | undefined): void {
    if (epoch === undefined) return;
    const { webhookId, programId, shard } = definition;
    const known = this.#endpoints.get(webhookId);
    if (known !== undefined) {
      known.update(definition);
      return;
    }
    let feed = this.#feeds.get(programId);
    if (feed === undefined) {
      feed = new EventFeed(this.#database, programId, this.#reader);
      this.#feeds.set(programId, feed);
    }
    const endpoint = new Endpoint(definition, { shard, epoch }, feed, this.#context);
    this.#endpoints.set(webhookId, endpoint);
    endpoint.wake();
  }

  async #refreshReplays(shards: readonly number[]): Promise<void> {
    const running = toReplays(await this.#database.read(readRunningReplays({ shards })));
    const byWebhook = new Map(running.map((replay) => [replay.webhookId, replay]));
    for (const endpoint of this.#endpoints.values()) endpoint.setReplay(byWebhook.get(endpoint.webhookId));
  }
}
