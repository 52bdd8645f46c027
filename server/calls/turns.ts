import { type CallContext, CallerGone, OperationFailure } from './call.ts';

export type TurnCall = Pick<CallContext, 'programId' | 'deadline' | 'isGone'>;

/** How much work runs at the same time, and how much may wait: for one card program, and for all. */
export type TurnLimits = { readonly atOnce: number; readonly waitingOfOne: number; readonly waitingOfAll: number };

type Place = {
  readonly call: TurnCall;
  readonly begin: () => void;
  readonly refuse: (reason: Error) => void;
  timer: NodeJS.Timeout | undefined;
};

/**
 * Limits how much work runs at the same time. The rest waits in one queue per card program, and the programs take turns. So a
 * program with a thousand requests delays only its own. Work does not start if its caller is gone or its deadline has passed.
 */
export class Turns {
  readonly #limits: TurnLimits;
  #free: number;
  /** Waiting work by program, the next program first. */
  readonly #lines = new Map<string, Place[]>();
  /** Calls that have had a turn. After that, a half-closed connection no longer means that the caller is gone. */
  readonly #begun = new WeakSet<TurnCall>();
  #waiting = 0;

  constructor(limits: TurnLimits) {
    this.#limits = limits;
    this.#free = limits.atOnce;
  }

  /**
   * Runs work when it is the program's turn.
   *
   * @throws {OperationFailure} busy, if too much work waits or the deadline has passed; {@link CallerGone}
   */
  async take<Value>(call: TurnCall, work: () => Promise<Value>): Promise<Value> {
    if (this.#isGone(call, this.#free === 0)) throw gone();
    if (call.deadline <= performance.now()) throw tooLate();
    if (this.#free > 0) this.#free -= 1;
    else await this.#queue(call);
    this.#begun.add(call);
    try {
      return await work();
    } finally {
      this.#release();
    }
  }

  #queue(call: TurnCall): Promise<void> {
    if (this.#isFull(call.programId)) {
      this.#dropGone();
      if (this.#isFull(call.programId)) throw tooMany();
    }
    return new Promise((begin, refuse) => {
      const place: Place = { call, begin, refuse, timer: undefined };
      const line = this.#lines.get(call.programId);
      if (line === undefined) this.#lines.set(call.programId, [place]);
      else line.push(place);
      this.#waiting += 1;
      if (call.deadline === Number.POSITIVE_INFINITY) return;
      place.timer = setTimeout(() => this.#expire(place), call.deadline - performance.now());
    });
  }

  #isFull(programId: string): boolean {
    const { waitingOfOne, waitingOfAll } = this.#limits;
    return this.#waiting >= waitingOfAll || (this.#lines.get(programId)?.length ?? 0) >= waitingOfOne;
  }

  /** Removes work whose caller is gone. Otherwise it would occupy a slot until its turn. */
  #dropGone(): void {
    for (const [programId, line] of this.#lines) {
      const isLeft = line.filter((place) => !this.#dropIfGone(place));
      if (isLeft.length > 0) this.#lines.set(programId, isLeft);
      else this.#lines.delete(programId);
    }
  }

  #expire(place: Place): void {
    const { programId } = place.call;
    const line = this.#lines.get(programId) ?? [];
    line.splice(line.indexOf(place), 1);
    if (line.length === 0) this.#lines.delete(programId);
    this.#leave(place);
    place.refuse(this.#isGone(place.call) ? gone() : tooLate());
  }

  #release(): void {
    for (const [programId, line] of this.#lines) {
      let place = line.shift();
      while (place !== undefined && this.#dropIfGone(place)) place = line.shift();
      // Moves the program to the end. A program without work is removed until it has work again.
      this.#lines.delete(programId);
      if (line.length > 0) this.#lines.set(programId, line);
      if (place === undefined) continue;
      this.#leave(place);
      place.begin();
      return;
    }
    this.#free += 1;
  }

  #dropIfGone(place: Place): boolean {
    if (!this.#isGone(place.call)) return false;
    this.#leave(place);
    place.refuse(gone());
    return true;
  }

  #leave({ timer }: Place): void {
    clearTimeout(timer);
    this.#waiting -= 1;
  }

  /**
   * Returns whether a caller is gone. If it has half-closed its connection, it counts as gone only while its call waits for its
   * first turn.
   */
  #isGone(call: TurnCall, isWaiting = true): boolean {
    return call.isGone?.(isWaiting && !this.#begun.has(call)) === true;
  }
}

const gone = (): Error => new CallerGone('The caller has disconnected.');

export function tooLate(): Error {
  return new OperationFailure('the request waited too long for its turn', { busy: true, moneyMoved: 'no' });
}

function tooMany(): Error {
  return new OperationFailure('too many requests wait for their turn', { busy: true, moneyMoved: 'no' });
}

/** Returns a copy of the call for work in many pieces, such as the pages of an export. Each piece may take as long as the first. */
export function forEachPiece({ programId, deadline, isGone }: TurnCall): TurnCall {
  const milliseconds = deadline - performance.now();
  return {
    programId,
    isGone,
    get deadline() {
      return performance.now() + milliseconds;
    },
  };
}

/**
 * How many long reads may run at the same time: exports, and searches for rare rows. They must leave database connections for
 * other requests. A piece takes a few hundredths of a second. With two at a time, about 250 others get their turn before the
 * deadline of a waiting request.
 */
const longReaders = new Turns({ atOnce: 2, waitingOfOne: 256, waitingOfAll: 2048 });

/**
 * Runs one statement of a long read when it is the card program's turn. The statement must not itself wait for a turn.
 */
export function readInTurn<Value>(call: TurnCall, read: () => Promise<Value>): Promise<Value> {
  return longReaders.take(call, read);
}
