import type { Commits } from './commits.ts';
import { type AdministrativeChange, isDone, isInDoubt, isKept, type Operation, type Response } from './history.ts';
import { SerialReplay } from './serial-replay.ts';

/** A committed change or a stored refusal, and its position in the order of the database. */
type Placed = { readonly what: string; readonly sentAt: number; readonly gotAt: number; readonly position: number };

/** A refusal. `now` is the time to decide it again, in milliseconds since 1970. */
type Refused = { readonly operation: Operation; readonly response: Response; readonly now: number };

/** A refusal that is not stored. It must have been correct at some position from `from` to `until`. */
type Open = Refused & { readonly from: number; readonly until: number };

/** The problems found, and the numbers of checked items. */
export type Verdict = {
  readonly problems: readonly string[];
  readonly figures: Readonly<Record<string, number>>;
};

/** The code of a refusal that depends on the time of the decision, which is unknown. */
const BY_TIME = 'create_transfer_schema';

/**
 * Checks that the commits have a serial order that explains every response:
 * - if a request was sent after the response to another, it comes later in the order of the database;
 * - deciding everything again in that order gives the same results, and the same refusals with the same figures;
 * - funding.low was sent exactly when a program's funds fell below its threshold.
 * So the ledger committed nothing that an earlier acknowledged change forbids.
 */
export function checkSerialOrder(
  commits: Commits,
  operations: readonly Operation[],
  changes: readonly AdministrativeChange[],
): Verdict {
  const order = new SerialOrder(commits);
  for (const operation of operations) order.place(operation);
  for (const change of changes) order.placeChange(change);
  order.compareTimes();
  order.replay();
  return { problems: order.problems, figures: Object.fromEntries(order.figures) };
}

class SerialOrder {
  readonly problems: string[] = [];
  readonly figures = new Map<string, number>();
  readonly #commits: Commits;
  /** Positions of events by their payload, which is unique. */
  readonly #events: ReadonlyMap<string, number>;
  readonly #placed: Placed[] = [];
  /** The refusals that a transaction stored, by its position. */
  readonly #stored = new Map<number, Refused[]>();
  readonly #unstored: Refused[] = [];

  constructor(commits: Commits) {
    this.#commits = commits;
    const events = commits.transactions.flatMap(({ position, events: all }) =>
      all.map(({ payload }) => [payload, position] as const),
    );
    this.#events = new Map(events);
    if (this.#events.size !== events.length) this.problems.push('two events have the same payload');
  }

  place(operation: Operation): void {
    const { key, responses, asked, sentAt } = operation;
    const say = (problem: string): void => void this.problems.push(`${key}: ${problem}`);
    const kept = responses.filter(isKept);
    const [first] = kept;
    for (const response of responses) {
      if (isKept(response)) continue;
      this.#count(`refused_${codeOf(response)}`);
      if (response.status < 500 && codeOf(response) !== BY_TIME)
        this.#unstored.push({ operation, response, now: Math.round(performance.timeOrigin + response.at) });
    }
    const stored = this.#commits.keys.get(`${asked.does}_transfer ${key}`);
    if (first === undefined) {
      if (isInDoubt(operation)) this.#count('unknown');
      else if (stored !== undefined)
        say(`a ${stored.status} is stored, but no response says that it was done or refused`);
      return;
    }
    if (stored === undefined) {
      say(`lost: its ${first.status} is not stored`);
      return;
    }
    const { position, now } = stored;
    this.#placed.push({ what: key, sentAt, gotAt: Math.min(...kept.map(({ at }) => at)), position });
    if (!isDone(first)) {
      this.#count(`refused_${codeOf(first)}`);
      this.#stored.set(position, [...(this.#stored.get(position) ?? []), { operation, response: first, now }]);
      return;
    }
    this.#count(asked.does === 'create' && asked.capture === 'manual' ? 'hold' : asked.does);
    const found = this.#events.get(first.text);
    const isLost = found === undefined ? 'lost: ' : '';
    if (found !== position) say(`${isLost}it was done at ${found}, but its response was stored at ${position}`);
  }

  placeChange({ what, sentAt, gotAt, status, text }: AdministrativeChange): void {
    this.#count(`change_${what}${status < 300 ? '' : `_${status}`}`);
    if (status >= 300) return;
    const position = this.#events.get(text);
    // A request that changes nothing writes no event.
    if (position === undefined) this.#count('changes_of_nothing');
    else this.#placed.push({ what, sentAt, gotAt, position });
  }

  /** Checks that a request sent after a response comes later in the order than the request with that response. */
  compareTimes(): void {
    const bySent = this.#placed.toSorted((left, right) => left.sentAt - right.sentAt);
    const byGot = this.#placed.toSorted((left, right) => left.gotAt - right.gotAt);
    let last: Placed | undefined;
    let at = 0;
    for (const placed of bySent) {
      for (; at < byGot.length && (byGot[at]?.gotAt ?? 0) < placed.sentAt; at += 1) {
        if (last === undefined || (byGot[at]?.position ?? 0) > last.position) last = byGot[at];
      }
      if (last === undefined || last.position < placed.position) continue;
      this.problems.push(
        `${placed.what} was sent after the response to ${last.what}, but done earlier: at ${placed.position} and ${last.position}`,
      );
    }
    this.#count('in_order', this.#placed.length);
  }

  /** Decides everything again, and looks for a position at which each refusal was correct. */
  replay(): void {
    const { transactions, chained } = this.#commits;
    const replay = new SerialReplay(this.#commits);
    const waiting = this.#windows().toSorted((left, right) => left.from - right.from);
    let active: readonly Open[] = [];
    let next = 0;
    for (const transaction of transactions) {
      const { position } = transaction;
      for (; next < waiting.length && (waiting[next]?.from ?? 0) < position; next += 1) {
        active = [...active, waiting[next] as Open];
      }
      let stored: readonly Refused[] = this.#stored.get(position) ?? [];
      this.#count('refusals_replayed', stored.length);
      replay.run(transaction, () => {
        stored = stored.filter((refused) => !isCorrect(replay, refused));
        active = active.filter((refused) => !isCorrect(replay, refused));
      });
      for (const refused of stored) this.#sayIncorrect(position, refused);
      for (const refused of active.filter(({ until }) => until <= position)) this.#sayIncorrect(position, refused);
      active = active.filter(({ until }) => until > position);
    }
    const left = [...active, ...waiting.slice(next)].filter((refused) => !isCorrect(replay, refused));
    for (const refused of left) this.#sayIncorrect(refused.from, refused);
    this.problems.push(...replay.problems);
    this.#count('funding_low', replay.lows.length);
    this.#count('transactions', transactions.length);
    this.#count('chained', chained);
  }

  /**
   * Returns the range of positions at which each unstored refusal can have been decided. The range begins after
   * everything whose response arrived before the refused request was sent, and ends before everything that was sent
   * after the refusal arrived. It also includes the positions of transactions without a response at that time. A transaction takes its
   * number some time before it commits, so a later number of another program or card can be committed first.
   */
  #windows(): readonly Open[] {
    const byGot = this.#placed.toSorted((left, right) => left.gotAt - right.gotAt);
    const bySent = this.#placed.toSorted((left, right) => left.sentAt - right.sentAt);
    const highest: number[] = [];
    for (const { position } of byGot) highest.push(Math.max(position, highest.at(-1) ?? 0));
    const [unanswered, lowest] = [lowestFrom(byGot), lowestFrom(bySent)];
    return this.#unstored.map((refused) => {
      const answered = countBelow(byGot, ({ gotAt }) => gotAt < refused.operation.sentAt);
      return {
        ...refused,
        from: Math.min(highest[answered - 1] ?? 0, (unanswered[answered] ?? Number.POSITIVE_INFINITY) - 1),
        until: lowest[countBelow(bySent, ({ sentAt }) => sentAt <= refused.response.at)] ?? Number.POSITIVE_INFINITY,
      };
    });
  }

  #sayIncorrect(position: number, { operation: { key, asked }, response: { text } }: Refused): void {
    this.problems.push(
      `at ${position}: ${key} got a refusal that was not correct: ${text} to ${JSON.stringify(asked)}`,
    );
  }

  #count(what: string, count = 1): void {
    this.figures.set(what, (this.figures.get(what) ?? 0) + count);
  }
}

type ErrorText = { readonly Code: string; readonly Message: string };

function codeOf({ text }: Response): string {
  return (JSON.parse(text) as ErrorText).Code;
}

function isCorrect(replay: SerialReplay, { operation, response, now }: Refused): boolean {
  const expected = replay.refuse(operation, now);
  const { Code, Message } = JSON.parse(response.text) as ErrorText;
  return expected?.code === Code && expected.parts.every((part) => Message.includes(part));
}

/** Returns, for each item, the lowest position from it to the end of the list. */
function lowestFrom(placed: readonly Placed[]): readonly number[] {
  const lowest: number[] = [];
  for (const { position } of placed.toReversed()) {
    lowest.push(Math.min(position, lowest.at(-1) ?? Number.POSITIVE_INFINITY));
  }
  return lowest.reverse();
}

/** Counts the items at the start of a sorted list that meet a condition. */
function countBelow(sorted: readonly Placed[], isBelow: (placed: Placed) => boolean): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBelow(sorted[middle] as Placed)) low = middle + 1;
    else high = middle;
  }
  return low;
}
