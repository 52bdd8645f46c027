import { toWireId } from '../../domain/identifier.ts';
import { Refusal } from '../../domain/refusal.ts';
import { type AnyReply, OperationFailure } from '../../server/calls/call.ts';
import { type Ask, SerialBooks } from './serial-books.ts';
import { NOTHING, timeOf } from './store/meaning.ts';
import type { StoredRow } from './store/parameters.ts';
import type { Tables, Written } from './store/transaction.ts';
import { PROGRAMS } from './world.ts';

/** What a caller wants, however often it is sent. */
export type Wish = {
  readonly ask: Ask;
  readonly key: string | null;
  /** The codes with which it would have been refused at some moment since it was first sent. */
  readonly possible: Set<string>;
  /** The payload of what was committed for it; undefined while nothing is. */
  committed: string | undefined;
  isOver: boolean;
};

/** One request for it. */
export type Attempt = {
  readonly wish: Wish;
  readonly requestId: string;
  readonly deadline: number;
  /** Its caller was told that it has done nothing. */
  isToldNo: boolean;
  isOpen: boolean;
};

/** Answers may come this long after the deadline: a transaction that was begun before it is not given up. */
const LATE_MILLISECONDS = 4_000;

/** What of a transfer its last event must tell as the row does. */
const TOLD = ['status', 'captured_amount', 'metadata', 'updated_at'] as const;

/** The accounts that the serial books have, by their names there. */
const BOOKED: ReadonlyMap<string, string> = new Map(
  PROGRAMS.flatMap(({ fundingId, cards }, index) => [
    [`funding ${index}`, fundingId] as const,
    ...cards.map(({ name, accountId }) => [name, accountId] as const),
  ]),
);

/** An event with what its payload says. */
type ReadEvent = { readonly event: StoredRow; readonly record: Readonly<Record<string, unknown>> };

/** Compares everything that is committed and answered with what must hold. */
export class Judge {
  readonly problems: string[] = [];
  readonly #tables: Tables;
  readonly #books: SerialBooks;
  readonly #attempts = new Map<string, Attempt>();
  readonly #wishes: Wish[] = [];
  /** The requests that were carried out. */
  readonly #committedBy = new Set<string>();
  /** When each transfer was last changed, by its id on the wire. */
  readonly #updatedAt = new Map<string, number>();
  /** The positions that the receiver of each webhook has got. */
  readonly #delivered = new Map<string, Set<number>>();
  /** Up to where each webhook was not to get events, by its last reading. */
  readonly #passedOver = new Map<string, bigint>();
  /** The cursor of each webhook. */
  readonly #cursors = new Map<string, bigint>();
  /** The last position of each program that was seen. */
  readonly #heads = new Map<string, bigint>();

  constructor(tables: Tables) {
    this.#tables = tables;
    this.#books = new SerialBooks((id) => tables.newest('account', id)?.balance as bigint);
  }

  say(problem: string): void {
    this.problems.push(problem);
  }

  onWish(wish: Wish): void {
    this.#wishes.push(wish);
    this.#notePossible(wish);
  }

  onAttempt(attempt: Attempt): void {
    this.#attempts.set(attempt.requestId, attempt);
  }

  /** A transaction has committed. */
  onCommit(written: Written): void {
    const rows = (table: string): readonly StoredRow[] => written.get(table) ?? NOTHING;
    const events = rows('event')
      .filter((event) => !this.#isRewritten(event))
      .toSorted((one, other) => Number(one.index) - Number(other.index))
      .map(read);
    for (const event of events) if (!isOfWebhook(event)) this.#take(event);
    const entries = rows('audit_entry').map(readEntry);
    for (const entry of entries) this.#take(entry);
    if (written.has('account')) this.#compareAccounts();
    for (const transfer of rows('transfer')) this.#compareTransfer(transfer, events);
    for (const card of rows('card')) this.#compareCard(card, events);
    this.#comparePositions(rows('event_position'));
    const told = [...entries, ...events.filter(isOfWebhook)];
    for (const row of rows('webhook_state')) this.#compareWebhook(row, told);
  }

  /** A caller has an answer: a reply, or what was thrown. */
  onAnswer(attempt: Attempt, answer: AnyReply | { readonly thrown: unknown }, now: number): void {
    attempt.isOpen = false;
    const { wish, deadline } = attempt;
    const { ask, committed, possible } = wish;
    const about = (): string => describeAsk(ask);
    if (now > deadline + LATE_MILLISECONDS)
      this.say(`${about()} was answered ${Math.round(now - deadline)} ms too late`);
    if (!('thrown' in answer)) {
      if (committed === undefined && !possible.has('unchanged')) this.say(`${about()} was answered before its commit`);
      const json = 'json' in answer ? answer.json : undefined;
      if (json !== undefined && committed !== undefined && json !== committed && showsEvent(ask)) {
        this.say(`${about()} was answered with ${json}, but its event says ${committed}`);
      }
      return;
    }
    const { thrown } = answer;
    const isMine = committed !== undefined && this.#isCommitted(attempt);
    if (thrown instanceof Refusal) {
      attempt.isToldNo = true;
      if (isMine) this.say(`${about()} was refused with ${thrown.code}, but was carried out`);
      else if (!possible.has(thrown.code)) this.say(`${about()} was refused with ${thrown.code}, which was never true`);
      return;
    }
    if (!(thrown instanceof OperationFailure)) {
      this.say(`${about()} failed with ${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}`);
      return;
    }
    // What moves no money says "no" whatever becomes of it.
    if (thrown.moneyMoved !== 'no' || !movesMoney(ask)) return;
    attempt.isToldNo = true;
    if (isMine) this.say(`${about()} was answered "no money has moved" (${thrown.message}), but was carried out`);
  }

  /** A receiver has got the event with this position. */
  onDelivered(webhookId: string, position: number): void {
    const delivered = this.#delivered.get(webhookId) ?? new Set<number>();
    this.#delivered.set(webhookId, delivered.add(position));
  }

  /** Nothing is under way any more. */
  atRest(): void {
    const events = this.#tables.all('event');
    const placed = new Map<string, bigint>();
    for (const { batch_id, program_id, position, count } of this.#tables.all('event_position')) {
      const key = `${batch_id} ${program_id}`;
      if (placed.has(key)) this.say('the events of a transaction have two positions');
      placed.set(key, position as bigint);
      const own = events.filter((event) => event.batch_id === batch_id && event.program_id === program_id);
      if (own.length !== count) this.say(`${own.length} events have ${count} positions`);
    }
    const last = new Map<string, { place: number; event: StoredRow }>();
    for (const event of events) {
      const position = placed.get(`${event.batch_id} ${event.program_id}`);
      if (position === undefined) {
        this.say(`an event ${event.type} has no position`);
        continue;
      }
      const subject = String(event.subject_id);
      // The events of a transaction for one program follow each other in the order of their indexes.
      const place = Number(position) + Number(event.index) / 10_000;
      if (place > (last.get(subject)?.place ?? -1)) last.set(subject, { place, event });
    }
    for (const transfer of this.#tables.all('transfer')) {
      const found = last.get(toWireId('tr', String(transfer.transfer_id)))?.event;
      this.#compareTransfer(transfer, found === undefined ? [] : [read(found)]);
      if (found === undefined) this.say('a transfer has no event');
    }
    for (const card of this.#tables.all('card')) {
      const found = last.get(String(card.name))?.event;
      if (found !== undefined) this.#compareCard(card, [read(found)]);
    }
  }

  #isCommitted({ requestId }: Attempt): boolean {
    return this.#committedBy.has(requestId);
  }

  /** Erasure writes events again, without what they say about the holder. */
  #isRewritten(event: StoredRow): boolean {
    return (this.#tables.table('event').get(`${event.batch_id} ${event.index}`)?.length ?? 0) > 1;
  }

  /** Something was carried out: an event of it was written, or an entry in the audit log. */
  #take({ event, record }: ReadEvent): void {
    const requestId = event.request_id === null ? toUuid(String(record.request_id)) : String(event.request_id);
    const attempt = this.#attempts.get(requestId);
    if (attempt === undefined) {
      this.say(`an event ${event.type} is of no request`);
      return;
    }
    const { wish } = attempt;
    const { ask } = wish;
    // The transfer that empties a card comes before the event of the card.
    if (ask.does === 'update_card' && event.type === 'transfer.completed') return;
    const about = (): string => describeAsk(ask);
    if (wish.committed !== undefined) this.say(`${about()} was committed twice`);
    if (attempt.isToldNo) this.say(`${about()} was committed after its caller was told that it was not`);
    const refusal = this.#books.refusalOf(ask);
    // To enable a webhook that is paused makes its probe due.
    const isProbe = ask.does === 'update_webhook' && ask.status === 'enabled' && refusal === 'unchanged';
    if (refusal !== undefined && !isProbe)
      this.say(`${about()} was committed where it would have been refused with ${refusal}`);
    wish.committed = String(event.payload);
    this.#committedBy.add(requestId);
    this.#books.apply(ask, String(record.transfer_id ?? record.webhook_id));
    for (const other of this.#wishes) if (!other.isOver) this.#notePossible(other);
  }

  #compareAccounts(): void {
    const sums = new Map<unknown, bigint>();
    for (const { program_id, balance } of this.#tables.all('account')) {
      sums.set(program_id, (sums.get(program_id) ?? 0n) + (balance as bigint));
    }
    for (const [id, sum] of sums) if (sum !== 0n) this.say(`the balances of program ${id} add up to ${sum}`);
    for (const [name, accountId] of BOOKED) {
      const row = this.#tables.newest('account', accountId);
      const book = this.#books.accounts.get(name);
      const isEqual = row?.balance === book?.balance && row?.held === book?.held && row?.incoming === book?.incoming;
      if (isEqual) continue;
      const found = `${row?.balance}/${row?.held}/${row?.incoming}`;
      this.say(`${name} has ${found} instead of ${book?.balance}/${book?.held}/${book?.incoming}`);
    }
  }

  /** A transfer as it is stored, and the event that was written with it or that is its last. */
  #compareTransfer(row: StoredRow, events: readonly ReadEvent[]): void {
    const id = toWireId('tr', String(row.transfer_id));
    const book = this.#books.transfers.get(id);
    const isErased = [row.card_id, row.destination_card_id].some(
      (card) => this.#tables.newest('card_erasure', String(card)) !== undefined,
    );
    if (book !== undefined) {
      const isEqual =
        row.status === book.status && row.captured_amount === book.captured && row.reversed_amount === book.reversed;
      // A hold has captured nothing.
      if (!isEqual) this.say(`${id} is ${row.status} ${row.captured_amount} ${row.reversed_amount} in the database`);
      if (!isErased && JSON.stringify(row.metadata) !== JSON.stringify(book.metadata)) {
        this.say(`${id} has the metadata ${JSON.stringify(row.metadata)} instead of ${JSON.stringify(book.metadata)}`);
      }
    }
    const last = events.findLast(({ event }) => event.subject_id === id);
    if (last === undefined) return;
    const { event, record } = last;
    const { status, captured_amount, metadata, updated_at } = row;
    const stored: Readonly<Record<(typeof TOLD)[number], unknown>> = {
      ...{ status, metadata },
      captured_amount: Number(captured_amount),
      updated_at: (updated_at as Date).toISOString(),
    };
    for (const name of TOLD) {
      if (isErased && name === 'metadata') continue;
      // A reversal has an event of its own.
      if (name === 'updated_at' && (row.reversed_amount as bigint) > 0n) continue;
      if (record[name] !== stored[name] && sorted(record[name]) !== sorted(stored[name])) {
        const told = `${name} ${sorted(record[name])}`;
        this.say(`the last event of ${id}, ${event.type}, says ${told}, but the row ${sorted(stored[name])}`);
      }
    }
    const before = this.#updatedAt.get(id) ?? 0;
    if (timeOf(row.updated_at) < before) this.say(`updated_at of ${id} has gone back`);
    this.#updatedAt.set(id, Math.max(before, timeOf(row.updated_at)));
  }

  #compareCard(row: StoredRow, events: readonly ReadEvent[]): void {
    const last = events.findLast(({ event }) => event.subject_id === row.name);
    const status = this.#books.cards.get(String(row.name))?.status;
    if (status !== row.status) this.say(`the card ${row.name} is ${row.status} instead of ${status}`);
    if (last === undefined) return;
    const { event, record } = last;
    const updatedAt = (row.updated_at as Date).toISOString();
    const isEqual =
      record.status === row.status &&
      record.holder_reference === row.holder_reference &&
      sorted(record.metadata) === sorted(row.metadata) &&
      record.updated_at === updatedAt;
    if (!isEqual) {
      const stored = `${row.status}, ${row.holder_reference}, ${updatedAt}`;
      this.say(`the last event of ${row.name} says ${event.payload}, but the row ${stored}`);
    }
  }

  #comparePositions(rows: readonly StoredRow[]): void {
    const inOrder = rows.toSorted((one, other) => Number(one.number) - Number(other.number));
    for (const { program_id, position, number, count } of inOrder) {
      for (const [id, place] of [
        [String(program_id), position],
        ['number', number],
      ] as const) {
        const next = (this.#heads.get(id) ?? 0n) + 1n;
        if (place !== next) this.say(`the ${id} of an event is ${place} instead of ${next}`);
        this.#heads.set(id, (place as bigint) + BigInt(count as number) - 1n);
      }
    }
  }

  /** A webhook as it is stored, and what was written of it with it. */
  #compareWebhook(row: StoredRow, told: readonly ReadEvent[]): void {
    const key = String(row.webhook_id);
    const id = toWireId('wh', key);
    const cursor = row.cursor as bigint;
    const status = this.#books.webhooks.get(id)?.status;
    const isEqual = row.status === status || (row.status === 'paused' && status === 'enabled');
    if (!isEqual) this.say(`${id} is ${row.status} instead of ${status}`);
    if (cursor < (this.#cursors.get(key) ?? 0n)) this.say(`the cursor of ${id} has gone back to ${cursor}`);
    this.#cursors.set(key, cursor);
    const head = (this.#tables.newest('event_head', String(row.program_id))?.position ?? 0n) as bigint;
    if (cursor > head) this.say(`the cursor of ${id} has passed the last event, ${head}`);
    const own = told.filter(({ event }) => event.subject_id === id);
    for (const { event, record } of own) {
      if (record.status === row.status && record.position === Number(cursor)) continue;
      const said = `${record.status} at ${record.position}`;
      this.say(`${event.type ?? event.action} of ${id} says ${said}, but the row ${row.status} at ${cursor}`);
    }
    // A request has set the cursor, or left it as it was.
    if (own.length > 0) this.#passedOver.set(key, cursor);
    else this.#compareCursor(row);
  }

  #compareCursor({ webhook_id, shard, cursor, ahead, written_by, written_epoch }: StoredRow): void {
    const held = this.#tables.newest('webhook_shard', String(shard));
    if (held?.owner !== written_by || held?.epoch !== written_epoch) {
      this.say(`a process that has lost the shard ${shard} has moved a cursor`);
    }
    const delivered = this.#delivered.get(String(webhook_id));
    const isDelivered = (position: number): boolean => delivered?.has(position) === true;
    const first = Number(this.#passedOver.get(String(webhook_id)) ?? 0n) + 1;
    for (let position = first; position <= Number(cursor); position += 1) {
      if (!isDelivered(position)) this.say(`the cursor of a webhook has passed ${position}, which was not delivered`);
    }
    for (const [, from, to] of String(ahead).matchAll(/\[(\d+),(\d+)\)/g)) {
      for (let position = Math.max(Number(from), first); position < Number(to); position += 1) {
        if (!isDelivered(position)) this.say(`${position} is settled, but was not delivered`);
      }
    }
  }

  #notePossible(wish: Wish): void {
    const code = this.#books.refusalOf(wish.ask);
    if (code !== undefined) wish.possible.add(code);
  }
}

function movesMoney({ does }: Ask): boolean {
  return does === 'create' || does === 'capture' || does === 'cancel' || does === 'reverse';
}

/** A value for messages, with the members of objects in one order. */
function sorted(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return JSON.stringify(Object.entries(value).sort());
}

/** Whether the answer of a success is the payload of its event. Secrets are in answers only. */
function showsEvent({ does }: Ask): boolean {
  return does !== 'erase' && !does.endsWith('_webhook');
}

/** Events about webhooks come with an entry in the audit log, because operators cause them. */
function isOfWebhook({ event }: ReadEvent): boolean {
  return String(event.type).startsWith('webhook.');
}

/** An entry of the audit log, like an event. */
function readEntry(event: StoredRow): ReadEvent {
  return { event, record: JSON.parse(String(event.details)) };
}

function read(event: StoredRow): ReadEvent {
  return { event, record: JSON.parse(String(event.payload)) };
}

function toUuid(wireId: string): string {
  const digits = wireId.slice(4);
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-${digits.slice(12, 16)}-${digits.slice(16, 20)}-${digits.slice(20)}`;
}

/** What is asked, for messages. */
export function describeAsk(ask: Ask): string {
  const { does, program: _program, ...rest } = ask;
  const members = Object.values(rest).filter((value) => value !== null && value !== false);
  return [does, ...members.map((value) => String(value))].join(' ');
}
