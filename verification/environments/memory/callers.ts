import { randomUUID } from 'node:crypto';
import { toWireId } from '../../../domain/identifier.ts';
import type { Random } from '../../../test/harness/random.ts';
import { Commands, type Known, type Workload } from '../../generators/commands.ts';
import type { Opening, Request } from '../../model/commands.ts';
import type { Model } from '../../model/model.ts';
import type { Watcher } from '../memory-store/connection.ts';
import type { Attempt, Judge, Wish } from './judge.ts';
import { drawWorkload, type Profile, STORY } from './profile.ts';
import { canHaveKey, describeRequest } from './requests.ts';
import type { ServiceProcess } from './service-process.ts';
import type { SimulatedTime } from './simulated-time.ts';
import { PROGRAMS } from './world.ts';

/** The time limit of a request, the same as over HTTP. */
const REQUEST_MILLISECONDS = 5_000;

/** How many times a request with an unknown outcome is repeated under its key. */
const MAX_ATTEMPTS = 3;

/** The share of requests that are repeated although their outcome is known. Their groups write nothing. */
const REPEATED = 0.2;

/** Callers send requests, wait for the responses, and repeat unanswered requests under the same key. */
export class Callers {
  readonly #random: Random;
  readonly #time: SimulatedTime;
  readonly #judge: Judge;
  readonly #note: Watcher['onStep'];
  readonly #known: CallersKnow;
  readonly #commands: Commands;
  /** Whether callers wait for each other, so that each command suits the state of the model. */
  readonly #isStory: boolean;
  #left: number;
  /** The longest pause before a new request, in milliseconds. */
  readonly #pace: number;
  #isPausing = false;
  /** When the pause before the next request ends. */
  pausedUntil = 0;
  /** Requests that will be repeated. */
  readonly #again: { readonly wish: Wish; readonly attempts: number }[] = [];
  readonly #open = new Map<Attempt, { readonly process: ServiceProcess; readonly attempts: number }>();

  constructor(
    random: Random,
    time: SimulatedTime,
    judge: Judge,
    { wishes, pace, subjects, isStory, findResolvable }: Asked,
    note: Watcher['onStep'],
  ) {
    this.#random = random;
    this.#time = time;
    this.#judge = judge;
    this.#left = wishes;
    this.#pace = pace;
    this.#note = note;
    this.#isStory = isStory;
    this.#known = new CallersKnow(() => time.clock, judge.opening, isStory ? judge.model : undefined);
    const workload = isStory ? STORY : drawWorkload(random, subjects, { findResolvable });
    this.#commands = new Commands(random, this.#known, workload);
  }

  get canAsk(): boolean {
    // The relay finds events by their times, so the clock does not move before they have their positions.
    if (this.#isStory && !(this.areAnswered && this.#judge.areEventsPlaced)) return false;
    return (this.#left > 0 && !this.#isPausing) || this.#again.length > 0;
  }

  get areAnswered(): boolean {
    return this.#open.size === 0;
  }

  get areDone(): boolean {
    return this.#left === 0 && this.#again.length === 0 && this.areAnswered;
  }

  /** Sends a request to one of the processes. */
  ask(processes: readonly ServiceProcess[]): void {
    const random = this.#random;
    const process = random.pick(processes);
    const again = this.#again.shift();
    if (again !== undefined) this.#send(process, again.wish, again.attempts + 1);
    else this.#askAnew(process);
  }

  #askAnew(process: ServiceProcess): void {
    const random = this.#random;
    this.#left -= 1;
    if (this.#pace > 0) this.#pause();
    const ask = this.#commands.next();
    if (ask.does === 'wait_until') {
      this.#note?.(`the clock moves to ${new Date(ask.now).toISOString()}`);
      this.#judge.onClock(ask);
      this.#time.setClock(ask.now);
      return;
    }
    if (ask.does === 'resolve') this.#judge.processors.noteResolution(ask.attempt, ask.wasExecuted);
    const key = canHaveKey(ask) && random.chance(0.5) ? `key ${this.#left}` : null;
    const wish: Wish = { ask, key, possible: new Map(), committed: undefined, isOver: false };
    this.#judge.onWish(wish);
    this.#send(process, wish, 1);
  }

  #pause(): void {
    this.#isPausing = true;
    const pause = this.#random.below(this.#pace);
    this.pausedUntil = this.#time.now + pause;
    this.#time.after(pause, () => {
      this.#isPausing = false;
    });
  }

  /** Called when a process has died: its callers get no response. */
  onDeath(dead: ServiceProcess): void {
    for (const [attempt, { process, attempts }] of this.#open) {
      if (process !== dead) continue;
      this.#open.delete(attempt);
      this.#goOn(attempt.wish, attempts, false);
    }
  }

  #send(process: ServiceProcess, wish: Wish, attempts: number): void {
    const deadline = this.#time.now + REQUEST_MILLISECONDS;
    const sentAt = this.#time.clock;
    const attempt: Attempt = { wish, requestId: randomUUID(), sentAt, deadline, isToldNo: false, isOpen: true };
    this.#open.set(attempt, { process, attempts });
    this.#judge.onAttempt(attempt);
    const { ask, key } = wish;
    this.#note?.(`${process.name} is asked to ${describeRequest(ask)}${key === null ? '' : ` under ${key}`}`);
    const end = (answer: Parameters<Judge['onAnswer']>[1], shown: string): void => {
      // A dead process sends nothing.
      if (!this.#open.delete(attempt)) return;
      this.#note?.(`${process.name} answers ${describeRequest(ask)} with ${shown}`);
      this.#judge.onAnswer(attempt, answer, this.#time.now);
      const isClear = !('thrown' in answer) || attempt.isToldNo;
      if (!('thrown' in answer)) this.#learn(wish, 'json' in answer ? answer.json : undefined);
      this.#goOn(wish, attempts, isClear);
    };
    process.handle(ask, { requestId: attempt.requestId, key, deadline }).then(
      (reply) => end(reply, 'success'),
      (thrown: unknown) => end({ thrown }, thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : ''),
    );
  }

  #goOn(wish: Wish, attempts: number, isClear: boolean): void {
    const isSentAgain = isClear ? attempts === 1 && this.#random.chance(REPEATED) : attempts < MAX_ATTEMPTS;
    if (wish.key !== null && isSentAgain) this.#again.push({ wish, attempts });
    else wish.isOver = true;
  }

  #learn({ ask }: Wish, json: string | undefined): void {
    if (json !== undefined) this.#known.learn(ask, JSON.parse(json));
  }
}

/** How many requests callers send, the longest pause before each, and what they are about. */
export type Asked = Pick<Profile, 'wishes' | 'pace' | 'subjects' | 'isStory'> & Pick<Workload, 'findResolvable'>;

/** The callers' knowledge: the programs, and the transfers and webhooks whose creation got a response. */
export class CallersKnow implements Known {
  readonly programs: Known['programs'];
  readonly model?: Model;
  readonly transfers: { readonly id: string; readonly program: string }[] = [];
  readonly webhooks = PROGRAMS.map(({ webhookId }, index) => ({
    id: toWireId('wh', webhookId),
    program: String(index),
  }));
  readonly #clock: () => number;

  constructor(clock: () => number, { programs }: Opening, model?: Model) {
    this.#clock = clock;
    this.programs = programs.map(({ cards }, index) => ({ program: String(index), cards }));
    if (model !== undefined) this.model = model;
  }

  get now(): number {
    return this.#clock();
  }

  /** Remembers a new transfer or webhook for later requests. */
  learn({ does, program }: Request, record: { readonly transfer_id?: string; readonly webhook_id?: string }): void {
    const { transfer_id, webhook_id } = record;
    if (does === 'create' && transfer_id !== undefined) this.transfers.push({ id: transfer_id, program });
    if (does === 'create_webhook' && webhook_id !== undefined) this.webhooks.push({ id: webhook_id, program });
  }
}
