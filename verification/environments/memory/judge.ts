import { toWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { TRANSFER_MOVES, type TransferStatus } from '../../../domain/transfers/transfer.ts';
import { type AnyReply, OperationFailure } from '../../../server/calls/call.ts';
import { payloadOf } from '../../../test/fixtures/stored-events.ts';
import { JudgeOfAccounts } from '../../checkers/commits/judge-of-accounts.ts';
import { JudgeOfEvents } from '../../checkers/commits/judge-of-events.ts';
import { JudgeOfProcessors } from '../../checkers/commits/judge-of-processors.ts';
import { JudgeOfWebhooks } from '../../checkers/commits/judge-of-webhooks.ts';
import { Coverage } from '../../generators/commands.ts';
import { sum } from '../../model/books.ts';
import type { Command, Opening, Request } from '../../model/commands.ts';
import type { Model } from '../../model/model.ts';
import { SerialBooks } from '../../model/serial-books.ts';
import { NOTHING, timeOf } from '../memory-store/meaning.ts';
import { type StoredRow, toUuid } from '../memory-store/parameters.ts';
import type { Tables, Written } from '../memory-store/transaction.ts';
import { isOfWebhook, type ReadEvent, read, readEntry, showsProgram, sorted } from './read-event.ts';
import { describeRequest, isOfOperators, movesMoney } from './requests.ts';
import { nameOf, PROGRAMS } from './world.ts';

/** A caller's request with all of its retries. */
export type Wish = {
  readonly ask: Request;
  readonly key: string | null;
  /** The refusals that were correct at some time since the request was first sent: their codes, and parts of their messages. */
  readonly possible: Map<string, Set<string>>;
  /** The payload of the event that was committed for the request. Undefined until then. */
  committed: string | undefined;
  isOver: boolean;
};

/** One attempt to send a request. */
export type Attempt = {
  readonly wish: Wish;
  readonly requestId: string;
  /** The time of sending by the database's clock, in milliseconds since 1970. */
  readonly sentAt: number;
  readonly deadline: number;
  /** Whether its caller got a response that says that no money has moved. */
  isToldNo: boolean;
  isOpen: boolean;
};

/** The longest delay of a response after the deadline: a transaction that began before the deadline is completed. */
const LATE_MILLISECONDS = 4_000;

const HOUR = 3_600_000;

/**
 * Something that is due within this time counts as due soon. In most schedules, transfers become due after a few
 * seconds. In stories, they become due after hours.
 */
const SOON_MILLISECONDS = 10_000;

/** The fields of a transfer that must be equal in its last event and its row. */
const TOLD = ['status', 'outcome', 'captured_amount', 'metadata', 'error', 'updated_at'] as const;

/** Events of transfers that no request causes: the transfer is due, or its processor has reported. */
const OF_NO_REQUEST: ReadonlySet<string> = new Set(
  ['expired', 'completed', 'pending', 'failed', 'unknown'].map((name) => `transfer.${name}`),
);

/** Checks all commits and responses against the serial books. */
export class Judge {
  readonly problems: string[] = [];
  readonly #tables: Tables;
  readonly #books: SerialBooks;
  readonly #attempts = new Map<string, Attempt>();
  readonly #wishes: Wish[] = [];
  /** The requests that were carried out. */
  readonly #committedBy = new Set<string>();
  /** The transfer that has emptied a card. The event of the card comes next. */
  #sweep = '';
  /** When each transfer was last changed, by its wire id. */
  readonly #updatedAt = new Map<string, number>();
  readonly #webhooks: JudgeOfWebhooks;
  readonly #events: JudgeOfEvents;
  readonly #accounts: JudgeOfAccounts;
  readonly processors: JudgeOfProcessors;
  readonly #clock: () => number;

  readonly opening: Opening;
  readonly #coverage: Coverage;

  /** `clock`: the database's clock, in milliseconds since 1970. */
  constructor(tables: Tables, opening: Opening, clock: () => number, coverage = new Coverage()) {
    this.#tables = tables;
    this.#clock = clock;
    this.opening = opening;
    this.#coverage = coverage;
    this.#books = new SerialBooks(opening);
    for (const [index, { webhookId }] of PROGRAMS.entries())
      this.#books.webhooks.set(toWireId('wh', webhookId), { program: String(index), status: 'enabled' });
    const say = (problem: string): void => this.say(problem);
    this.#webhooks = new JudgeOfWebhooks(tables, this.#books, say);
    this.#events = new JudgeOfEvents(tables, say);
    this.#accounts = new JudgeOfAccounts(tables, this.#books, say);
    this.processors = new JudgeOfProcessors(tables, this.#books, say);
  }

  /** The state as the model sees it now. */
  get model(): Model {
    const { model } = this.#books;
    model.books.now = this.#clock();
    return model;
  }

  say(problem: string): void {
    this.problems.push(problem);
  }

  onWish(wish: Wish): void {
    this.#wishes.push(wish);
    this.#notePossible(wish, this.#clock());
  }

  onAttempt(attempt: Attempt): void {
    this.#attempts.set(attempt.requestId, attempt);
  }

  get areEventsPlaced(): boolean {
    return this.#tables.all('write_batch').every((row) => row.relayed === true || row.abandoned === true);
  }

  /** Called before the clock moves to a different time. */
  onClock(command: Extract<Command, { does: 'wait_until' }>): void {
    this.#coverage.note(command, null);
    for (const { zone } of this.opening.programs) this.#coverage.noteTime(this.#clock(), command.now, zone);
    this.#updatedAt.clear();
  }

  /** Called after a commit. */
  onCommit(written: Written): void {
    const rows = (table: string): readonly StoredRow[] => written.get(table) ?? NOTHING;
    const events = rows('event')
      .toSorted((one, other) => Number(one.index) - Number(other.index))
      .map(read);
    const entries = rows('audit_entry').map(readEntry);
    this.#events.note(events, rows('account'));
    for (const event of events) {
      if (event.event.type === 'funding.low') this.#takeLow(event);
      else if (isTaken(event)) this.#take(event, entries);
    }
    for (const { available } of this.#books.model.low.splice(0))
      this.say(`there is no event for low funds: ${available}`);
    for (const entry of entries) if (isOfWebhook(entry)) this.#take(entry, entries);
    if (written.has('account')) this.#accounts.compare();
    this.processors.onCommit(written);
    // The row of an attempt decides which changes are correct, so it is noted after the events.
    if (written.has('processor_attempt')) this.#noteAllPossible(this.#clock());
    for (const program of rows('program')) this.#compareProgram(program, events);
    for (const transfer of rows('transfer')) this.#compareTransfer(transfer, events);
    for (const card of rows('card')) this.#compareCard(card, events);
    this.#events.compare(rows('event_position'));
    const known = [...entries, ...events.filter(isOfWebhook)];
    for (const row of rows('webhook_state')) this.#webhooks.compare(row, known);
  }

  /** Called with the response of a request, or the error that it threw. */
  onAnswer(attempt: Attempt, answer: AnyReply | { readonly thrown: unknown }, now: number): void {
    attempt.isOpen = false;
    const { wish, deadline } = attempt;
    const { ask, committed, possible } = wish;
    const about = (): string => describeRequest(ask);
    if (now > deadline + LATE_MILLISECONDS)
      this.say(`${about()} got its response ${Math.round(now - deadline)} ms too late`);
    if (!('thrown' in answer)) {
      if (committed === undefined && !possible.has('unchanged'))
        this.say(`${about()} got its response before its commit`);
      this.#coverage.note(ask, null);
      const json = 'json' in answer ? answer.json : undefined;
      if (json !== undefined && committed !== undefined && json !== committed && showsEvent(ask)) {
        this.say(`${about()} got the response ${json}, but its event is ${committed}`);
      }
      if (ask.does === 'create' && ask.asked.scheduledFor === null && committed !== undefined) {
        const { transfer_id } = JSON.parse(committed) as { readonly transfer_id: string };
        const { moneyMoved } = answer as { readonly moneyMoved?: string };
        if (!this.processors.isTrue(transfer_id, moneyMoved))
          this.say(`${about()} got the response "money moved: ${moneyMoved}", which is false`);
      }
      return;
    }
    const { thrown } = answer;
    const isMine = committed !== undefined && this.#isCommitted(attempt);
    if (thrown instanceof Refusal) {
      attempt.isToldNo = true;
      // The clock has moved since the last check, so other refusals may be correct now.
      this.#notePossible(wish, this.#clock());
      const { code, message } = thrown;
      const part = [...(possible.get(code) ?? [])].find((one) => message.includes(one));
      this.#coverage.note(ask, { code, about: part ?? null });
      if (isMine) this.say(`${about()} was refused with ${code}, but carried out`);
      else if (part === undefined && !this.#wasDown(wish, code) && !this.#isInDoubt(wish, code))
        this.say(`${about()} was refused with ${code} (${message}), which was never correct`);
      return;
    }
    if (!(thrown instanceof OperationFailure)) {
      this.say(`${about()} failed with ${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}`);
      return;
    }
    // For an operation that moves no money, "no" does not mean that nothing was done.
    if (thrown.moneyMoved !== 'no' || !movesMoney(ask)) return;
    attempt.isToldNo = true;
    if (isMine) this.say(`${about()} got the response "no money has moved" (${thrown.message}), but was carried out`);
  }

  /** Whether a request was refused because its processor cannot be reached. One process can know this earlier than the others. */
  #wasDown({ ask }: Wish, code: string): boolean {
    return code === 'processor_unavailable' && ask.does === 'create' && this.processors.wasDown;
  }

  /** Whether a failed transfer may keep its reference, because its processor has moved the money after all. */
  #isInDoubt({ ask }: Wish, code: string): boolean {
    return code === 'duplicate_reference' && ask.does === 'create' && this.#books.isInDoubt(ask.asked);
  }

  /** Called when a receiver has received the event with this position. */
  onDelivered(webhookId: string, position: number): void {
    this.#webhooks.onDelivered(webhookId, position);
  }

  /** Whether a hold ends soon, or a transfer is due soon and the switch does not make it wait. */
  get isSomethingDue(): boolean {
    const now = this.#clock();
    const isSoon = (time: unknown): boolean => timeOf(time) < now + SOON_MILLISECONDS;
    if (this.#tables.all('hold').some((row) => isSoon(row.expires_at))) return true;
    return this.#tables.all('transfer').some(({ status, scheduled_for, transfer_id }) => {
      const isScheduled = status === 'scheduled' && isSoon(scheduled_for);
      return isScheduled && !this.#books.waits(toWireId('tr', String(transfer_id)), now);
    });
  }

  /** When something is due next, in milliseconds since 1970. Default holds last longer than any schedule. */
  get nextDue(): number {
    const now = this.#clock();
    const times = [this.processors.next];
    for (const { expires_at } of this.#tables.all('hold'))
      if (timeOf(expires_at) < now + HOUR) times.push(timeOf(expires_at));
    for (const { status, scheduled_for, transfer_id } of this.#tables.all('transfer')) {
      if (status !== 'scheduled') continue;
      if (timeOf(scheduled_for) > now || !this.#books.waits(toWireId('tr', String(transfer_id)), now))
        times.push(timeOf(scheduled_for));
    }
    return Math.min(...times);
  }

  /** Checks the final state, when nothing is in progress. */
  atRest(): void {
    const last = this.#events.atRest();
    for (const transfer of this.#tables.all('transfer')) {
      const found = last.get(toWireId('tr', String(transfer.transfer_id)));
      this.#compareTransfer(transfer, found === undefined ? [] : [read(found)]);
      if (found === undefined) this.say('a transfer has no event');
    }
    for (const card of this.#tables.all('card')) {
      const found = last.get(String(card.name));
      if (found !== undefined) this.#compareCard(card, [read(found)]);
    }
    this.#accounts.compareCounts();
    this.processors.atRest();
  }

  #isCommitted({ requestId }: Attempt): boolean {
    return this.#committedBy.has(requestId);
  }

  /** Handles the event of a carried-out request, or its entry in the audit log. */
  #take({ event, record }: ReadEvent, entries: readonly ReadEvent[]): void {
    const requestId = event.request_id === null ? toUuid(String(record.request_id).slice(4)) : String(event.request_id);
    const at = timeOf(event.created_at ?? new Date(this.#clock()));
    const attempt = this.#attempts.get(requestId);
    if (event.type === 'transfer.late_approval') {
      const problem = this.#books.moveLate(String(event.subject_id));
      if (problem !== undefined) this.say(`there is a late approval of ${event.subject_id}, which ${problem}`);
      return;
    }
    if (attempt === undefined) {
      this.#takeDue({ event, record }, at);
      return;
    }
    const { wish } = attempt;
    const { ask } = wish;
    // The event of the transfer that empties a card comes before the event of the card.
    if (ask.does === 'update_card' && event.type === 'transfer.completed') {
      this.#sweep = String(event.subject_id);
      return;
    }
    this.#noteAllPossible(at);
    const about = (): string => describeRequest(ask);
    if (wish.committed !== undefined) this.say(`${about()} was committed twice`);
    if (attempt.isToldNo) this.say(`${about()} was committed after its caller got the response that it was not`);
    if (at < attempt.sentAt - 1 || at > this.#clock() + 1) this.say(`${about()} has a wrong time, ${at}`);
    const refusal = this.#books.refuse(ask, at)?.code;
    // Enabling a paused webhook makes its probe due.
    const isProbe = ask.does === 'update_webhook' && ask.status === 'enabled' && refusal === 'unchanged';
    if (refusal !== undefined && !isProbe)
      this.say(`${about()} was committed, but should have been refused with ${refusal}`);
    if (isOfOperators(ask) && !entries.some(({ event: entry }) => entry.request_id === requestId))
      this.say(`${about()} has no entry in the audit log`);
    wish.committed = payloadOf(event);
    this.#committedBy.add(requestId);
    const newId = ask.does === 'update_card' ? this.#sweep : String(record.transfer_id ?? record.webhook_id);
    const id = 'transfer' in ask ? ask.transfer : String(event.subject_id);
    const from = this.#books.books.transfers.get(id)?.status ?? null;
    this.#books.apply(ask, newId, at);
    this.#checkMove(id, from, ask.does, event);
    this.#noteAllPossible(at);
  }

  /** Checks that the domain's table contains the move of a transfer, and that its event has the right type. */
  #checkMove(id: string, from: TransferStatus | null, does: string, { type }: StoredRow): void {
    const to = this.#books.books.transfers.get(id)?.status;
    if (to === undefined || does === 'update_transfer') return;
    const command = does === 'resolve' ? 'report' : does;
    this.#coverage.count(`moved ${from} ${command} ${to}`);
    if (!TRANSFER_MOVES.some((move) => move.from === from && move.command === command && move.to === to))
      this.say(`${id} has made the move ${from} ${command} ${to}`);
    const expected = command === 'reverse' ? 'reversal.completed' : `transfer.${to}`;
    // A processor's report can also leave the transfer pending.
    if (type !== expected && command !== 'report')
      this.say(`${id} became ${to} by ${command}, but its event is ${type}`);
  }

  /** Handles the event of a change that a job has made. */
  #takeDue({ event, record }: ReadEvent, at: number): void {
    const id = String(event.subject_id);
    if (!OF_NO_REQUEST.has(String(event.type))) {
      this.say(`there is an event ${event.type} without a request`);
      return;
    }
    const { status, error } = record as { readonly status: never; readonly error: { readonly Code: string } | null };
    this.#noteAllPossible(at);
    const from = this.#books.books.transfers.get(id)?.status ?? null;
    const problem = this.#books.settle(id, status, error?.Code, at);
    const isOfJob = from === 'scheduled' || event.type === 'transfer.expired';
    this.#checkMove(id, from, !isOfJob ? 'report' : from === 'pending' ? 'expire' : 'execute', event);
    if (problem !== undefined) this.say(`${id} was settled (${event.type}), but ${problem}`);
    this.#noteAllPossible(at);
  }

  /**
   * Handles the event that says that the funds of a program have become low. It follows the event of its cause, and is
   * sent once.
   */
  #takeLow({ event, record }: ReadEvent): void {
    const low = this.#books.model.low.shift();
    const isEqual =
      low !== undefined &&
      nameOf(event.program_id) === low.program &&
      record.available === Number(low.available) &&
      record.threshold === Number(low.threshold);
    if (!isEqual) this.say(`the event that the funds of ${event.program_id} are low is wrong: ${event.payload}`);
  }

  #compareProgram(row: StoredRow, events: readonly ReadEvent[]): void {
    const index = nameOf(row.program_id);
    const { threshold } = this.#books.books.program(index);
    if (row.name !== this.#books.names.get(index) || row.funding_low_threshold !== threshold)
      this.say(`the program ${index} is ${row.name}, ${row.funding_low_threshold} in the database`);
    const last = events.findLast(
      ({ event }) => event.type === 'program.updated' && event.program_id === row.program_id,
    );
    const isFunding = ({ owner_id, kind }: StoredRow): boolean => owner_id === row.program_id && kind === 'funding';
    const funds = this.#tables.all('account').filter(isFunding);
    if (last === undefined || !showsProgram(last, row, funds))
      this.say(`the program ${index} differs from its event: ${last?.event.payload}`);
  }

  /** Compares a stored transfer with the books and with its last event, or with the event that was written with it. */
  #compareTransfer(row: StoredRow, events: readonly ReadEvent[]): void {
    const id = toWireId('tr', String(row.transfer_id));
    const book = this.#books.books.transfers.get(id);
    if (book !== undefined) {
      const reversed = sum(book.reversals);
      const { status, captured_amount, reversed_amount, error, expires_at, completed_at } = row;
      const { Code = null } = (error ?? {}) as { readonly Code?: string };
      const times = [expires_at, completed_at].map((time) => time && timeOf(time));
      const { captured, errorCode, expiresAt, completedAt, isElsewhere } = book;
      // The books do not record why a processor has declined.
      const found = [status, captured_amount, reversed_amount, isElsewhere ? errorCode : Code, ...times].join(' ');
      const expected = [book.status, captured, reversed, errorCode, expiresAt, completedAt].join(' ');
      if (found !== expected) this.say(`${id} is ${found} in the database instead of ${expected}`);
      const metadata = JSON.stringify(this.#books.metadata.get(id) ?? {});
      if (JSON.stringify(row.metadata) !== metadata)
        this.say(`${id} has the metadata ${JSON.stringify(row.metadata)} instead of ${metadata}`);
    }
    const last = events.findLast(({ event }) => event.subject_id === id);
    if (last === undefined) return;
    const { event, record } = last;
    const { status, outcome, captured_amount, metadata, error, updated_at } = row;
    const stored: Readonly<Record<(typeof TOLD)[number], unknown>> = {
      ...{ status, outcome, metadata, error },
      captured_amount: Number(captured_amount),
      updated_at: (updated_at as Date).toISOString(),
    };
    for (const name of TOLD) {
      // A hold past its expiry time counts as expired even before the row says so.
      if (
        (name === 'status' || name === 'outcome') &&
        status === 'pending' &&
        timeOf(row.expires_at) <= timeOf(event.created_at)
      )
        continue;
      // A reversal changes `updated_at`, but has a separate event.
      if (name === 'updated_at' && (row.reversed_amount as bigint) > 0n) continue;
      if (record[name] !== stored[name] && sorted(record[name]) !== sorted(stored[name])) {
        const shown = `${name} ${sorted(record[name])}`;
        this.say(`the last event of ${id}, ${event.type}, has ${shown}, but the row has ${sorted(stored[name])}`);
      }
    }
    const before = this.#updatedAt.get(id) ?? 0;
    if (timeOf(row.updated_at) < before) this.say(`updated_at of ${id} has gone back`);
    this.#updatedAt.set(id, Math.max(before, timeOf(row.updated_at)));
  }

  #compareCard(row: StoredRow, events: readonly ReadEvent[]): void {
    const last = events.findLast(({ event }) => event.subject_id === row.name);
    const { status, expiresOn } = this.#books.books.card(String(row.name));
    if (status !== row.status || expiresOn !== row.expires_on)
      this.say(`the card ${row.name} is ${row.status} until ${row.expires_on} instead of ${status} until ${expiresOn}`);
    if (last === undefined) return;
    const { event, record } = last;
    const updatedAt = (row.updated_at as Date).toISOString();
    const { books } = this.#books;
    // The card may have expired since then.
    books.now = timeOf(event.created_at);
    const isEqual =
      record.status === books.cardStatus(String(row.name)) &&
      record.holder_reference === row.holder_reference &&
      sorted(record.metadata) === sorted(row.metadata) &&
      record.updated_at === updatedAt;
    if (!isEqual) {
      const stored = `${row.status}, ${row.holder_reference}, ${updatedAt}`;
      this.say(`the last event of ${row.name} has ${event.payload}, but the row has ${stored}`);
    }
  }

  #notePossible(wish: Wish, at: number): void {
    const refused = this.#books.refuse(wish.ask, at);
    if (refused === null) return;
    const abouts = wish.possible.get(refused.code) ?? new Set();
    wish.possible.set(refused.code, abouts.add(refused.about ?? ''));
  }

  /**
   * Notes which refusals of the requests in progress are correct, at this time and now. Called before a change, because
   * a period may have begun since the last change, and after the change.
   */
  #noteAllPossible(at: number): void {
    for (const wish of this.#wishes) {
      if (wish.isOver) continue;
      this.#notePossible(wish, at);
      this.#notePossible(wish, this.#clock());
    }
  }
}

/** Whether the response of a success equals the payload of its event. Only responses contain secrets. */
function showsEvent(ask: Request): boolean {
  if (ask.does === 'create') return ask.waits === null;
  return ask.does !== 'resolve' && !ask.does.endsWith('_webhook');
}

/** Whether an event represents a request. If a request has an event for operators and one for programs, the first counts. */
function isTaken(read: ReadEvent): boolean {
  return !isOfWebhook(read) && (read.event.type !== 'switch.changed' || read.event.program_id === null);
}
