import fc from 'fast-check';
import type { Limits } from '../../../domain/ledger/limits.ts';
import { calendarAt } from '../../../test/harness/local-time.ts';
import { sum, type Transfer } from '../../model/books.ts';
import { anyStory, type Command, type Jump, type Pick, type Share } from './transfer-commands.ts';
import { Model } from './transfer-model.ts';
import { type Fact, isSameFact, type Opening, type Refused, type Step, shownFact } from './transfer-steps.ts';
import { type Decisions, DOMAIN, World } from './transfer-world.ts';

const DAY = 24 * 60 * 60 * 1000;

/** How often a run made each move, and refused each command with each code. */
export type Tally = Map<string, number>;

/** A program and its commands. */
export type CreateHistory = readonly [Opening, readonly Command[]];

/** The domain and the model differ, or the books break an invariant. The message shows the story up to that step. */
export class Difference extends Error {
  override readonly name = 'Difference';
}

/** Runs a story on both sides and compares them after each step. Throws {@link Difference}. */
export function runStory(
  [opening, commands]: CreateHistory,
  decisions: Decisions = DOMAIN,
  tally: Tally = new Map(),
): void {
  const run = new Run(opening, decisions, tally);
  run.compare();
  for (const command of commands) for (const step of run.stepsOf(command)) run.take(step);
  for (const move of run.world.books.moves) count(tally, `moved ${move}`);
}

/** The number of stories in a test. */
export const RUNS = 2000;

/** Runs random stories on both sides. `tally` counts their moves and refusals. */
export const agreement = (decisions: Decisions, tally?: Tally) =>
  fc.property(anyStory, (story) => runStory(story, decisions, tally));

/** Describes the difference that random stories have found, with the simplest story that shows it. */
export function told(outcome: fc.RunDetails<[CreateHistory]>, decisions: Decisions): string {
  const { numRuns, seed, counterexample, counterexamplePath, errorInstance } = outcome;
  const difference = counterexample === null ? null : differenceIn(simplest(counterexample[0], decisions), decisions);
  return `${difference ?? errorInstance}\nFound in story ${numRuns}: { seed: ${seed}, path: '${counterexamplePath}' }`;
}

/** Simplifies a story that shows a difference: it leaves out steps and limits, one after the other. */
export function simplest(story: CreateHistory, decisions: Decisions): CreateHistory {
  const simpler = simplerThan(story).find((each) => differenceIn(each, decisions) !== null);
  return simpler === undefined ? story : simplest(simpler, decisions);
}

/** The difference that a story shows, or null if both sides agree until its end. */
export function differenceIn(story: CreateHistory, decisions: Decisions): string | null {
  try {
    runStory(story, decisions);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function simplerThan([opening, commands]: CreateHistory): readonly CreateHistory[] {
  const shorter = commands.map((_, index): CreateHistory => [opening, commands.toSpliced(index, 1)]);
  const openings: Opening[] = [];
  if (opening.limits !== null) openings.push({ ...opening, limits: null });
  if (opening.cardLimits !== null) openings.push({ ...opening, cardLimits: null });
  for (const [index, card] of opening.cards.entries()) {
    const plain = { ...card, limits: null, expiresOn: null };
    const isPlain = card.limits === null && card.expiresOn === null;
    if (!isPlain) openings.push({ ...opening, cards: opening.cards.with(index, plain) });
  }
  return [...shorter, ...openings.map((each): CreateHistory => [each, commands])];
}

/** A story in progress. */
export class Run {
  readonly model: Model;
  readonly world: World;
  readonly #opening: Opening;
  readonly #tally: Tally;
  readonly #history: { readonly step: Step; readonly now: number; readonly refused: Refused | null }[] = [];

  constructor(opening: Opening, decisions: Decisions, tally: Tally) {
    this.#opening = opening;
    this.#tally = tally;
    this.model = new Model(opening);
    this.world = new World(opening, decisions);
  }

  /** Takes a step on both sides, which must agree. Returns the refusal, or null. */
  take(step: Step): Refused | null {
    const { now } = this.world;
    const expected = this.model.perform(step);
    this.#history.push({ step, now, refused: expected });
    const found = this.#guard(() => this.world.perform(step));
    if (expected?.code !== found?.code || !(found?.about ?? '').includes(expected?.about ?? '')) {
      this.#differ(`domain: ${outcome(found)}`, `model:  ${outcome(expected)}`);
    }
    if (expected !== null) {
      count(this.#tally, `refused ${step.does} ${expected.code}`);
      if (step.does === 'create') count(this.#tally, `refused for ${expected.about}`);
    }
    this.compare();
    return expected;
  }

  compare(): void {
    this.#guard(() => this.world.books.verify());
    this.#compareFacts(
      this.model.facts(),
      this.#guard(() => this.world.facts()),
    );
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
    const steps = this.#history.map(({ step, now, refused }, index) => {
      return `${String(index + 1).padStart(3)}. ${shown(now)} ${described(step)} -> ${outcome(refused)}`;
    });
    throw new Difference(
      ['The domain and the model differ.', ...introduced(this.#opening), ...steps, ...lines].join('\n'),
    );
  }

  /** The steps for a command in the current state. None if the command has no suitable transfer. */
  stepsOf(command: Command): readonly Step[] {
    switch (command.does) {
      case 'create':
        return [this.#create(command)];
      case 'loop':
        return this.#loop();
      case 'look':
        this.#compareFacts(
          this.model.outlook(command.card),
          this.#guard(() => this.world.outlook(command.card)),
        );
        return [];
      case 'update_card': {
        const { lastsFor, takesAlong, ...rest } = command;
        const expiresOn = lastsFor === null ? null : shown(this.world.now + lastsFor * DAY).slice(0, 10);
        return [{ ...rest, expiresOn, balanceTo: takesAlong && rest.status === 'closed' ? 'funding' : null }];
      }
      case 'put_maximum_balance': {
        const { balance, incoming } = this.world.books.account(command.card);
        const most = balance + incoming + command.room;
        const limits = { in: {}, out: {}, maximumBalance: most > 0n ? most : 0n };
        return [{ does: 'put_card_limits', card: command.card, limits }];
      }
      case 'jump':
        return this.#jump(command.to);
      case 'switch': {
        const until = command.lasts === null ? null : this.world.now + command.lasts;
        return [{ does: 'switch', setting: { ...command.setting, until } }];
      }
      case 'deposit':
        return this.world.books.takes(command.currency, command.amount) ? [command] : [];
      case 'capture':
      case 'reverse': {
        const found = this.#choose(command.pick, command.does);
        if (found === undefined) return [];
        const [transfer, { amount, captured, reversals }] = found;
        const whole = command.does === 'capture' ? amount : captured - sum(reversals);
        return [{ does: command.does, transfer, amount: partOf(whole, command.share) }];
      }
      case 'cancel':
      case 'expire':
      case 'execute': {
        const found = this.#choose(command.pick, command.does);
        return found === undefined ? [] : [{ does: command.does, transfer: found[0] }];
      }
      default:
        return [command];
    }
  }

  #create(command: Extract<Command, { does: 'create' }>): Step {
    const { type, amount, card, destination, currency, reference, manual, holdsFor, startsIn } = command;
    const scheduledFor = startsIn === null ? null : this.world.now + startsIn;
    const expiresAt = holdsFor === null || !manual ? null : (scheduledFor ?? this.world.now) + holdsFor;
    const asked = { type, amount, card, currency, reference, expiresAt, scheduledFor } as const;
    const receiver = type === 'card_to_card' ? destination : null;
    return { does: 'create', asked: { ...asked, destination: receiver, capture: manual ? 'manual' : 'automatic' } };
  }

  /** One round of the background loops. Holds expire first, so that due transfers can use their money. */
  #loop(): readonly Step[] {
    const expected = this.model.overdue();
    const found = this.world.overdue();
    if (JSON.stringify(expected) !== JSON.stringify(found)) {
      this.#differ(`domain: overdue ${JSON.stringify(found)}`, `model:  overdue ${JSON.stringify(expected)}`);
    }
    return [
      ...expected.expired.map((transfer) => ({ does: 'expire', transfer }) as const),
      ...expected.due.map((transfer) => ({ does: 'execute', transfer }) as const),
    ];
  }

  #jump(to: Jump): readonly Step[] {
    const { now } = this.world;
    if ('by' in to) return [{ does: 'wait_until', now: now + to.by }];
    if ('toNext' in to) {
      return [{ does: 'wait_until', now: calendarAt(now, this.#opening.zone)[to.toNext].end + to.plus }];
    }
    if ('toSwitchEnd' in to) {
      const thrown = this.#history.findLast(({ step }) => step.does === 'switch')?.step;
      const time = thrown?.does === 'switch' ? thrown.setting.until : null;
      return time === null ? [] : [{ does: 'wait_until', now: time + to.plus }];
    }
    const found = this.#choose(to.of, 'wait_until');
    if (found === undefined) return [];
    const [, { scheduledFor, expiresAt }] = found;
    const time = to.to === 'start' ? (scheduledFor ?? expiresAt) : (expiresAt ?? scheduledFor);
    return time === null ? [] : [{ does: 'wait_until', now: time + to.plus }];
  }

  #choose({ apt, index }: Pick, does: Step['does']): readonly [number, Transfer] | undefined {
    const { books, transfers } = this.model;
    const all = [...transfers.entries()];
    const isApt = (transfer: Transfer): boolean => {
      const status = books.status(transfer);
      if (does === 'capture') return status === 'pending';
      if (does === 'cancel') return status === 'pending' || status === 'scheduled';
      if (does === 'expire') return transfer.status === 'pending';
      if (does === 'execute') return status === 'scheduled' && (transfer.scheduledFor ?? 0) <= books.now;
      if (does === 'reverse') return status === 'completed' && transfer.captured > sum(transfer.reversals);
      return status === 'pending' || status === 'scheduled';
    };
    const choice = apt ? all.filter(([, transfer]) => isApt(transfer)) : all;
    return choice[index % Math.max(choice.length, 1)];
  }
}

function partOf(whole: bigint, share: Share): bigint | null {
  if (share === null) return null;
  if (share > 10) return whole + 1n;
  const part = (whole * BigInt(share)) / 10n;
  return part > 0n ? part : 1n;
}

function count(tally: Tally, what: string): void {
  tally.set(what, (tally.get(what) ?? 0) + 1);
}

function outcome(refused: Refused | null): string {
  if (refused === null) return 'done';
  return refused.about === null ? `refused, ${refused.code}` : `refused, ${refused.code}: ${refused.about}`;
}

function shown(time: number): string {
  return new Date(time).toISOString();
}

function introduced({ zone, limits, cardLimits, funding, cards }: Opening): readonly string[] {
  return [
    `Program in ${zone}, limits ${listed(limits)}, of each card ${listed(cardLimits)}; funding ${listed(funding)}.`,
    ...cards.map((card) => `Card ${listed(card)}`),
  ];
}

function described(step: Step): string {
  const { does, ...rest } = step;
  return `${does} ${listed(rest)}`;
}

/** A value as short text. Shows numbers that are times as dates, and leaves out null. */
function listed(value: Limits | object | null): string {
  const replaced = (name: string, inner: unknown): unknown => {
    if (inner === null) return undefined;
    if (typeof inner === 'bigint') return Number(inner);
    return typeof inner === 'number' && inner > 1e11 && !name.includes('mount') ? shown(inner) : inner;
  };
  const text = JSON.stringify(value, replaced) ?? 'none';
  return text
    .replaceAll(',"', ', "')
    .replaceAll(/"(\w+)":/g, '$1 ')
    .replaceAll('"', '');
}
