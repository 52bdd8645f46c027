import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { DeliveryState } from '../../../domain/service-status.ts';
import { programAt } from '../../../installation.mjs';
import type { ConnectionSettings } from '../../store/connection/connections.ts';
import type { Databases } from '../../store/connection/databases.ts';
import { READ_WHETHER_WEBHOOKS_EXIST } from '../../store/webhooks/shard.ts';
import type { AddressSettings } from '../../subjects/webhooks/addresses.ts';

export type WorkerSettings = {
  readonly connection: ConnectionSettings;
  /** Maximum number of connections that the thread may open. */
  readonly connections: number;
  readonly addresses: AddressSettings;
  /** Certificates in PEM. */
  readonly ca: string | null;
  readonly keys: readonly Uint8Array[];
};

export type ToWorker =
  | { readonly kind: 'news'; readonly programIds: readonly string[] }
  | { readonly kind: 'changed' }
  | { readonly kind: 'stop' };

/** The results of attempts since the last message, and the number of requests in flight. */
export type Deliveries = {
  readonly succeeded: number;
  /** The number of failures, except timeouts. */
  readonly failed: number;
  readonly timedOut: number;
  readonly inFlight: number;
};

export type FromWorker =
  | { readonly kind: 'deliveries'; readonly deliveries: Deliveries }
  | { readonly kind: 'failure'; readonly cause: string }
  | { readonly kind: 'notice'; readonly sentence: string; readonly webhookId: string };

/** How often the service checks whether another process has created the first webhook. */
const CHECK_MILLISECONDS = 5_000;

const RESTART_MILLISECONDS = 1_000;

/** Time limit for the thread to end. The thread needs less than this, even if the database does not respond. */
const MAX_STOP_MILLISECONDS = 8_000;

export type DeliveryParts = Pick<WorkerSettings, 'addresses' | 'ca'> & {
  readonly databases: Pick<Databases, 'background' | 'settings' | 'giveUpConnections'>;
  /** The keys that encrypt the webhook secrets. There is at least one if a webhook exists. */
  readonly keys: () => readonly Uint8Array[];
  /** Called only for the first of several failures in a row. */
  readonly onFailure: (error: unknown) => void;
  readonly onDeliveries?: ((deliveries: Deliveries) => void) | undefined;
  readonly onNotice: (sentence: string, webhookId: string) => void;
};

export type Delivery = {
  readonly start: () => void;
  readonly state: () => DeliveryState;
  readonly announce: (programIds: readonly string[]) => void;
  /** Called when a webhook was created, changed or deleted, or when there is something to send. */
  readonly changed: () => void;
  readonly stop: () => Promise<void>;
};

/** Prepares delivery in a separate thread, which starts only when there is a webhook. */
export function prepareDelivery(parts: DeliveryParts): Delivery {
  const delivery = new DeliveryThread(parts);
  return {
    start: () => delivery.check(),
    state: () => delivery.state,
    announce: (programIds) => delivery.send({ kind: 'news', programIds }),
    changed: () => delivery.noteChange(),
    stop: () => delivery.stop(),
  };
}

class DeliveryThread {
  readonly #parts: DeliveryParts;
  #worker: Worker | undefined;
  #connections: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isChecking = false;
  #checkAgain = false;
  #isFailing = false;
  #isStopping = false;

  constructor(parts: DeliveryParts) {
    this.#parts = parts;
  }

  get state(): DeliveryState {
    if (this.#worker !== undefined) return 'running';
    return this.#connections === 0 ? 'off' : 'no_webhooks';
  }

  send(message: ToWorker): void {
    this.#worker?.postMessage(message);
  }

  noteChange(): void {
    if (this.#worker === undefined) this.check();
    else this.send({ kind: 'changed' });
  }

  check(): void {
    if (this.#isStopping || this.#worker !== undefined) return;
    this.#checkAgain = true;
    if (this.#isChecking) return;
    this.#isChecking = true;
    clearTimeout(this.#timer);
    void this.#checkWhileRequested().finally(() => {
      this.#isChecking = false;
      if (this.#worker === undefined) this.#checkLater(CHECK_MILLISECONDS);
    });
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#timer);
    const worker = this.#worker;
    if (worker === undefined) return;
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    this.send({ kind: 'stop' });
    const late = sleep(MAX_STOP_MILLISECONDS, undefined, { ref: false });
    await Promise.race([ended, late]);
    await worker.terminate();
  }

  async #checkWhileRequested(): Promise<void> {
    while (this.#checkAgain && this.#worker === undefined && !this.#isStopping) {
      this.#checkAgain = false;
      try {
        const [row] = await this.#parts.databases.background.read(READ_WHETHER_WEBHOOKS_EXIST);
        this.#isFailing = false;
        if (row?.exist === true) this.#start();
      } catch (error) {
        if (!this.#isFailing) this.#parts.onFailure(error);
        this.#isFailing = true;
      }
    }
  }

  #checkLater(milliseconds: number): void {
    if (!this.#isStopping) this.#timer = setTimeout(() => this.check(), milliseconds).unref();
  }

  #start(): void {
    if (this.#isStopping || this.#worker !== undefined) return;
    const { databases, addresses, ca, keys, onFailure, onDeliveries, onNotice } = this.#parts;
    this.#connections ??= databases.giveUpConnections();
    if (this.#connections === 0) {
      if (!this.#isFailing) onFailure(new Error('DATABASE_CONNECTIONS is below 8, too few to deliver to webhooks'));
      this.#isFailing = true;
      return;
    }
    const settings: WorkerSettings = {
      connection: databases.settings,
      connections: this.#connections,
      addresses,
      ca,
      keys: keys(),
    };
    const worker = new Worker(programAt('server/background/delivery/worker'), {
      workerData: settings,
    });
    this.#worker = worker;
    worker.on('message', (message: FromWorker) => {
      if (message.kind === 'failure') onFailure(message.cause);
      else if (message.kind === 'deliveries') onDeliveries?.(message.deliveries);
      else onNotice(message.sentence, message.webhookId);
    });
    worker.on('error', onFailure);
    worker.on('exit', () => {
      this.#worker = undefined;
      this.#checkLater(RESTART_MILLISECONDS);
    });
  }
}
