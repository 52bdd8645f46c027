import type pg from 'pg';
import { pause, type Tally } from '../../campaign.ts';
import { checkDeliveries, countRepeats, type DeliveryHistory } from '../../checkers/deliveries/checker.ts';
import { checkReading, placeEvents, type Reading, wantedBy } from '../../checkers/events/checker.ts';
import { type EventTables, readEventTables, type Timelines } from '../../checkers/events/history.ts';
import type { Programs } from '../../generators/events/callers.ts';
import { forgetTexts, type Reader, readBackwards } from '../../generators/events/readers.ts';
import type { Webhooks } from '../../generators/events/webhooks.ts';
import { oncePostgresIsBack } from './services.ts';

/** The longest time that webhooks may take to catch up after the last request, in milliseconds. */
const DELIVERED_WITHIN = 180_000;

/** The consumers of a ledger's events, and what they need to read events and report violations. */
export type Consumed = {
  readonly tally: Tally;
  /** Leads to the current primary. */
  readonly connection: () => pg.ClientConfig;
  readonly programs: Programs;
  readonly readers: readonly Reader[];
  readonly webhooks?: Webhooks;
  /** The longest time for relays and readers to catch up once there are no requests, in milliseconds. */
  readonly caughtUpWithin: number;
};

/** The deliveries of a webhook so far. */
type Received = Pick<DeliveryHistory, 'subscription' | 'deliveries'>;

/** Compares everything that readers and webhooks receive with the tables of events. */
export class Consumers {
  /** When services or their database were killed or cut off, in milliseconds since 1970. Deliveries may repeat then. */
  readonly kills: number[] = [];
  readonly #ledger: Consumed;

  constructor(ledger: Consumed) {
    this.#ledger = ledger;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#ledger.readers.map((reader) => reader.stop()));
    forgetTexts();
  }

  /**
   * Compares while requests continue. Every event received so far must be in the tables: it was committed before it was
   * shown, so no kill can lose it.
   */
  async check(where: string): Promise<void> {
    const [readings, deliveries] = [this.#readings(), this.#deliveries()];
    this.#check(where, readings, deliveries, await this.#readTables(), new Map());
  }

  /** Compares when everything must have arrived. `urls` are the addresses of the services. Returns all timelines. */
  async checkEnd(where: string, urls: readonly string[]): Promise<Timelines> {
    const { readers, caughtUpWithin } = this.#ledger;
    const due = placeEvents(await this.#untilRelayed(), this.#programs).timelines;
    await this.#untilDelivered(where);
    const isBehind = (reader: Reader): boolean => reader.seen.length < wantedBy(reader, due).length;
    const from = performance.now();
    while (readers.some(isBehind) && performance.now() - from < caughtUpWithin) await pause(20);
    await Promise.all(readers.map((reader) => reader.stop()));
    const sources = new Set(readers.map(({ source }) => source).filter(({ type }) => type === undefined));
    const backwards = [...sources].map((source, turn) => readBackwards(source, urls[turn % urls.length] ?? ''));
    const readings = [...this.#readings(), ...(await Promise.all(backwards))];
    const deliveries = this.#deliveries();
    // Reads the tables last, so that they contain every event that was received, even later ones such as the event of a
    // recorded error.
    const tables = await this.#readTables();
    this.#count(tables);
    return this.#check(where, readings, deliveries, tables, due);
  }

  #readings(): readonly Reading[] {
    return this.#ledger.readers.map(({ name, programId, wants, seen }) => ({
      name,
      programId,
      wants,
      seen: [...seen],
    }));
  }

  #deliveries(): readonly Received[] {
    const { all = [], receiver } = this.#ledger.webhooks ?? {};
    return all.map((subscription) => ({ subscription, deliveries: receiver?.deliveriesOf(subscription.name) ?? [] }));
  }

  #check(
    where: string,
    readings: readonly Reading[],
    received: readonly Received[],
    tables: EventTables,
    due: Timelines,
  ): Timelines {
    const { timelines, violations } = placeEvents(tables, this.#programs);
    this.#ledger.tally.violate(where, [
      ...violations,
      ...readings.flatMap((reading) => checkReading(reading, timelines, due)),
      ...this.#ledger.readers.flatMap((reader) => reader.takeViolations()),
      ...received.flatMap((history) => checkDeliveries({ ...history, timelines, due, kills: this.kills })),
    ]);
    return timelines;
  }

  get #programs(): readonly string[] {
    return Object.values(this.#ledger.programs);
  }

  #readTables(): Promise<EventTables> {
    return oncePostgresIsBack(() => readEventTables(this.#ledger.connection()));
  }

  /** Reads the tables until the relays are idle and no transfer will become due. */
  async #untilRelayed(): Promise<EventTables> {
    const { tally, caughtUpWithin } = this.#ledger;
    const from = performance.now();
    for (;;) {
      const tables = await this.#readTables();
      const { waiting, due } = tables;
      if (waiting === 0 && due === 0) return tables;
      if (performance.now() - from > caughtUpWithin) {
        tally.violate('relay', [`${waiting} transactions have no positions yet, and ${due} transfers are due`]);
        return tables;
      }
      await pause(100);
    }
  }

  async #untilDelivered(where: string): Promise<void> {
    const { tally, webhooks, connection } = this.#ledger;
    if (webhooks === undefined) return;
    const from = performance.now();
    for (;;) {
      const waiting = await webhooks.hurry(connection());
      if (waiting === undefined) return tally.time('delivered', performance.now() - from);
      if (performance.now() - from > DELIVERED_WITHIN) return tally.violate(where, [waiting]);
      await pause(200);
    }
  }

  #count({ events, positions, heads }: EventTables): void {
    const { tally, readers, webhooks } = this.#ledger;
    tally.add('events', events.length);
    tally.add('transactions', new Set(positions.map(({ batchId }) => batchId)).size);
    tally.add('programs', heads.size);
    for (const [group, rows] of Map.groupBy(events, ({ type }) => type.split('.')[0] ?? ''))
      tally.add(`events_${group}`, rows.length);
    for (const reader of readers) {
      tally.add('read', reader.seen.length);
      tally.add('interruptions', reader.interruptions);
    }
    for (const { deliveries } of this.#deliveries()) {
      tally.add('deliveries', deliveries.length);
      tally.add('accepted', deliveries.filter(({ status }) => status === 204).length);
      tally.add('repeats', countRepeats(deliveries));
    }
    if (webhooks !== undefined) tally.add('restarts_of_the_receiver', webhooks.receiver.restarts);
  }
}
