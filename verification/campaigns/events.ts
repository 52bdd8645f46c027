import { Resources } from '../../bench/resources.ts';
import { type Findings, pause, type Setting, Tally } from '../campaign.ts';
import { ALL_BY_NUMBER, type EventBooks, type Timeline } from '../checkers/events/event-books.ts';
import { type Reading, wrongFacts, wrongReading } from '../checkers/events/judge.ts';
import {
  forgetTexts,
  type Reader,
  readBackwards,
  readByPull,
  readBySdk,
  readByStream,
  type Source,
} from '../checkers/events/readers.ts';
import { readBooks } from '../checkers/transfers/books.ts';
import { KillableServices } from '../environments/processes/killable-services.ts';
import { type Ledger, overLedgers, SIDE_BY_SIDE } from '../environments/processes/ledgers.ts';
import { AttackedLedger, timelineOf, type Work } from '../generators/events/attacked-ledger.ts';
import { makePrograms, type Programs } from '../generators/events/programs.ts';
import { judge } from '../generators/loads.ts';

/** Enough load for groups with several programs, and for two busy relays. */
const WORK: Work = { clients: 32, callers: 8, transfersBetweenKills: 150, sentAgain: 100 };

/** Kills per ledger. After each, all events of the ledger are compared with the events of ten readers. */
const KILLS_OF_LEDGER = 10;

/** The longest time for relays and readers to catch up once there are no requests, in milliseconds. */
const CAUGHT_UP_WITHIN = 30_000;

/** A reading and its source. */
type SourceReading = Reading & { readonly source: Source };

/** One ledger, from its first start to the last kill. */
class Siege {
  readonly #ledger: AttackedLedger;
  readonly #readers: readonly Reader[];

  private constructor(seed: number, ledger: number, services: KillableServices, programs: Programs) {
    this.#ledger = new AttackedLedger(seed, ledger, services, programs, WORK);
    const addresses = (): readonly string[] => services.urls;
    const sources: readonly Source[] = [
      { name: 'the first program', programId: programs.demo },
      { name: 'the second program', programId: programs.other },
      { name: 'all programs', programId: undefined },
    ];
    this.#readers = [
      ...sources.flatMap((source, turn) => [
        readByPull(source, addresses, turn),
        readByStream(source, addresses, turn + 1),
        readBySdk(source, addresses, turn),
      ]),
      readByPull(
        { name: 'transfers of the first program', programId: programs.demo, type: 'transfer.*' },
        addresses,
        1,
      ),
    ];
  }

  /** Calls `killed` after checking each kill. */
  static async run(setting: Setting, tally: Tally, ledger: Ledger, killed: () => void): Promise<void> {
    const { seed, main } = setting;
    const started = new Resources();
    let siege: Siege | undefined;
    let services: KillableServices | undefined;
    const end = setting.resources.add('the services', async () => {
      await services?.killAll();
      await siege?.stopReading();
      // Keeps a ledger with a violation, except in the negative control.
      if (siege !== undefined && siege.#ledger.tally.violations.length > 0 && main === undefined)
        siege.#ledger.tally.violate(`ledger ${ledger.number}`, [`its files are in ${siege.#ledger.services.path}`]);
      else await started.endAll(() => undefined);
    });
    try {
      services = await KillableServices.start(started, main, clockOf(ledger.number));
      const found = new Siege(seed, ledger.number, services, await makePrograms(services));
      siege = found;
      await siege.#ledger.withstand(ledger, {
        check: (where) => found.#check(where),
        checkEnd: (where) => found.#checkEnd(where),
        killed,
      });
      await siege.stopReading();
      await services.stop();
    } finally {
      await end();
      if (siege !== undefined) tally.take(siege.#ledger.tally);
      forgetTexts();
    }
  }

  async stopReading(): Promise<void> {
    await Promise.all(this.#readers.map((reader) => reader.stop()));
  }

  /** Every event read so far must be in the books: it was committed before it was read, so no kill can lose it. */
  async #check(where: string): Promise<void> {
    const readings = this.#readers.map((reader) => ({ reading: reader, seen: [...reader.seen] }));
    const { timelines, problems } = this.#ledger.tell(await this.#ledger.readBooks());
    this.#ledger.tally.violate(where, problems);
    for (const { reading, seen } of readings)
      this.#judge(where, { ...reading, seen }, timelineOf(reading.source.programId, timelines), 0);
  }

  /** Without further requests, every reader must reach the same end. */
  async #checkEnd(where: string): Promise<void> {
    const { timelines: wanted } = this.#ledger.tell(await this.#ledger.untilRelayed(CAUGHT_UP_WITHIN));
    const lengthFor = (reading: SourceReading): number =>
      timelineOf(reading.source.programId, wanted).filter(({ type }) => reading.wants(type)).length;
    const from = performance.now();
    const isBehind = (reader: Reader): boolean => reader.seen.length < lengthFor(reader);
    while (this.#readers.some(isBehind) && performance.now() - from < CAUGHT_UP_WITHIN) await pause(20);
    await this.stopReading();
    const readings: readonly SourceReading[] = [...this.#readers, ...(await this.#readBackwards())];
    // Later events, such as of a recorded error, may or may not have been read.
    const books = await this.#ledger.readBooks();
    const { timelines, problems } = this.#ledger.tell(books);
    const facts = this.#ledger.callers.map((caller) => caller.facts);
    this.#ledger.tally.violate(where, [...problems, ...wrongFacts(facts, timelines.get(ALL_BY_NUMBER) ?? [])]);
    for (const reading of readings)
      this.#judge(where, reading, timelineOf(reading.source.programId, timelines), lengthFor(reading));
    this.#count(books);
    judge(
      this.#ledger.tally,
      where,
      this.#ledger.load,
      await readBooks(this.#ledger.services.path, this.#ledger.load.cards),
    );
  }

  async #readBackwards(): Promise<readonly SourceReading[]> {
    const { urls } = this.#ledger.services;
    const sources = new Set(this.#readers.map(({ source }) => source).filter(({ type }) => type === undefined));
    const reading = [...sources].map(async (source, turn) => ({
      source,
      name: `${source.name}, newest first`,
      wants: () => true,
      seen: await readBackwards(source, urls[turn % urls.length] ?? ''),
    }));
    return Promise.all(reading);
  }

  #judge(where: string, reading: SourceReading & Partial<Reader>, timeline: Timeline, least: number): void {
    const broken = (reading.takeProblems?.() ?? []).map((problem) => `${reading.name}: ${problem}`);
    this.#ledger.tally.violate(where, [...wrongReading(reading, timeline, least), ...broken]);
  }

  #count({ events, places, heads }: EventBooks): void {
    this.#ledger.tally.add('events', events.length);
    this.#ledger.tally.add('transactions', new Set(places.map(({ batchId }) => batchId)).size);
    this.#ledger.tally.add('programs', heads.size);
    for (const [type, rows] of Map.groupBy(events, (event) => event.type.split('.')[0] ?? ''))
      this.#ledger.tally.add(`events_${type}`, rows.length);
    this.#ledger.tally.add(
      'facts',
      this.#ledger.callers.reduce((sum, { facts }) => sum + facts.length, 0),
    );
    this.#ledger.tally.add('transfers', this.#ledger.load.made);
    for (const reader of this.#readers) {
      this.#ledger.tally.add('read', reader.seen.length);
      this.#ledger.tally.add('interruptions', reader.interruptions());
    }
  }
}

const WRONG_CLOCK = new URL('../../test/harness/wrong-clock.ts', import.meta.url).href;

/** One service's clock is an hour slow, correct, or an hour fast, in turn, because no order may depend on it. */
function clockOf(ledger: number): Readonly<Record<string, string>> {
  const hours = (ledger % 3) - 1;
  return hours === 0 ? {} : { NODE_OPTIONS: `--import=${WRONG_CLOCK}`, WRONG_CLOCK_HOURS: String(hours) };
}

export async function run(setting: Setting): Promise<Findings> {
  const tally = new Tally();
  let kills = 0;
  const tell = (): void => setting.progress(++kills, `${tally.count('violations')} violations`);
  await overLedgers(setting, tally, KILLS_OF_LEDGER, (ledger) => Siege.run(setting, tally, ledger, tell), SIDE_BY_SIDE);
  const figures = {
    clients: WORK.clients,
    callers: WORK.callers,
    processes: 2,
    readers: 10,
    ledgers_side_by_side: SIDE_BY_SIDE,
    ...tally.figures(),
  };
  return { figures, violations: tally.violations };
}
