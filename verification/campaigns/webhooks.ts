import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Resources } from '../../bench/resources.ts';
import { type Findings, pause, type Setting, Tally } from '../campaign.ts';
import { expectationOf, untilDelivered } from '../checkers/deliveries/delivered.ts';
import { countRepeats, wrongDeliveries } from '../checkers/deliveries/judge.ts';
import type { Deliveries } from '../checkers/deliveries/notes.ts';
import type { EventBooks, Timeline } from '../checkers/events/event-books.ts';
import { readBooks } from '../checkers/transfers/books.ts';
import { KillableServices } from '../environments/processes/killable-services.ts';
import { type Ledger, overLedgers, SIDE_BY_SIDE } from '../environments/processes/ledgers.ts';
import { conductAt } from '../environments/processes/receiver/endpoints.ts';
import { Owner } from '../environments/processes/receiver/owner.ts';
import { Receiver } from '../environments/processes/receiver/run-receiver.ts';
import { AttackedLedger, timelineOf, type Work } from '../generators/events/attacked-ledger.ts';
import { makePrograms } from '../generators/events/programs.ts';
import { judge } from '../generators/loads.ts';

const WORK: Work = { clients: 12, callers: 6, transfersBetweenKills: 100, sentAgain: 50 };

/** Kills per ledger. After each, all deliveries of its webhooks are checked. */
const KILLS_OF_LEDGER = 10;

/** The longest time for relays to catch up once there are no requests, in milliseconds. */
const RELAYED_WITHIN = 30_000;

/** The share of kills after which the secrets are rolled. */
const ROLLED_AT = 0.5;

/** The probability that the receiver restarts between two kills, and its longest downtime in milliseconds. */
const RESTARTED = 0.3;
const MAX_AWAY = 1_000;

/** One ledger, from its first start to the last kill. */
class Siege {
  readonly #ledger: AttackedLedger;
  readonly #receiver: Receiver;
  readonly #owner: Owner;
  #isRolled = false;

  private constructor(ledger: AttackedLedger, receiver: Receiver, owner: Owner) {
    this.#ledger = ledger;
    this.#receiver = receiver;
    this.#owner = owner;
  }

  /** Calls `killed` after checking each kill. */
  static async run(setting: Setting, tally: Tally, ledger: Ledger, killed: () => void): Promise<void> {
    const { seed, main } = setting;
    const started = new Resources();
    let siege: Siege | undefined;
    let services: KillableServices | undefined;
    let receiver: Receiver | undefined;
    const end = setting.resources.add('the services', async () => {
      await services?.killAll();
      await receiver?.stop();
      // Keeps a ledger with a violation, except in the negative control.
      if (siege !== undefined && siege.#ledger.tally.violations.length > 0 && main === undefined)
        siege.#ledger.tally.violate(`ledger ${ledger.number}`, [`its files are in ${siege.#ledger.services.path}`]);
      else await started.endAll(() => undefined);
    });
    try {
      const found = await KillableServices.start(started, main, {}, SETTINGS);
      services = found;
      receiver = await Receiver.start(join(services.path, 'deliveries.jsonl'), seed);
      const programs = await makePrograms(services);
      const owner = await Owner.start(programs, receiver, () => found.owner.url);
      const attacked = new AttackedLedger(seed, ledger.number, services, programs, WORK);
      const begun = new Siege(attacked, receiver, owner);
      siege = begun;
      await attacked.withstand(ledger, {
        prepare: (share) => begun.#conduct(share),
        beside: () => begun.#restartReceiver(),
        check: (where) => begun.#check(where),
        checkEnd: (where) => begun.#checkEnd(where),
        killed,
      });
      await services.stop();
    } finally {
      await end();
      if (siege !== undefined) tally.take(siege.#ledger.tally);
    }
  }

  /** Makes receivers fail and recover, and owners enable their webhooks again. */
  async #conduct(share: number): Promise<void> {
    const working: string[] = [];
    for (const webhook of this.#owner.webhooks) {
      const conduct = conductAt(webhook, share);
      await this.#receiver.conduct(webhook.name, conduct);
      if (conduct === webhook.conduct) working.push(webhook.name);
    }
    this.#ledger.tally.add('enabled', await this.#owner.enable(working));
    if (share < ROLLED_AT || this.#isRolled) return;
    this.#isRolled = true;
    await this.#owner.roll();
  }

  async #restartReceiver(): Promise<void> {
    const { random } = this.#ledger;
    if (random() < RESTARTED) await this.#receiver.restart(pause(random() * MAX_AWAY));
  }

  /** Every event delivered so far must be in the books: it was committed before it was sent, so no kill can lose it. */
  async #check(where: string): Promise<void> {
    const deliveries = await this.#receiver.read();
    this.#judge(where, deliveries, await this.#ledger.readBooks(), new Map());
  }

  /** Without further requests, every webhook must get its remaining events. */
  async #checkEnd(where: string): Promise<void> {
    await this.#conduct(1);
    const due = this.#ledger.tell(await this.#ledger.untilRelayed(RELAYED_WITHIN)).timelines;
    const connection = { connectionString: this.#ledger.services.databaseUrl };
    const delivering = { owner: this.#owner, receiver: this.#receiver, connection };
    await untilDelivered(delivering, this.#ledger.tally, where, due);
    // Later events, such as of a recorded error, may or may not have been delivered.
    const deliveries = await this.#receiver.read();
    const books = await this.#ledger.readBooks();
    this.#judge(where, deliveries, books, due);
    for (const { name, isRolled } of this.#owner.webhooks) {
      const last = deliveries.get(name)?.at(-1);
      if (isRolled && this.#isRolled && last?.verified.length !== 2)
        this.#ledger.tally.violate(where, [`${name}: the new secret and the old one do not both sign`]);
    }
    this.#count(books, deliveries);
    judge(
      this.#ledger.tally,
      where,
      this.#ledger.load,
      await readBooks(this.#ledger.services.path, this.#ledger.load.cards),
    );
  }

  #judge(where: string, deliveries: Deliveries, books: EventBooks, due: ReadonlyMap<string, Timeline>): void {
    const { timelines, problems } = this.#ledger.tell(books);
    this.#ledger.tally.violate(where, problems);
    for (const webhook of this.#owner.webhooks) {
      const found = deliveries.get(webhook.name) ?? [];
      const circumstances = { kills: this.#ledger.kills, due: timelineOf(webhook.programId, due) };
      const timeline = timelineOf(webhook.programId, timelines);
      this.#ledger.tally.violate(where, wrongDeliveries(expectationOf(webhook), found, timeline, circumstances));
    }
  }

  #count({ events }: EventBooks, deliveries: Deliveries): void {
    this.#ledger.tally.add('events', events.length);
    this.#ledger.tally.add('transfers', this.#ledger.load.made);
    this.#ledger.tally.add('restarts_of_the_receiver', this.#receiver.runs - 1);
    for (const list of deliveries.values()) {
      this.#ledger.tally.add('deliveries', list.length);
      this.#ledger.tally.add('accepted', list.filter(({ status }) => status === 204).length);
      this.#ledger.tally.add('repeats', countRepeats(list));
    }
  }
}

/** Both services need the same key, because both read the secrets of webhooks. */
const SETTINGS = { WEBHOOK_KEY: randomBytes(32).toString('base64') };

export async function run(setting: Setting): Promise<Findings> {
  const tally = new Tally();
  let kills = 0;
  const tell = (): void => setting.progress(++kills, `${tally.count('violations')} violations`);
  await overLedgers(setting, tally, KILLS_OF_LEDGER, (ledger) => Siege.run(setting, tally, ledger, tell), SIDE_BY_SIDE);
  const figures = {
    clients: WORK.clients,
    callers: WORK.callers,
    processes: 2,
    ledgers_side_by_side: SIDE_BY_SIDE,
    ...tally.figures(),
  };
  return { figures, violations: tally.violations };
}
