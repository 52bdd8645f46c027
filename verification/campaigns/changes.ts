import { runCommand } from '../../test/harness/process.ts';
import { keptConnections } from '../../test/harness/raw-request.ts';
import { boundOf, type Findings, type Setting, streamOf, Tally } from '../campaign.ts';
import { connectTo, readHistory, recordHistory } from '../checkers/changes/history.ts';
import { judgeHistory } from '../checkers/changes/judge.ts';
import { type Held, holdCard, holdKey } from '../checkers/changes/locks.ts';
import { type Ledger, overLedgers } from '../environments/processes/ledgers.ts';
import { startTwoServices, type TwoServices } from '../environments/processes/services.ts';
import { Changers, pauseWhile } from '../generators/changes/changers.ts';
import { type Record, sendChange } from '../generators/changes/requests.ts';
import { type Phase, type Place, pick, Traffic } from '../generators/changes/traffic.ts';

/** Clients per service: enough for a group to be decided while the previous one is being saved. */
const CLIENTS = 96;
const CLIENTS_IN_HASTE = 48;

/** Transfers per ledger. Its whole history is replayed afterwards. */
const TRANSFERS_OF_LEDGER = 50_000;

const STEADY_CARDS = 40;
const CHANGING_CARDS = 8;

/** The number of unchanged cards whose accounts the test sometimes locks. */
const HELD_CARDS = 4;

/** The initial funds of a program, in minor units. Some requests exceed them. */
const FUNDING = 2_000_000;

/** The longest time that the test holds a lock, in milliseconds. */
const HELD_MILLISECONDS = 3_000;
const HELD_MILLISECONDS_IN_HASTE = 900;

/** The longest time of a transfer during a lock that it does not need, in milliseconds, on an idle machine. */
const BESIDE_A_LOCK = 2_500;

async function makePlace(record: Record, { both: [first] }: TwoServices, name: string): Promise<Place> {
  const created = await sendChange(record, first.url, {
    what: 'program_created',
    path: '/api/v0.1/operator/program',
    body: { name, currency: 'USD' },
  });
  const programId = String(created.fields.program_id);
  await sendChange(record, first.url, {
    what: 'deposit',
    path: `/api/v0.1/operator/program/${programId}/deposit`,
    headers: { 'Idempotency-Key': `opening-${name}` },
    body: { amount: FUNDING },
  });
  const make = async (kind: string, count: number): Promise<string[]> => {
    const names = Array.from({ length: count }, (_, index) => `${kind}-${name}-${index}`);
    for (const card_id of names) {
      await sendChange(record, first.url, {
        what: 'card_created',
        path: '/api/v0.1/core/card',
        headers: { 'Program-Id': programId },
        body: { card_id },
      });
    }
    return names;
  };
  return { programId, steady: await make('steady', STEADY_CARDS), changing: await make('changing', CHANGING_CARDS) };
}

/** One ledger with two services, from its first transfer to the verdict. */
class Trial {
  readonly #setting: Setting;
  readonly #tally: Tally;
  readonly #ledger: Ledger;
  readonly #services: TwoServices;
  readonly #record: Record = { sent: [], changes: [], unanswered: 0 };
  readonly #held: Held[] = [];
  readonly #traffic: Traffic;
  readonly #random: () => number;

  constructor(setting: Setting, tally: Tally, ledger: Ledger, services: TwoServices) {
    this.#setting = setting;
    this.#tally = tally;
    this.#ledger = ledger;
    this.#services = services;
    this.#random = streamOf(setting.seed, ledger.number, 1);
    const clients = setting.inHaste === true ? CLIENTS_IN_HASTE : CLIENTS;
    this.#traffic = new Traffic(this.#record, this.#urls, clients, streamOf(setting.seed, ledger.number, 2));
  }

  get #urls(): readonly string[] {
    return this.#services.both.map(({ url }) => url);
  }

  async run(): Promise<void> {
    const client = await connectTo(this.#services.databaseUrl);
    try {
      await recordHistory(client);
      // Earlier decisions have no number. On a busy machine the services may still be starting.
      const { rows } = await client.query<{ now: Date }>('select clock_timestamp() as now');
      const places = [];
      for (const name of ['hot', 'one', 'two']) places.push(await makePlace(this.#record, this.#services, name));
      await this.#attack(places);
      const { problems, figures } = judgeHistory(await readHistory(client, rows[0]?.now ?? new Date(0)), this.#record);
      this.#tally.violate(`ledger ${this.#ledger.number}`, problems);
      for (const [what, count] of Object.entries(figures)) this.#tally.add(what, count);
      // The quick form may end before anything is in flight.
      const isTrial = this.#setting.inHaste === true || figures.chained !== 0;
      if (!isTrial) this.#tally.violate('chains', ['no group was chained, so chains were not tested']);
      this.#checkDelays();
      await this.#checkBooks();
    } finally {
      await client.end();
    }
  }

  /**
   * On one program, the two services break each other's chains, and so do changes and locks. On separate programs, each
   * service has a chain until the next change.
   */
  async #attack([hot, one, two]: readonly Place[]): Promise<void> {
    if (hot === undefined || one === undefined || two === undefined) throw new Error('a program is missing');
    const apart = [[one], [two]];
    const swapped = [[two], [one]];
    const mixed = [
      [hot, one],
      [hot, two],
    ];
    const phases = [
      { share: 0.45, places: apart, isDense: false },
      { share: 0.05, places: [[hot], [hot]], isDense: true },
      { share: 0.4, places: swapped, isDense: false },
      { share: 0.05, places: apart, isDense: true },
      { share: 0.05, places: mixed, isDense: true },
    ];
    const made = (): number => this.#traffic.made;
    const changers = new Changers({ record: this.#record, urls: this.#urls, random: this.#random, made });
    let until = 0;
    for (const { share, places: ofServices, isDense } of phases) {
      until += share * this.#ledger.attacks;
      const goesOn = (): boolean => this.#traffic.made < until;
      const phase: Phase = { places: ofServices, isCrossed: isDense };
      const places = [...new Set(ofServices.flat())];
      const around = isDense
        ? [changers.runDensely(places, goesOn), this.#holdLocks(places, goesOn)]
        : [changers.runSparsely(places, goesOn)];
      await Promise.all([this.#traffic.run(phase, goesOn), ...around]);
      this.#setting.progress(this.#ledger.done + this.#traffic.made, `${this.#tally.count('violations')} violations`);
    }
  }

  /** Locks accounts of cards and keys of new requests directly in the database, one at a time. */
  async #holdLocks(places: readonly Place[], goesOn: () => boolean): Promise<void> {
    const client = await connectTo(this.#services.databaseUrl);
    const agent = keptConnections(4);
    const requests: Promise<unknown>[] = [];
    const most = this.#setting.inHaste === true ? HELD_MILLISECONDS_IN_HASTE : HELD_MILLISECONDS;
    try {
      while (goesOn()) {
        const place = pick(places, this.#random);
        const milliseconds = this.#random() * most;
        const wait = () => pauseWhile(goesOn, milliseconds);
        if (this.#random() < 0.6) {
          // Usually an unchanged card: a change that waits for its account would block changes of the switch.
          const cards = this.#random() < 0.8 ? place.steady.slice(-HELD_CARDS) : place.changing;
          this.#held.push(await holdCard(client, place, pick(cards, this.#random), wait));
        } else {
          const key = `held-key-${this.#held.length}`;
          const sendAndWait = (): Promise<void> => {
            requests.push(this.#traffic.sendUnder(key, place, agent));
            return wait();
          };
          this.#held.push(await holdKey(client, place, key, sendAndWait));
        }
        this.#tally.add('locks_held');
        this.#setting.progress(this.#ledger.done + this.#traffic.made, `${this.#tally.count('violations')} violations`);
        await pauseWhile(goesOn, this.#random() * 2 * most);
      }
      await Promise.all(requests);
    } finally {
      agent.destroy();
      await client.end();
    }
  }

  /** Checks the times of new transfers during locks that they did not need, if no change blocked everything. */
  #checkDelays(): void {
    const bound = boundOf(this.#setting, BESIDE_A_LOCK);
    const waitedFor = this.#record.changes.filter(({ what }) => /^(switch|program)_/.test(what));
    for (const { key, asked, sentAt, heard } of this.#record.sent) {
      if (asked.does !== 'create') continue;
      const gotAt = Math.max(...heard.map(({ at }) => at));
      const needs = [key, asked.card, asked.destination];
      const beside = this.#held.filter(({ from, until }) => sentAt < until && gotAt > from);
      if (waitedFor.some((change) => sentAt < change.gotAt && gotAt > change.sentAt)) continue;
      if (beside.length === 0 || beside.some(({ name }) => needs.includes(name))) continue;
      this.#tally.time('beside_a_lock', gotAt - sentAt);
      if (gotAt - sentAt > bound)
        this.#tally.violate(key, [`it took ${Math.round(gotAt - sentAt)} ms during a lock that it did not need`]);
    }
  }

  async #checkBooks(): Promise<void> {
    const { client } = this.#services.both[0];
    const { balanced, postings_compared, differing_holds } = await client.trialBalance.get();
    if (!balanced || !postings_compared || differing_holds > 0) this.#tally.violate('books', ['they do not balance']);
    const { exitCode, output, errors } = await runCommand(['verify-books'], {
      DATABASE_URL: this.#services.databaseUrl,
    });
    if (exitCode !== 0) this.#tally.violate('verify-books', [`${output}${errors}`]);
  }
}

export async function run(setting: Setting): Promise<Findings> {
  const tally = new Tally();
  await overLedgers(setting, tally, TRANSFERS_OF_LEDGER, async (ledger) => {
    const services = await startTwoServices(setting.resources);
    try {
      await new Trial(setting, tally, ledger, services).run();
    } finally {
      await services.end();
    }
  });
  return { figures: { processes: 2, ...tally.figures() }, violations: tally.violations };
}
