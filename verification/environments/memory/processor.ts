import type { Answer, Order, OrderRequest, OrderStatus } from '../../../domain/processors/order.ts';
import type { Connector } from '../../../server/background/processors/http-connector.ts';
import type { NoticeBody } from '../../../server/store/processors/notices.ts';
import type { Random } from '../../../test/harness/random.ts';
import type { ProcessorProfile } from './processor-profile.ts';
import type { SimulatedTime } from './simulated-time.ts';
import { CONNECTOR_ID } from './world.ts';

/** A notice that a processor sends. */
export type SentNotice = NoticeBody & { readonly notice_id: string };

/** A process of the service, as the processor sees it. */
export type Asker = {
  readonly name: string;
  readonly isAlive: boolean;
  /** Receives a notice. Rejects if it was not stored. */
  readonly receive: (notice: SentNotice) => Promise<unknown>;
};

/** A request that a process waits for. */
export type OpenCall = { readonly asker: Asker; readonly question: OrderRequest; readonly order: Order };

/** An order in the book of the processor. */
export type Entry = {
  readonly order: Order;
  /** `received`: not yet executed or refused. `pending`: the same, but acknowledged, so it has no time limit. */
  state: 'received' | 'pending' | 'executed' | 'declined' | 'not_executed' | 'reversed';
  /** Whether the order will be executed although the processor declined it. `wasLie` says whether that has happened. */
  isLie: boolean;
  wasLie: boolean;
  /** Inquiries do not find the order before this time. */
  readonly hiddenUntil: number;
  /**
   * Whether one later inquiry may also miss the order, as if it reached one of several servers that does not have it
   * yet.
   */
  hasLapse: boolean;
  readonly reference: string;
  code: string | null;
  /** When the processor starts to treat a repeat of the order as a new order. An inquiry still finds the order. */
  readonly forgottenAt: number;
};

/** Observes the processor. */
export type ProcessorWatcher = {
  readonly onCall: (call: OpenCall, open: readonly OpenCall[]) => void;
  readonly onExecuted: (entry: Entry) => void;
  readonly note: ((step: string) => void) | undefined;
};

/** A request without a response is ended after this time. The service's own connector does the same. */
const CALL_MILLISECONDS = 10_000;

/** Slow messages take up to one of these times. The last is longer than the time in which an order may be executed. */
const SLOW_MILLISECONDS = [1_000, 9_000, 40_000];

/** The longest time until the processor decides about an order that it has received without a response. */
const QUEUED_MILLISECONDS = 40_000;

const SEND_WINDOW_MILLISECONDS = 30_000;

const DECLINES = ['51', '05', '91'];

/** The last two codes occur only in the response to the order. A later inquiry gets a final code. */
const FIRST_DECLINES = [...DECLINES, '68', '94'];

const answer = (outcome: Answer['outcome'], more: Partial<Answer> = {}): Answer => ({
  ...{ outcome, processorReference: null, code: null, retryAfterSeconds: null, detail: null },
  ...more,
});

/** A card processor in memory. Its book is the truth about the money. */
export class SimulatedProcessor {
  /** The orders, by the attempt id that was sent. An order whose key was forgotten has a new entry. */
  readonly book = new Map<string, Entry[]>();
  readonly profile: ProcessorProfile;
  readonly #random: Random;
  readonly #time: SimulatedTime;
  readonly #watcher: ProcessorWatcher;
  readonly #askers: () => readonly Asker[];
  readonly #open = new Set<OpenCall>();
  /** The times of the next events: messages on their way, and orders that are carried out later. */
  readonly #agenda = new Set<{ readonly at: number }>();
  #notices = 0;
  #isCalm = false;

  constructor(
    profile: ProcessorProfile,
    random: Random,
    time: SimulatedTime,
    askers: () => readonly Asker[],
    watcher: ProcessorWatcher,
  ) {
    this.profile = profile;
    this.#random = random;
    this.#time = time;
    this.#askers = askers;
    this.#watcher = watcher;
  }

  /** The connection of a process to the processor. */
  connect(asker: Asker): Connector {
    const ask = (question: OrderRequest) => (order: Order) => this.#call({ asker, question, order });
    const [send, inquire, reverse] = [ask('send'), ask('inquire'), ask('reverse')];
    const isHealthy = async () => {
      await new Promise<void>((resolve) => this.#later(5, resolve));
      return !this.#isDown;
    };
    const { traits } = this.profile;
    return { connectorId: CONNECTOR_ID, traits, send, inquire, reverse, isHealthy, close: () => undefined };
  }

  /** Ends all faults: messages arrive soon, and the processor does what it reports. */
  calm(): void {
    this.#isCalm = true;
  }

  /** When the next event happens at the processor. Infinite if there is none. */
  get next(): number {
    return Math.min(...[...this.#agenda].map(({ at }) => at));
  }

  /** Whether an attempt's money has moved, and was not reversed. */
  hasMoved(attemptId: string): boolean {
    return this.book.get(attemptId)?.some(({ state }) => state === 'executed') === true;
  }

  /** Whether the money may still move: the order is carried out later, or is on its way and not too late. */
  mayMove(attemptId: string, notAfter: number): boolean {
    const last = this.book.get(attemptId)?.at(-1);
    if (last?.state === 'pending' || last?.isLie === true) return true;
    const isOpen = last === undefined ? this.#onTheWay.has(attemptId) : last.state === 'received';
    return isOpen && this.#time.clock <= notAfter;
  }

  /** Whether the processor declines an order but executes it later. */
  lies(attemptId: string): boolean {
    return this.book.get(attemptId)?.some(({ isLie, wasLie }) => isLie || wasLie) === true;
  }

  /** The number of orders on their way to the processor, by the id of the attempt. */
  readonly #onTheWay = new Map<string, number>();

  get #isDown(): boolean {
    const [from, to] = this.profile.outage;
    return !this.#isCalm && this.#time.now >= from && this.#time.now < to;
  }

  #chance(chance: number): boolean {
    return !this.#isCalm && this.#random.chance(chance);
  }

  /** Runs a function after a time. Returns a function that cancels it. */
  #later(milliseconds: number, run: () => void): () => void {
    const entry = { at: this.#time.now + Math.max(1, milliseconds) };
    this.#agenda.add(entry);
    const timer = this.#time.after(milliseconds, () => {
      this.#agenda.delete(entry);
      run();
    });
    return () => {
      this.#agenda.delete(entry);
      this.#time.cancel(timer);
    };
  }

  /** How long a message takes, in milliseconds. */
  #delay(): number {
    const { slowness } = this.profile;
    if (!this.#chance(slowness)) return this.#random.below(12);
    return this.#random.below(this.#random.pick(SLOW_MILLISECONDS));
  }

  #call(call: OpenCall): Promise<Answer> {
    const { asker, question, order } = call;
    this.#watcher.onCall(
      call,
      [...this.#open].filter((one) => one.asker.isAlive),
    );
    this.#open.add(call);
    return new Promise((resolve) => {
      const end = (found: Answer): void => {
        // The call may already have its answer, because an answer can arrive twice.
        if (!this.#open.delete(call) || !asker.isAlive) return;
        giveUp();
        this.#watcher.note?.(`${asker.name} has the answer ${found.outcome} to ${question} ${order.attemptId}`);
        resolve(found);
      };
      const silence = answer('unknown', { detail: 'No answer came in time.' });
      const giveUp = this.#later(CALL_MILLISECONDS, () => end(silence));
      const isRefused = this.#isDown ? this.#random.chance(0.5) : this.#chance(0.03);
      if (isRefused) this.#later(this.#delay(), () => end(answer('not_sent', { detail: 'It was not reached.' })));
      else this.#deliver(call, end);
    });
  }

  /** Delivers a request to the processor. Some requests and answers are lost. */
  #deliver({ question, order }: OpenCall, end: (found: Answer) => void): void {
    const { losing } = this.profile;
    if (this.#isDown || this.#chance(losing / 2)) return;
    const { attemptId } = order;
    if (question === 'send') this.#onTheWay.set(attemptId, (this.#onTheWay.get(attemptId) ?? 0) + 1);
    this.#later(this.#delay(), () => {
      const found = this.#carryOut(question, order);
      if (found === undefined || this.#chance(losing / 2)) return;
      const isGarbled = this.#chance(losing / 4);
      const given = isGarbled ? answer('unknown', { detail: 'The answer has a different amount.' }) : found;
      this.#later(this.#delay(), () => end(given));
      if (this.#chance(0.1)) this.#later(this.#delay(), () => end(given));
    });
  }

  #carryOut(question: OrderRequest, order: Order): Answer | undefined {
    if (question === 'send') return this.#send(order);
    const entry = this.#find(order);
    if (question === 'reverse') return this.#reverse(order, entry);
    if (entry === undefined || this.#isHidden(entry)) return answer('not_found');
    return this.#say(entry);
  }

  #send(order: Order): Answer | undefined {
    const known = this.#find(order);
    const { canResend } = this.profile.traits;
    const isRecognized = canResend && (known?.forgottenAt ?? 0) > this.#time.clock;
    const isKnown = known !== undefined && (isRecognized || known.state === 'reversed');
    const entry = isKnown ? known : this.#receive(order);
    if (!isKnown) this.#decide(entry);
    this.#arrived(order);
    if (entry.state === 'reversed') return answer('not_executed');
    // An order that is carried out later gets no answer.
    return entry.state === 'received' ? undefined : this.#say(entry);
  }

  #arrived({ attemptId }: Order): void {
    const left = (this.#onTheWay.get(attemptId) ?? 0) - 1;
    if (left > 0) this.#onTheWay.set(attemptId, left);
    else this.#onTheWay.delete(attemptId);
  }

  #find({ attemptId }: Order): Entry | undefined {
    return this.book.get(attemptId)?.at(-1);
  }

  #receive(order: Order): Entry {
    const { keyMemorySeconds, notFoundFinalSeconds } = this.profile.traits;
    const { clock } = this.#time;
    const notAfter = order.notAfter ?? clock;
    const mustBeFound = Math.max(notAfter, notAfter - SEND_WINDOW_MILLISECONDS + notFoundFinalSeconds * 1000);
    const isHidden = this.#chance(0.15);
    const entry: Entry = {
      order,
      state: 'received',
      isLie: false,
      wasLie: false,
      hiddenUntil: isHidden ? clock + this.#random.below(Math.max(1, mustBeFound - clock)) : clock,
      hasLapse: this.#chance(0.3),
      reference: `reference ${this.book.size}`,
      code: null,
      forgottenAt: keyMemorySeconds === null ? Number.POSITIVE_INFINITY : clock + keyMemorySeconds * 1000,
    };
    this.book.set(order.attemptId, [...(this.book.get(order.attemptId) ?? []), entry]);
    return entry;
  }

  /** Decides what happens to an order that has arrived. */
  #decide(entry: Entry): void {
    const { lying, notifies } = this.profile;
    const { notAfter } = entry.order;
    if (notAfter !== null && this.#time.clock > notAfter) {
      entry.state = 'not_executed';
      return;
    }
    const drawn = this.#random.below(100);
    if (drawn < 60) this.#execute(entry);
    else if (drawn < 75) this.#decline(entry, FIRST_DECLINES);
    else if (drawn < 90) {
      entry.state = 'pending';
      this.#tell(entry);
      this.#finish(entry, this.#random.chance(0.8) ? 20_000 : 3_600_000);
    } else this.#finish(entry, QUEUED_MILLISECONDS);
    if (entry.state === 'declined' && notifies && this.#chance(lying)) {
      entry.isLie = true;
      this.#later(this.#random.below(60_000), () => {
        entry.isLie = false;
        entry.wasLie = true;
        if (entry.state === 'declined') this.#execute(entry);
      });
    }
  }

  /** Carries out an accepted order later. */
  #finish(entry: Entry, within: number): void {
    this.#later(this.#random.below(within), () => {
      const { state, order } = entry;
      if (state !== 'received' && state !== 'pending') return;
      const isTooLate = state === 'received' && order.notAfter !== null && this.#time.clock > order.notAfter;
      if (isTooLate) entry.state = 'not_executed';
      else if (this.#random.chance(0.75)) this.#execute(entry);
      else this.#decline(entry, DECLINES);
      if (isTooLate) this.#tell(entry);
    });
  }

  #execute(entry: Entry): void {
    entry.state = 'executed';
    this.#watcher.note?.(`the processor executes ${entry.order.attemptId}`);
    this.#watcher.onExecuted(entry);
    this.#tell(entry);
  }

  #decline(entry: Entry, codes: readonly string[]): void {
    entry.state = 'declined';
    entry.code = this.#random.pick(codes);
    this.#tell(entry);
  }

  #say(entry: Entry): Answer {
    const outcome = STATUS[entry.state];
    // The first answer leaves the result open. Later answers say that the order was declined.
    const { code } = entry;
    if (code === '68' || code === '94') entry.code = '51';
    const reference = this.#random.chance(0.7) ? entry.reference : null;
    return answer(outcome, { code: outcome === 'declined' ? code : null, processorReference: reference });
  }

  /** Whether an inquiry does not find the order. This lasts for some time, and can happen once more after that. */
  #isHidden(entry: Entry): boolean {
    if (this.#time.clock < entry.hiddenUntil) return true;
    const { hasLapse } = entry;
    entry.hasLapse = false;
    return hasLapse && this.#chance(0.5);
  }

  #reverse(order: Order, known: Entry | undefined): Answer {
    if (this.#chance(0.1)) return answer('pending');
    if (known !== undefined && this.#isHidden(known)) return answer('not_found');
    if (known === undefined && this.#random.chance(0.5)) return answer('not_found');
    const entry = known ?? this.#receive(order);
    entry.state = 'reversed';
    return answer('reversed');
  }

  /** Sends notices about an order: sometimes twice, late, or before the answer. */
  #tell(entry: Entry): void {
    const { notifies } = this.profile;
    if (!notifies) return;
    this.#notices += 1;
    const status = STATUS[entry.state];
    if (status === 'not_found') return;
    const { attemptId: attempt_id, currency } = entry.order;
    const code = status === 'declined' ? '51' : null;
    const notice_id = `notice ${this.#notices}`;
    const amount = Number(entry.order.amount);
    const notice = { notice_id, attempt_id, status, amount, currency, processor_reference: entry.reference, code };
    const copies = this.#chance(0.2) ? 2 : 1;
    for (let copy = 0; copy < copies; copy += 1) this.#later(this.#delay(), () => this.#sendNotice(notice));
    if (this.#chance(0.03)) this.#sendNotice({ ...notice, notice_id: `${notice_id} of nobody`, attempt_id: NOBODY });
    if (this.#chance(0.03)) this.#sendNotice({ ...notice, notice_id: `${notice_id} of more`, amount: amount + 1 });
  }

  /** Sends a notice until it is stored. */
  #sendNotice(notice: SentNotice): void {
    const again = (): void => {
      giveUp();
      this.#later(1_000 + this.#random.below(3_000), () => this.#sendNotice(notice));
    };
    // Sends the notice again if there is no answer, because the process may have died.
    const giveUp = this.#later(CALL_MILLISECONDS, again);
    this.#random.pick(this.#askers()).receive(notice).then(giveUp, again);
  }
}

/** The id of an attempt that does not exist. */
const NOBODY = `pat_${'0'.repeat(32)}`;

const STATUS: Readonly<Record<Entry['state'], OrderStatus>> = {
  received: 'not_found',
  pending: 'pending',
  executed: 'approved',
  declined: 'declined',
  not_executed: 'not_executed',
  reversed: 'reversed',
};
