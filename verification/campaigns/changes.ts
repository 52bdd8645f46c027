import { onConnection } from '../../test/harness/ledger.ts';
import { runCommand } from '../../test/harness/process.ts';
import { boundOf, type Findings, type Setting, streamOf, Tally } from '../campaign.ts';
import { readBooksAt } from '../checkers/books.ts';
import { readCommits, recordCommits } from '../checkers/commits.ts';
import type { AdministrativeChange } from '../checkers/history.ts';
import { checkSerialOrder } from '../checkers/serial-order.ts';
import { type Ledger, overLedgers } from '../environments/processes/ledgers.ts';
import { startTwoServices, type TwoServices } from '../environments/processes/services.ts';
import { Changers, pauseWhile, sendChange } from '../generators/changers.ts';
import { Load, type Mix, type ProgramCards, pick } from '../generators/load.ts';
import { hold, lockOfCard, lockOfKey } from '../nemeses/locks.ts';

/** The number of clients per service: enough for a group to be decided while the previous one is being saved. */
const CLIENTS = 96;
const QUICK_CLIENTS = 48;

/**
 * Few requests wait for another one, so that chains grow. A refused request is not repeated, because its rule may have
 * changed.
 */
const MIX: Mix = {
  doubled: 0.03,
  held: 0.15,
  expiring: 0.02,
  changes: 0.12,
  reversible: 0.2,
  changedAgain: { hold: 0.1, other: 0.1 },
  changing: 0.25,
  referenced: 0.1,
  amounts: { load: 50, unload: 90, card_to_card: 90 },
  retries: false,
};

/** The number of transfers per ledger. The ledger's whole history is replayed afterwards. */
const TRANSFERS_PER_LEDGER = 50_000;

const STEADY_CARDS = 40;
const CHANGING_CARDS = 8;

/** The number of unchanged cards whose accounts the test sometimes locks. */
const HELD_CARDS = 4;

/** The initial funds of a program, in minor units. Some requests exceed them. */
const FUNDING = 2_000_000;

/** The longest time that the test holds a lock, in milliseconds. */
const HELD_MILLISECONDS = 3_000;
const QUICK_HELD_MILLISECONDS = 900;

/**
 * The longest time that a transfer may take during a lock that it does not need, in milliseconds, on an idle machine.
 */
const BESIDE_A_LOCK = 2_500;

async function makeProgram(
  history: AdministrativeChange[],
  { both: [first] }: TwoServices,
  name: string,
): Promise<ProgramCards> {
  const path = '/api/v0.1/operator/program';
  const body = { name, currency: 'USD' };
  const created = await sendChange(history, first.url, { what: 'program_created', path, body });
  const programId = String(created.fields.program_id);
  await sendChange(history, first.url, {
    what: 'deposit',
    path: `${path}/${programId}/deposit`,
    headers: { 'Idempotency-Key': `opening-${name}` },
    body: { amount: FUNDING },
  });
  const make = async (kind: string, count: number): Promise<string[]> => {
    const names = Array.from({ length: count }, (_, index) => `${kind}-${name}-${index}`);
    const card = { what: 'card_created', path: '/api/v0.1/core/card', headers: { 'Program-Id': programId } };
    for (const card_id of names) await sendChange(history, first.url, { ...card, body: { card_id } });
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
  readonly #changes: AdministrativeChange[] = [];
  /** The locks, and the names of the locked cards and idempotency keys. */
  readonly #held: { readonly name: string; readonly from: number; readonly until: number }[] = [];
  readonly #load: Load;
  readonly #random: () => number;

  constructor(setting: Setting, tally: Tally, ledger: Ledger, services: TwoServices) {
    this.#setting = setting;
    this.#tally = tally;
    this.#ledger = ledger;
    this.#services = services;
    this.#random = streamOf(setting.seed, ledger.number, 1);
    const clients = 2 * (setting.isQuick === true ? QUICK_CLIENTS : CLIENTS);
    this.#load = new Load(clients, `ledger-${ledger.number}`, streamOf(setting.seed, ledger.number, 2), MIX);
  }

  get #urls(): readonly string[] {
    return this.#services.both.map(({ url }) => url);
  }

  async run(): Promise<void> {
    await onConnection({ connectionString: this.#services.databaseUrl }, async (client) => {
      await recordCommits(client);
      // Only decisions after this time are compared, because earlier ones have no number. On a busy machine, the
      // services may still be starting at this time.
      const { rows } = await client.query<{ now: Date }>('select clock_timestamp() as now');
      const programs = [];
      for (const name of ['hot', 'one', 'two']) programs.push(await makeProgram(this.#changes, this.#services, name));
      await this.#attack(programs);
      const commits = await readCommits(client, rows[0]?.now ?? new Date(0));
      const where = `ledger ${this.#ledger.number}`;
      const { problems, figures } = checkSerialOrder(commits, this.#load.operations, this.#changes);
      this.#tally.violate(where, problems);
      for (const [what, count] of Object.entries(figures)) this.#tally.add(what, count);
      // Does not compare balances, because closed cards lose theirs without a request for a transfer. The serial order
      // covers all balances.
      const books = await readBooksAt({ connectionString: this.#services.databaseUrl }, []);
      this.#load.judge(this.#tally, where, { ...books, balances: undefined });
      // The quick form may end before any group is chained.
      const isTrial = this.#setting.isQuick === true || figures.chained !== 0;
      if (!isTrial) this.#tally.violate('chains', ['no group was chained, so chains were not tested']);
      this.#checkDelays();
      await this.#checkBooks();
    });
  }

  /**
   * On one program, the two services, changes and locks break chains. On separate programs, each
   * service has a chain until the next change.
   */
  async #attack([hot, one, two]: readonly ProgramCards[]): Promise<void> {
    if (hot === undefined || one === undefined || two === undefined) throw new Error('a program is missing');
    const apart = [[one], [two]];
    const swapped = [[two], [one]];
    const mixed = [
      [hot, one],
      [hot, two],
    ];
    const phases = [
      { share: 0.45, used: apart, isDense: false },
      { share: 0.05, used: [[hot], [hot]], isDense: true },
      { share: 0.4, used: swapped, isDense: false },
      { share: 0.05, used: apart, isDense: true },
      { share: 0.05, used: mixed, isDense: true },
    ];
    const load = this.#load;
    const made = (): number => load.made;
    const changers = new Changers({ history: this.#changes, urls: this.#urls, random: this.#random, made });
    let until = 0;
    for (const { share, used, isDense } of phases) {
      until += share * this.#ledger.attacks;
      const goesOn = (): boolean => load.made < until;
      const programs = [...new Set(used.flat())];
      load.use(used, isDense);
      load.start(...this.#urls);
      await Promise.all(
        isDense
          ? [changers.runDensely(programs, goesOn), this.#holdLocks(programs, goesOn)]
          : [changers.runSparsely(programs, goesOn)],
      );
      await load.pause();
      this.#tell();
    }
  }

  #tell(): void {
    this.#setting.progress(this.#ledger.done + this.#load.made, `${this.#tally.count('violations')} violations`);
  }

  /** Locks accounts of cards and keys of new requests directly in the database, one at a time. */
  async #holdLocks(programs: readonly ProgramCards[], goesOn: () => boolean): Promise<void> {
    const requests: Promise<unknown>[] = [];
    const most = this.#setting.isQuick === true ? QUICK_HELD_MILLISECONDS : HELD_MILLISECONDS;
    await onConnection({ connectionString: this.#services.databaseUrl }, async (client) => {
      while (goesOn()) {
        const program = pick(programs, this.#random);
        const milliseconds = this.#random() * most;
        const wait = () => pauseWhile(goesOn, milliseconds);
        if (this.#random() < 0.6) {
          // Usually locks the account of an unchanged card, because a change that waits for an account would block
          // changes of the switch.
          const cards = this.#random() < 0.8 ? program.steady.slice(-HELD_CARDS) : program.changing;
          const card = pick(cards, this.#random);
          this.#held.push({ name: card, ...(await hold(client, lockOfCard(program.programId, card), wait)) });
        } else {
          const key = `held-key-${this.#held.length}`;
          const sendAndWait = (): Promise<void> => {
            requests.push(this.#load.sendUnder(key, program));
            return wait();
          };
          this.#held.push({ name: key, ...(await hold(client, lockOfKey(program.programId, key), sendAndWait)) });
        }
        this.#tally.add('locks_held');
        this.#tell();
        await pauseWhile(goesOn, this.#random() * 2 * most);
      }
      await Promise.all(requests);
    });
  }

  /** Checks the times of new transfers during locks that they did not need, if no change blocked everything. */
  #checkDelays(): void {
    const bound = boundOf(this.#setting, BESIDE_A_LOCK);
    const waitedFor = this.#changes.filter(({ what }) => /^(switch|program)_/.test(what));
    for (const { key, asked, sentAt, responses } of this.#load.operations) {
      if (asked.does !== 'create') continue;
      const gotAt = Math.max(...responses.map(({ at }) => at));
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
  await overLedgers(setting, tally, TRANSFERS_PER_LEDGER, async (ledger) => {
    const services = await startTwoServices(setting.resources);
    try {
      await new Trial(setting, tally, ledger, services).run();
    } finally {
      await services.end();
    }
  });
  return tally.findings({ processes: 2 });
}
