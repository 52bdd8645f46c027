import { toWireId } from '../../../domain/identifier.ts';
import type { Change, Heard, Record, Sent } from '../../generators/changes/requests.ts';
import { FundingReplay } from './funding-replay.ts';
import type { History } from './history.ts';
import { Replay } from './replay.ts';

/** A committed change or a stored refusal, and its position in the order of the database. */
type Placed = { readonly what: string; readonly sentAt: number; readonly gotAt: number; readonly position: number };

/** A refusal that is not stored. It must have been correct at some time between the request and its response. */
type Open = { readonly sent: Sent; readonly heard: Heard; readonly from: number; readonly until: number };

/** A refusal stored by a transaction. */
type Stored = { readonly sent: Sent; readonly heard: Heard; readonly now: number };

/** The problems found, and counts of what was checked. */
export type Verdict = {
  readonly problems: readonly string[];
  readonly figures: Readonly<globalThis.Record<string, number>>;
};

/** The code of a refusal that depends on the time of the decision, which is unknown. */
const BY_TIME = 'create_transfer_schema';

/**
 * Compares a ledger with the responses that clients received:
 * - the ledger has everything that was acknowledged, once and unchanged, and nothing else;
 * - if a request was sent after the response to another, it comes later in the order of the database;
 * - deciding everything again in that order gives the same results, with the same texts of refusals;
 * - funding.low was sent exactly when a program's funds fell below its threshold.
 * So the ledger committed nothing that an earlier acknowledged change forbids.
 */
export function judgeHistory(history: History, record: Record): Verdict {
  const judge = new Judge(history, record);
  judge.compare();
  judge.checkOrder();
  judge.replay();
  judge.checkFunding();
  return { problems: judge.problems, figures: Object.fromEntries(judge.figures) };
}

class Judge {
  readonly problems: string[] = [];
  readonly figures = new Map<string, number>();
  readonly #history: History;
  readonly #record: Record;
  /** Positions of events by their payload, which is unique. */
  readonly #events: ReadonlyMap<string, number>;
  readonly #placed: Placed[] = [];
  readonly #stored = new Map<number, Stored[]>();
  readonly #unstored: (readonly [Sent, Heard])[] = [];

  constructor(history: History, record: Record) {
    this.#history = history;
    this.#record = record;
    const events = history.transactions.flatMap(({ position, events: all }) =>
      all.map(({ payload }) => [payload, position] as const),
    );
    this.#events = new Map(events);
    if (this.#events.size !== events.length) this.problems.push('two events have the same payload');
  }

  compare(): void {
    for (const sent of this.#record.sent) this.#compareOne(sent);
    for (const change of this.#record.changes) this.#placeChange(change);
    if (this.#record.unanswered > 0) this.problems.push(`${this.#record.unanswered} requests had no response`);
    this.#findUncalled();
  }

  #compareOne(sent: Sent): void {
    const { key, heard, asked } = sent;
    const say = (problem: string): void => void this.problems.push(`${key}: ${problem}`);
    const final = heard.filter(({ status }) => status < 300 || status === 409);
    const [first] = final;
    const refused = heard.filter(({ status }) => status >= 400 && status < 500 && status !== 409);
    this.#unstored.push(...refused.map((each) => [sent, each] as const));
    if (new Set(final.map(({ status, text }) => `${status} ${text}`)).size > 1) say('its responses differ');
    const stored = this.#history.keys.get(`${asked.does}_transfer ${key}`);
    if (first === undefined) {
      const isUnknown = heard.some(({ moneyMoved }) => moneyMoved === 'unknown');
      if (isUnknown) this.#count('unknown');
      if (stored !== undefined && !isUnknown)
        say(`a ${stored.status} is stored, but no response says that it was done or refused`);
      for (const each of heard) this.#count(`refused_${each.code}`);
      return;
    }
    if (stored === undefined) {
      say(`lost: its ${first.status} is not stored`);
      return;
    }
    if (stored.status !== first.status) say(`a ${stored.status} is stored, but the response was a ${first.status}`);
    const { position } = stored;
    this.#placed.push({ what: key, sentAt: sent.sentAt, gotAt: Math.min(...final.map(({ at }) => at)), position });
    if (first.status === 409) {
      this.#count(`refused_${first.code}`);
      this.#stored.set(position, [...(this.#stored.get(position) ?? []), { sent, heard: first, now: stored.now }]);
      return;
    }
    this.#count(asked.does === 'create' && asked.isHeld ? 'hold' : asked.does);
    const found = this.#events.get(first.text);
    if (found === undefined) say(`lost: no event for ${first.text}`);
    else if (found !== position) say(`it was done at ${found}, but its response was stored at ${position}`);
    if (!isAsAsked(sent, first.text)) say(`${first.text} differs from the request`);
  }

  #placeChange({ what, sentAt, gotAt, status, text }: Change): void {
    this.#count(`change_${what}${status < 300 ? '' : `_${status}`}`);
    if (status >= 300) return;
    const position = this.#events.get(text);
    // A request that changes nothing writes no event.
    if (position === undefined) this.#count('changes_of_nothing');
    else this.#placed.push({ what, sentAt, gotAt, position });
  }

  /** Finds events of transfers that belong to no request, except expiries and the last transfers of closed cards. */
  #findUncalled(): void {
    const heard = new Set(this.#record.sent.flatMap((sent) => sent.heard.map(({ text }) => text)));
    const isOpen = (sent: Sent): boolean => sent.heard.some(({ moneyMoved }) => moneyMoved === 'unknown');
    const open = new Set(
      this.#record.sent.filter(isOpen).map(({ key, asked }) => ('transferId' in asked ? asked.transferId : key)),
    );
    for (const { position, events } of this.#history.transactions) {
      for (const { type, payload } of events) {
        if (!/^(transfer|reversal)\./.test(type) || type === 'transfer.expired' || heard.has(payload)) continue;
        const { transfer_id, description } = JSON.parse(payload) as globalThis.Record<string, string>;
        if (description === 'Balance of the closed card') continue;
        if (open.has(String(description)) || open.has(String(transfer_id))) continue;
        this.problems.push(`at ${position}: no response contains ${payload}`);
      }
    }
  }

  checkFunding(): void {
    const { accounts, transactions } = this.#history;
    const made = new Set(
      transactions.flatMap(({ events }) =>
        events.flatMap(({ type, subjectId }) => (type === 'program.created' ? subjectId : [])),
      ),
    );
    for (const { programId, accountId, kind } of accounts) {
      const wireId = toWireId('prog', programId);
      if (kind !== 'funding' || !made.has(wireId)) continue;
      const replay = new FundingReplay(wireId, accountId);
      for (const transaction of transactions) replay.run(transaction);
      this.problems.push(...replay.problems.map((problem) => `funding of ${wireId}: ${problem}`));
      this.#count('funding_low', replay.crossings);
    }
  }

  /** Checks that a request sent after a response comes later in the order than the request with that response. */
  checkOrder(): void {
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

  replay(): void {
    const replay = new Replay(this.#history);
    const waiting = this.#windows().toSorted((left, right) => left.from - right.from);
    let active: readonly Open[] = [];
    let next = 0;
    for (const transaction of this.#history.transactions) {
      const { position } = transaction;
      for (; next < waiting.length && (waiting[next]?.from ?? 0) < position; next += 1) {
        active = [...active, waiting[next] as Open];
      }
      let stored: readonly Stored[] = this.#stored.get(position) ?? [];
      this.#count('refusals_replayed', stored.length);
      replay.run(transaction, () => {
        if (stored.length > 0) stored = stored.filter(({ sent, heard, now }) => !isTrue(replay, sent, heard, now));
        if (active.length > 0) active = active.filter((open) => !isTrueNow(replay, open));
      });
      for (const { sent, heard } of stored) this.#untrue(position, sent, heard);
      for (const { sent, heard } of active.filter(({ until }) => until <= position))
        this.#untrue(position, sent, heard);
      active = active.filter(({ until }) => until > position);
    }
    const left = [...active, ...waiting.slice(next)].filter((open) => !isTrueNow(replay, open));
    for (const { sent, heard, from } of left) this.#untrue(from, sent, heard);
    this.problems.push(...replay.problems);
    this.#count('transactions', this.#history.transactions.length);
    this.#count('chained', this.#history.chained);
  }

  /** The ranges of positions for unstored refusals: after everything answered earlier, and before everything sent later. */
  #windows(): readonly Open[] {
    const byGot = this.#placed.toSorted((left, right) => left.gotAt - right.gotAt);
    const bySent = this.#placed.toSorted((left, right) => left.sentAt - right.sentAt);
    const highest: number[] = [];
    for (const { position } of byGot) highest.push(Math.max(position, highest.at(-1) ?? 0));
    const lowest: number[] = [];
    for (const { position } of bySent.toReversed()) {
      lowest.push(Math.min(position, lowest.at(-1) ?? Number.POSITIVE_INFINITY));
    }
    lowest.reverse();
    return this.#unstored
      .filter(([, { code }]) => code !== BY_TIME)
      .map(([sent, heard]) => ({
        sent,
        heard,
        from: highest[countBelow(byGot, ({ gotAt }) => gotAt < sent.sentAt) - 1] ?? 0,
        until: lowest[countBelow(bySent, ({ sentAt }) => sentAt <= heard.at)] ?? Number.POSITIVE_INFINITY,
      }));
  }

  #untrue(position: number, { key, asked }: Sent, { text }: Heard): void {
    this.problems.push(
      `at ${position}: ${key} got a refusal that was not correct: ${text} to ${JSON.stringify(asked)}`,
    );
  }

  #count(what: string, count = 1): void {
    this.figures.set(what, (this.figures.get(what) ?? 0) + count);
  }
}

function isTrueNow(replay: Replay, { sent, heard }: Open): boolean {
  return isTrue(replay, sent, heard, Math.round(performance.timeOrigin + heard.at));
}

function isTrue(replay: Replay, sent: Sent, heard: Heard, now: number): boolean {
  const refusal = replay.refuse(sent, now);
  // Some messages end with the roles to ask.
  return refusal?.code === heard.code && heard.message?.startsWith(refusal.message) === true;
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

function isAsAsked({ asked, key }: Sent, text: string): boolean {
  const found = JSON.parse(text) as globalThis.Record<string, unknown>;
  if (asked.does === 'create') {
    const { type, amount, card, destination, isHeld } = asked;
    const wanted = [type, amount, card, destination, isHeld ? 'manual' : 'automatic', key];
    return isSame(
      wanted,
      ['type', 'amount', 'card_id', 'destination_card_id', 'capture', 'description'].map((name) => found[name]),
    );
  }
  if (found.transfer_id !== asked.transferId) return false;
  if (asked.does === 'capture') return found.captured_amount === asked.amount && found.status === 'completed';
  if (asked.does === 'cancel') return found.status === 'canceled';
  return found.amount === asked.amount && found.description === key;
}

function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
