import { Random } from '../../../test/harness/random.ts';
import { Commands, Coverage, DAY, HOUR, type Known, type Workload, weighed } from '../../generators/commands.ts';
import { drawOpening, SCALE } from '../../generators/openings.ts';
import type { Command, Opening } from '../../model/commands.ts';
import type { Refused } from '../../model/model.ts';
import { SerialBooks } from '../../model/serial-books.ts';
import { type Fact, factsOf, isSameFact, outlookOf, PROGRAM, shownFact } from './facts.ts';
import { type Decisions, World } from './world.ts';

/** The commands about which the domain decides, and the states that it reads. */
export const WORKLOAD: Workload = {
  kinds: weighed({
    ...{ create: 30, capture: 16, cancel: 5, expire: 4, execute: 12, reverse: 12, wait_until: 16 },
    ...{ update_card: 7, limit_card: 8, put_card_status: 8, update_program: 3, change_switch: 2, deposit: 2 },
  }),
  ...{ scale: SCALE, manual: 0.5, members: ['limit', 'cardLimit'], namesMovements: false },
  times: {
    scheduled: 0.2,
    ending: 0.5,
    ahead: (random) => {
      if (random.chance(0.05)) return random.pick([-1, 0, 1, 90 * DAY, 90 * DAY + 1, 366 * DAY, 366 * DAY + 1]);
      return (1 + random.below(3 * 24)) * HOUR;
    },
  },
};

/** The shares of commands before which a round of the background loop runs, and a card's limits are read. */
const LOOPING = 0.05;
const LOOKING = 0.04;

/**
 * A program and its commands. Each command is drawn from the seed, its number and the state of the program when it runs, so a
 * story without some of its commands is a story too.
 */
type Story = { readonly seed: number; readonly opening: Opening; readonly commands: readonly number[] };

/** The domain and the model differ, or the books break an invariant. The message shows the story up to that command. */
class Difference extends Error {
  override readonly name = 'Difference';
}

function drawStory(seed: number): Story {
  const random = new Random(seed, 0);
  const count = 5 + random.below(random.chance(0.25) ? 16 : 36);
  return { seed, opening: drawOpening(random), commands: Array.from({ length: count }, (_, index) => index + 1) };
}

/** Runs a story on both sides and compares them after each command. Throws {@link Difference}. */
function runStory({ seed, opening, commands }: Story, decisions: Decisions, coverage: Coverage): void {
  const run = new Run(opening, decisions, coverage);
  run.compare();
  for (const number of commands) run.draw(new Random(seed, number));
  for (const move of run.world.books.moves) coverage.count(`moved ${move}`);
}

/** Runs random stories until one shows a difference. Returns the simplest story that shows it, or undefined. */
export function findDifference(
  decisions: Decisions,
  { stories, firstSeed, coverage = new Coverage() }: { stories: number; firstSeed: number; coverage?: Coverage },
): string | undefined {
  for (let seed = firstSeed; seed < firstSeed + stories; seed += 1) {
    const story = drawStory(seed);
    if (differenceIn(story, decisions, coverage) === undefined) continue;
    return `${differenceIn(simplest(story, decisions), decisions)}\nFound in the story of seed ${seed}`;
  }
  return undefined;
}

/** The difference that a story shows, or undefined if both sides agree until its end. */
function differenceIn(story: Story, decisions: Decisions, coverage = new Coverage()): string | undefined {
  try {
    runStory(story, decisions, coverage);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Simplifies a story that shows a difference: it leaves out commands and limits, one after the other. */
function simplest(story: Story, decisions: Decisions): Story {
  const simpler = simplerThan(story).find((each) => differenceIn(each, decisions) !== undefined);
  return simpler === undefined ? story : simplest(simpler, decisions);
}

function simplerThan({ seed, opening, commands }: Story): readonly Story[] {
  const shorter = commands.map((_, index) => ({ seed, opening, commands: commands.toSpliced(index, 1) }));
  const plainer = opening.programs.flatMap((program, index) =>
    [
      ...(program.limits === null ? [] : [{ ...program, limits: null }]),
      ...(program.cardLimits === null ? [] : [{ ...program, cardLimits: null }]),
      ...program.cards.flatMap((card, at) => {
        const plain = { ...card, limits: null, expiresOn: null };
        const isPlain = card.limits === null && card.expiresOn === null;
        return isPlain ? [] : [{ ...program, cards: program.cards.with(at, plain) }];
      }),
    ].map((each) => ({ seed, opening: { ...opening, programs: opening.programs.with(index, each) }, commands })),
  );
  return [...shorter, ...plainer];
}

/** A story in progress. */
class Run {
  readonly #serial: SerialBooks;
  readonly world: World;
  readonly #opening: Opening;
  readonly #coverage: Coverage;
  readonly #programs: Known['programs'];
  readonly #history: { readonly command: Command; readonly now: number; readonly refused: Refused | null }[] = [];

  constructor(opening: Opening, decisions: Decisions, coverage: Coverage) {
    this.#opening = opening;
    this.#coverage = coverage;
    this.#serial = new SerialBooks(opening);
    this.world = new World(opening, decisions);
    this.#programs = opening.programs.map(({ cards }, index) => ({ program: String(index), cards }));
  }

  /** Draws a command and carries it out, sometimes after a round of the background loop. */
  draw(random: Random): void {
    if (random.chance(LOOPING)) this.#loop();
    if (random.chance(LOOKING)) this.#look(random.pick([...this.#serial.books.cards.keys()]));
    this.#take(this.#next(random));
  }

  /** Draws a command that suits the current state. */
  #next(random: Random): Command {
    const { model, books } = this.#serial;
    const transfers = [...books.transfers.keys()].map((id) => ({ id, program: PROGRAM }));
    const known = { now: books.now, programs: this.#programs, transfers, webhooks: [], model };
    return new Commands(random, known, WORKLOAD).next();
  }

  /** Carries out a command on both sides, which must agree. */
  #take(command: Command): void {
    const { now } = this.world;
    const expected = this.#serial.perform(command, String(this.#serial.books.transfers.size));
    this.#history.push({ command, now, refused: expected });
    const found = this.#guard(() => this.world.perform(command));
    if (expected?.code !== found?.code || !(found?.about ?? '').includes(expected?.about ?? '')) {
      this.#differ(`domain: ${outcome(found)}`, `model:  ${outcome(expected)}`);
    }
    this.#coverage.note(command, expected);
    const { books } = this.#serial;
    this.#coverage.noteTime(now, books.now, books.program(PROGRAM).zone);
    this.compare();
  }

  compare(): void {
    this.#guard(() => this.world.books.verify());
    this.#compareFacts(
      factsOf(this.#serial),
      this.#guard(() => this.world.facts()),
    );
  }

  #look(card: string): void {
    this.#compareFacts(
      outlookOf(this.#serial, card),
      this.#guard(() => this.world.outlook(card)),
    );
  }

  /** One round of the background loops. Holds expire first, so that due transfers can use their money. */
  #loop(): void {
    const { books } = this.#serial;
    const all = [...books.transfers];
    const expired = all.filter(([, one]) => one.status === 'pending' && books.status(one) === 'expired');
    const due = all.filter(([, one]) => one.status === 'scheduled' && (one.scheduledFor ?? 0) <= books.now);
    const expected = { expired: expired.map(([id]) => id), due: due.map(([id]) => id) };
    const found = this.world.overdue();
    if (JSON.stringify(expected) !== JSON.stringify(found)) {
      this.#differ(`domain: overdue ${JSON.stringify(found)}`, `model:  overdue ${JSON.stringify(expected)}`);
    }
    for (const transfer of expected.expired) this.#take({ does: 'expire', transfer });
    for (const transfer of expected.due) this.#take({ does: 'execute', transfer });
  }

  #compareFacts(expected: readonly Fact[], found: readonly Fact[]): void {
    const shown = (fact: Fact | undefined): string => (fact === undefined ? 'nothing more' : shownFact(fact));
    for (let index = 0; index < Math.max(expected.length, found.length); index += 1) {
      const [one, other] = [expected[index], found[index]];
      if (one !== undefined && other !== undefined && isSameFact(one, other)) continue;
      this.#differ(`domain: ${shown(other)}`, `model:  ${shown(one)}`);
    }
  }

  /** An error is a difference too: the model never throws. */
  #guard<T>(act: () => T): T {
    try {
      return act();
    } catch (error) {
      return this.#differ(`domain: throws ${error}`, `model:  continues\n${error instanceof Error ? error.stack : ''}`);
    }
  }

  #differ(...lines: readonly string[]): never {
    const commands = this.#history.map(({ command: { does, ...rest }, now, refused }, index) => {
      const time = new Date(now).toISOString();
      return `${String(index + 1).padStart(3)}. ${time} ${does} ${listed(rest)} -> ${outcome(refused)}`;
    });
    const programs = this.#opening.programs.map((program) => `Program ${listed(program)}`);
    throw new Difference(['The domain and the model differ.', ...programs, ...commands, ...lines].join('\n'));
  }
}

function outcome(refused: Refused | null): string {
  if (refused === null) return 'done';
  return refused.about === null ? `refused, ${refused.code}` : `refused, ${refused.code}: ${refused.about}`;
}

/** A value as short text. Shows numbers that are times as dates, and leaves out null. */
function listed(value: object): string {
  const replaced = (name: string, inner: unknown): unknown => {
    if (inner === null) return undefined;
    if (typeof inner === 'bigint') return Number(inner);
    const isTime = typeof inner === 'number' && inner > 1e11 && !name.includes('mount');
    return isTime ? new Date(inner).toISOString() : inner;
  };
  const text = JSON.stringify(value, replaced);
  return text
    .replaceAll(',"', ', "')
    .replaceAll(/"(\w+)":/g, '$1 ')
    .replaceAll('"', '');
}
