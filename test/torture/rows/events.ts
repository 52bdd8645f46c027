import { Belongings } from '../../../bench/belongings.ts';
import { readBooks } from '../../crashes/books.ts';
import { Load } from '../../crashes/load.ts';
import { Caller } from '../events/callers.ts';
import { ALL_BY_NUMBER, type EventBooks, readEventBooks, type Timeline, tellEvents } from '../events/event-books.ts';
import { type Reading, wrongFacts, wrongReading } from '../events/judge.ts';
import { makePrograms, type Programs, uuidOf } from '../events/programs.ts';
import {
  forgetTexts,
  type Reader,
  readBackwards,
  readByPull,
  readBySdk,
  readByStream,
  type Source,
} from '../events/readers.ts';
import { chooseVictims, KillableServices, oncePostgresIsBack } from '../killable-services.ts';
import { type Ledger, overLedgers, SIDE_BY_SIDE } from '../ledgers.ts';
import { judge, makeCards } from '../loads.ts';
import { type Findings, pause, type Row, type Setting, streamOf, Tally } from '../row.ts';

/** Clients that move money, and callers that do all the rest: enough for groups of several programs, and two busy relays. */
const CLIENTS = 32;
const CALLERS = 8;

/** Kills on one ledger: its events are compared whole after each, with what ten readers have got. */
const KILLS_OF_LEDGER = 10;

/** Transfers from one kill to the next, and the longest wait for them, in milliseconds. */
const BETWEEN_KILLS = 150;
const LONGEST_BETWEEN = 8_000;

/** Requests that are sent once more at the end of a ledger. */
const SENT_AGAIN = 100;

/** For the relays and the readers to come to the end when nobody does anything any more, in milliseconds. */
const CAUGHT_UP_WITHIN = 30_000;

/** What was read of a source. */
type SourceReading = Reading & { readonly source: Source };

/** One ledger, from its first start to the last kill. */
class Siege {
  readonly #tally = new Tally();
  readonly #services: KillableServices;
  readonly #load: Load;
  readonly #random: () => number;
  readonly #programs: Programs;
  readonly #callers: readonly Caller[];
  readonly #readers: readonly Reader[];

  private constructor(seed: number, ledger: number, services: KillableServices, programs: Programs) {
    this.#services = services;
    this.#programs = programs;
    this.#random = streamOf(seed, ledger, 1);
    this.#load = new Load(CLIENTS, `ledger-${ledger}`, streamOf(seed, ledger, 2));
    const addresses = (): readonly string[] => services.urls;
    this.#callers = Array.from(
      { length: CALLERS },
      (_, index) => new Caller(ledger, index, programs.other, addresses, streamOf(seed, ledger, 3, index)),
    );
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

  /** `killed` is called after each kill that has been checked. */
  static async run(setting: Setting, tally: Tally, ledger: Ledger, killed: () => void): Promise<void> {
    const { seed, main } = setting;
    const started = new Belongings();
    let siege: Siege | undefined;
    let services: KillableServices | undefined;
    const end = setting.belongings.add('the services', async () => {
      await services?.killAll();
      await siege?.stopReading();
      // What shows a violation is kept, unless it was made to.
      if (siege !== undefined && siege.#tally.violations.length > 0 && main === undefined)
        siege.#tally.violate(`ledger ${ledger.number}`, [`its files are kept: ${siege.#services.path}`]);
      else await started.endAll(() => undefined);
    });
    try {
      services = await KillableServices.start(started, main, clockOf(ledger.number));
      siege = new Siege(seed, ledger.number, services, await makePrograms(services));
      await siege.#withstand(ledger, killed);
      await siege.stopReading();
      await services.stop();
    } finally {
      await end();
      if (siege !== undefined) tally.take(siege.#tally);
      forgetTexts();
    }
  }

  async stopReading(): Promise<void> {
    await Promise.all(this.#readers.map((reader) => reader.stop()));
  }

  async #withstand({ done, attacks: kills }: Ledger, killed: () => void): Promise<void> {
    await makeCards(this.#load, this.#services.owner);
    let goesOn = true;
    this.#load.start(...this.#services.urls);
    const calling = Promise.all(this.#callers.map((caller) => caller.run(() => goesOn)));
    try {
      for (let kill = 1; kill <= kills && !this.#tally.isEnough; kill += 1) {
        await this.#untilEnough();
        await this.#kill(kill);
        await this.#check(`kill ${done + kill}`);
        killed();
      }
    } finally {
      goesOn = false;
      await this.#load.pause();
      await calling;
    }
    if (this.#tally.violations.length > 0) return;
    await this.#load.settle(this.#services.other.url, SENT_AGAIN);
    await this.#checkEnd(`after kill ${done + kills}`);
  }

  async #untilEnough(): Promise<void> {
    const wanted = this.#load.made + BETWEEN_KILLS;
    const started = performance.now();
    while (this.#load.made < wanted && performance.now() - started < LONGEST_BETWEEN) await pause(10);
    await pause(this.#random() * 300);
  }

  async #kill(kill: number): Promise<void> {
    const victims = chooseVictims(kill, this.#random);
    this.#tally.add(`kills_${victims}`);
    const milliseconds = await this.#services.kill(victims, this.#random, {
      expectDeath: (url) => this.#load.expectDeath(url),
      moved: () => this.#load.redirect(...this.#services.urls),
    });
    if (milliseconds === Number.POSITIVE_INFINITY)
      return this.#tally.violate('recovery', [`no transfer within 60 s of: ${victims}`]);
    this.#tally.time('recovery', milliseconds);
  }

  /** Whatever was read up to now is in the books now: it was committed when it was read, and is not lost. */
  async #check(where: string): Promise<void> {
    const readings = this.#readers.map((reader) => ({ reading: reader, seen: [...reader.seen] }));
    const { timelines, problems } = this.#tell(await this.#readEventBooks());
    this.#tally.violate(where, problems);
    for (const { reading, seen } of readings)
      this.#judge(where, { ...reading, seen }, this.#timelineOf(reading, timelines), 0);
  }

  /** When nothing happens any more, every reader comes to the same end. */
  async #checkEnd(where: string): Promise<void> {
    const { timelines: wanted } = this.#tell(await this.#untilRelayed());
    const lengthFor = (reading: SourceReading): number =>
      this.#timelineOf(reading, wanted).filter(({ type }) => reading.wants(type)).length;
    const from = performance.now();
    const isBehind = (reader: Reader): boolean => reader.seen.length < lengthFor(reader);
    while (this.#readers.some(isBehind) && performance.now() - from < CAUGHT_UP_WITHIN) await pause(20);
    await this.stopReading();
    const readings: readonly SourceReading[] = [...this.#readers, ...(await this.#readBackwards())];
    // Something may have happened since, such as an error that was recorded: it may be read, and need not.
    const books = await this.#readEventBooks();
    const { timelines, problems } = this.#tell(books);
    const facts = this.#callers.map((caller) => caller.facts);
    this.#tally.violate(where, [...problems, ...wrongFacts(facts, timelines.get(ALL_BY_NUMBER) ?? [])]);
    for (const reading of readings)
      this.#judge(where, reading, this.#timelineOf(reading, timelines), lengthFor(reading));
    this.#count(books);
    judge(this.#tally, where, this.#load, await readBooks(this.#services.path, this.#load.cards));
  }

  async #readBackwards(): Promise<readonly SourceReading[]> {
    const { urls } = this.#services;
    const sources = new Set(this.#readers.map(({ source }) => source).filter(({ type }) => type === undefined));
    const reading = [...sources].map(async (source, turn) => ({
      source,
      name: `${source.name}, newest first`,
      wants: () => true,
      seen: await readBackwards(source, urls[turn % urls.length] ?? ''),
    }));
    return Promise.all(reading);
  }

  /** When the relays have nothing to do, and no transfer will become due. */
  async #untilRelayed(): Promise<EventBooks> {
    const from = performance.now();
    for (;;) {
      const books = await this.#readEventBooks();
      if (books.waiting === 0 && books.due === 0) return books;
      if (performance.now() - from > CAUGHT_UP_WITHIN) {
        const { waiting, due } = books;
        this.#tally.violate('relay', [`${waiting} transactions have no positions yet, and ${due} transfers are due`]);
        return books;
      }
      await pause(100);
    }
  }

  #readEventBooks(): Promise<EventBooks> {
    return oncePostgresIsBack(() => readEventBooks({ connectionString: this.#services.databaseUrl }));
  }

  #tell(books: EventBooks) {
    const { demo, other } = this.#programs;
    return tellEvents(books, [uuidOf(demo), uuidOf(other)]);
  }

  #timelineOf({ source }: SourceReading, timelines: ReadonlyMap<string, Timeline>): Timeline {
    return timelines.get(source.programId === undefined ? ALL_BY_NUMBER : uuidOf(source.programId)) ?? [];
  }

  #judge(where: string, reading: SourceReading & Partial<Reader>, timeline: Timeline, least: number): void {
    const broken = (reading.takeProblems?.() ?? []).map((problem) => `${reading.name}: ${problem}`);
    this.#tally.violate(where, [...wrongReading(reading, timeline, least), ...broken]);
  }

  #count({ events, places, heads }: EventBooks): void {
    this.#tally.add('events', events.length);
    this.#tally.add('transactions', new Set(places.map(({ batchId }) => batchId)).size);
    this.#tally.add('programs', heads.size);
    for (const [type, rows] of Map.groupBy(events, (event) => event.type.split('.')[0] ?? ''))
      this.#tally.add(`events_${type}`, rows.length);
    this.#tally.add(
      'facts',
      this.#callers.reduce((sum, { facts }) => sum + facts.length, 0),
    );
    this.#tally.add('transfers', this.#load.made);
    for (const reader of this.#readers) {
      this.#tally.add('read', reader.seen.length);
      this.#tally.add('interruptions', reader.interruptions());
    }
  }
}

const WRONG_CLOCK = new URL('../../harness/wrong-clock.ts', import.meta.url).href;

/** The clock of one of the services is an hour slow, right, or an hour fast, in turn: no order may come from it. */
function clockOf(ledger: number): Readonly<Record<string, string>> {
  const hours = (ledger % 3) - 1;
  return hours === 0 ? {} : { NODE_OPTIONS: `--import=${WRONG_CLOCK}`, WRONG_CLOCK_HOURS: String(hours) };
}

async function run(setting: Setting): Promise<Findings> {
  const tally = new Tally();
  let kills = 0;
  const tell = (): void => setting.progress(++kills, `${tally.count('violations')} violations`);
  await overLedgers(setting, tally, KILLS_OF_LEDGER, (ledger) => Siege.run(setting, tally, ledger, tell), SIDE_BY_SIDE);
  const figures = {
    clients: CLIENTS,
    callers: CALLERS,
    processes: 2,
    readers: 10,
    ledgers_side_by_side: SIDE_BY_SIDE,
    ...tally.figures(),
  };
  return { figures, violations: tally.violations };
}

/** SIGKILL of either or both of two services and of PostgreSQL, under load, while others read the events. */
export const EVENTS: Row = { name: 'events', unit: 'kills', counts: { small: 4, middle: 40, large: 200 }, run };
