import { deepEqual, equal, ok } from 'node:assert/strict';
import { waitFor } from '../harness/process.ts';
import type { Gate, Stage } from './stage.ts';
import type { Question, Reply, Script } from './stand-in.ts';

/** What a transfer with a card at a processor is: money onto the card, or from it. */
export const TYPES = ['load', 'unload'] as const;

/** The end of a transfer: its status, and how often its order was executed, reversed or not. */
export type End = 'completed, executed 1' | 'failed, executed 0' | 'failed, executed 1';

/** What happens to the service while the transfers of a cell are at a step. */
export type Fault = 'kill service' | 'kill PostgreSQL' | 'clock';

/** A step of an attempt, and what fails there. */
export type Cell = {
  readonly name: string;
  /** Connectors that can be asked, or those where only a reversal ends what is unknown. */
  readonly way: 'inquired' | 'reversed';
  /** The true ends: two where the machine decides which comes first. */
  readonly ends: readonly End[];
  /** Without it, what the processor does is the fault. */
  readonly fault?: Fault;
  /** Whether the service waits at a gate when the fault comes, and not for the processor. */
  readonly isAtGate?: boolean;
  /** Brings the transfers to the step, or as far as other transfers may still be made. */
  readonly arrive: (trial: Trial) => Promise<void>;
  /** Brings them on to the step when those of other cells have arrived, because they hold up all transfers there. */
  readonly approach?: (trial: Trial) => Promise<void>;
  /** What happens after the fault. */
  readonly after?: (trial: Trial) => Promise<void>;
};

const BALANCED = { balanced: true, differing_holds: 0, differing_accounts: [] };

/** The two transfers of a cell, with the processor that is told what to do with them. */
export class Trial {
  readonly stage: Stage;
  readonly connectorId: string;
  /** Something that a script waits for. */
  readonly hold: ReturnType<typeof hold> = hold();
  readonly #cards: string[] = [];
  readonly #transfers: {
    readonly transferId: string;
    readonly cardId: string;
    readonly type: (typeof TYPES)[number];
  }[] = [];

  constructor(stage: Stage, connectorId: string) {
    this.stage = stage;
    this.connectorId = connectorId;
  }

  get transferIds(): readonly string[] {
    return this.#transfers.map(({ transferId }) => transferId);
  }

  get cardIds(): readonly string[] {
    return this.#cards;
  }

  /** Makes the cards, says what happens to their orders, and makes the transfers. */
  async begin(script?: Script): Promise<void> {
    await this.prepare(script);
    await this.create();
  }

  async prepare(script?: Script): Promise<void> {
    for (const _ of TYPES) {
      const cardId = await this.stage.createCard(this.connectorId);
      if (script !== undefined) this.stage.processor.on(cardId, script);
      this.#cards.push(cardId);
    }
  }

  async create(): Promise<void> {
    for (const [index, type] of TYPES.entries()) {
      const cardId = this.#cards[index] ?? '';
      this.#transfers.push({ transferId: await this.stage.createTransfer(cardId, type), cardId, type });
    }
  }

  /** Waits until both transfers have led to such a question. */
  async untilAsked(question: Question, times = 1): Promise<void> {
    const { processor } = this.stage;
    const isAsked = (id: string): boolean => processor.about(id, question).length >= times;
    await waitFor(`the question ${question}`, async () => this.transferIds.every(isAsked));
  }

  async untilEnded(): Promise<void> {
    for (const id of this.transferIds) await this.stage.untilEnded(id);
  }

  /** Waits until all have ended, and compares the books of both sides. */
  async check(ends: readonly End[]): Promise<void> {
    const { stage } = this;
    const balances = new Map<string, number>();
    for (const { transferId, cardId, type } of this.#transfers) {
      const { status, outcome, amount } = await stage.untilEnded(transferId);
      const moved = stage.processor.moved(transferId);
      const sends = stage.processor.about(transferId, 'send');
      const end = `${status}, executed ${stage.processor.executions(transferId)}`;
      ok(
        ends.some((one) => one === end),
        `the end of a transfer of type ${type}: ${end}`,
      );
      equal(outcome, 'final');
      equal(moved, status === 'completed' ? amount : 0, 'the book of the processor');
      ok(new Set(sends.map((order) => order.attempt_id)).size <= 1, 'one key');
      ok(sends.filter((order) => !order.repeat).length <= 1, 'sent again only as a repeat');
      const balance = balances.get(cardId) ?? 0;
      balances.set(cardId, balance + (type === 'load' ? moved : -moved));
    }
    for (const [cardId, balance] of balances) {
      equal(await stage.clearing(cardId), balance, 'approved and not settled');
    }
    const { balanced, differing_holds, differing_accounts } = await stage.service.client.trialBalance.get();
    deepEqual({ balanced, differing_holds, differing_accounts }, BALANCED);
  }
}

/** Something that is held until it is let go. */
export function hold(): { readonly held: Promise<void>; readonly letGo: () => void } {
  let letGo: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  return { held, letGo };
}

const BAD: readonly Reply[] = ['cut', 'silence', 'malformed', 'wrong_amount', 'error', 'slow'];

/** What was reversed came to nothing, whether it had been executed or not. */
const reversedEnd = (executes: boolean): End => (executes ? 'failed, executed 1' : 'failed, executed 0');

/** Questions that are answered badly the first time, whether they were carried out or not. */
const BADLY_ANSWERED: readonly Cell[] = BAD.flatMap((reply) =>
  [true, false].flatMap((executes) => {
    const what = executes ? 'executed' : 'not executed';
    const cell = (question: Question, way: Cell['way'], ends: readonly End[]): Cell => ({
      name: `${question}, ${what}: ${reply} (${way})`,
      way,
      ends,
      arrive: (trial) =>
        trial.begin((order, nth) => {
          if (order.question === question && nth === 0) return { executes, reply };
          // Before an inquiry or a reversal there is a send of unknown outcome; what is to be reversed was executed.
          const isFirst = order.question === 'send' && nth === 0;
          if (isFirst) return { executes: executes || question === 'reverse', reply: 'cut' };
          return { executes: true, reply: 'answer' };
        }),
    });
    // The answer that comes slowly says that the order was not executed.
    const isSaid = reply === 'slow' && !executes;
    return [
      cell('send', 'inquired', isSaid ? ['failed, executed 0', 'completed, executed 1'] : ['completed, executed 1']),
      cell('inquire', 'inquired', ['completed, executed 1']),
      cell(
        'send',
        'reversed',
        reply === 'slow' && executes ? ['completed, executed 1', 'failed, executed 1'] : [reversedEnd(executes)],
      ),
      // What is said to be reversed is reversed.
      ...(isSaid ? [] : [cell('reverse', 'reversed', ['failed, executed 1'])]),
    ];
  }),
);

/** Orders that arrive when their sender has given them up: they are not executed any more. */
const LATE: readonly Cell[] = (['inquired', 'reversed'] as const).flatMap((way) =>
  ([undefined, 'kill service'] as const).map((fault): Cell => {
    return {
      name: `send, arrives late: ${fault ?? 'silence'} (${way})`,
      way,
      ends: [way === 'inquired' ? 'completed, executed 1' : 'failed, executed 0'],
      ...(fault !== undefined && { fault }),
      arrive: async (trial) => {
        await trial.begin(({ question }, nth) => {
          const isLate = question === 'send' && nth === 0;
          return { executes: true, reply: 'answer', ...(isLate && { before: trial.hold.held, waitsOutside: true }) };
        });
        await trial.untilAsked('send');
      },
      after: async (trial) => {
        await trial.untilEnded();
        trial.hold.letGo();
        for (const id of trial.transferIds) await trial.stage.processor.whenDone(id);
      },
    };
  }),
);

/** What the processor says by itself, in every order. */
const NOTICED: readonly Cell[] = [
  {
    name: 'notice: twice, after the answer',
    way: 'inquired',
    ends: ['completed, executed 1'],
    arrive: async (trial) => {
      await trial.begin();
      await trial.untilAsked('send');
      for (const id of trial.transferIds) await trial.stage.notify(id, 'approved', `after ${id}`);
      for (const id of trial.transferIds) await trial.stage.notify(id, 'approved', `after ${id}`);
      for (const id of trial.transferIds) await trial.stage.notify(id, 'approved', `again ${id}`);
    },
  },
  {
    name: 'notice: before the answer',
    way: 'inquired',
    ends: ['completed, executed 1'],
    arrive: async (trial) => {
      await trial.begin(() => ({ executes: true, reply: 'malformed', until: trial.hold.held }));
      await trial.untilAsked('send');
      for (const id of trial.transferIds) await trial.stage.notify(id, 'approved', `before ${id}`);
    },
    after: async (trial) => {
      await trial.untilEnded();
      trial.hold.letGo();
    },
  },
  {
    name: 'notice: approved, then pending',
    way: 'inquired',
    ends: ['completed, executed 1'],
    arrive: async (trial) => {
      await trial.begin(() => ({ executes: true, reply: 'answer', until: trial.hold.held }));
      await trial.untilAsked('send');
      for (const id of trial.transferIds) {
        await trial.stage.notify(id, 'approved', `first ${id}`);
        await trial.stage.notify(id, 'pending', `second ${id}`);
      }
    },
    after: async (trial) => {
      await trial.untilEnded();
      trial.hold.letGo();
    },
  },
  {
    name: 'notice: pending, then approved',
    way: 'inquired',
    ends: ['completed, executed 1'],
    arrive: async (trial) => {
      await trial.begin(() => ({ executes: false, reply: 'pending' }));
      await trial.untilAsked('send');
      for (const id of trial.transferIds) {
        trial.stage.processor.execute(id);
        await trial.stage.notify(id, 'approved', `later ${id}`);
      }
    },
  },
  {
    name: 'send: declined',
    way: 'inquired',
    ends: ['failed, executed 0'],
    arrive: (trial) => trial.begin(() => ({ executes: false, reply: 'decline' })),
  },
];

const FAULTS: Readonly<Record<Fault, (stage: Stage) => Promise<void>>> = {
  'kill service': (stage) => stage.killService(),
  'kill PostgreSQL': (stage) => stage.killDatabase(),
  clock: (stage) => stage.moveClock(2 * 3600),
};

export const FAULT_NAMES = Object.keys(FAULTS) as readonly Fault[];

/** Faults while a question is at the processor: before or after it has done what is asked. */
const DURING_CALL: readonly Cell[] = FAULT_NAMES.flatMap((fault) =>
  (['reverse', 'inquire', 'send'] as const).flatMap((question) =>
    [true, false].map((isDone): Cell => {
      // The answer that it came too late, or none in time.
      const isOver = fault === 'clock' && question === 'send' && !isDone;
      return {
        name: `${question}, ${isDone ? 'done' : 'not done'}: ${fault}`,
        way: question === 'reverse' ? 'reversed' : 'inquired',
        ends:
          question === 'reverse'
            ? ['failed, executed 1']
            : ['completed, executed 1', ...(isOver ? (['failed, executed 0'] as const) : [])],
        fault,
        arrive: async (trial) => {
          const { held } = trial.hold;
          await trial.begin((order, nth) => {
            if (nth > 0) return { executes: true, reply: 'answer' };
            if (order.question !== question) return { executes: true, reply: 'cut' };
            return { executes: true, reply: 'answer', ...(isDone ? { until: held } : { before: held }) };
          });
          await trial.untilAsked(question);
        },
        after: async (trial) => {
          // What came from a process that was killed is never carried out.
          if (fault === 'kill service') await trial.untilEnded();
          trial.hold.letGo();
        },
      };
    }),
  ),
);

/** What the processor has been asked when the service comes to a gate; at the first two it has not. */
const ASKED: Readonly<Record<Gate, Question | undefined>> = {
  claim: undefined,
  mark: undefined,
  record: 'send',
  inquired: 'inquire',
  reversed: 'reverse',
};

/** Faults while the service is about to write: after the commit, after the claim, and before an answer is recorded. */
const AT_GATES: readonly Cell[] = FAULT_NAMES.flatMap((fault) =>
  (['claim', 'mark', 'record', 'inquired', 'reversed'] as const).map((gate): Cell => {
    const question = ASKED[gate];
    const close = (trial: Trial) => trial.stage.close(gate, trial.connectorId);
    const isOver = fault === 'clock' && gate === 'mark';
    return {
      name: `before ${gate}: ${fault}`,
      way: gate === 'reversed' ? 'reversed' : 'inquired',
      ends:
        gate === 'reversed'
          ? ['failed, executed 1']
          : ['completed, executed 1', ...(isOver ? (['failed, executed 0'] as const) : [])],
      fault,
      isAtGate: true,
      arrive: async (trial) => {
        if (question === undefined) {
          await close(trial);
          await trial.begin();
          await trial.stage.untilWaiting(gate, trial.connectorId);
          return;
        }
        await trial.begin((order, nth) => {
          if (order.question === question && nth === 0) {
            return { executes: true, reply: 'answer', until: trial.hold.held };
          }
          return { executes: true, reply: order.question === 'send' && nth === 0 ? 'cut' : 'answer' };
        });
        await trial.untilAsked(question);
      },
      ...(question !== undefined && {
        approach: async (trial: Trial) => {
          await close(trial);
          trial.hold.letGo();
        },
      }),
    };
  }),
);

/** All cells. */
export const CELLS: readonly Cell[] = [...BADLY_ANSWERED, ...LATE, ...NOTICED, ...DURING_CALL, ...AT_GATES];

/**
 * Runs cells beside each other that have the same fault, or none: it comes when all of them are where it is meant to come. Each
 * has a connector of its own. Returns what is wrong, by the names of the cells.
 */
export async function runTogether(stage: Stage, cells: readonly Cell[]): Promise<readonly string[]> {
  const trials = cells.map((cell) => ({ cell, trial: new Trial(stage, stage.nextConnector(cell.way)) }));
  const failures: string[] = [];
  const inAll = async (act: (cell: Cell, trial: Trial) => Promise<void> | undefined): Promise<void> => {
    const acts = trials.map(async ({ cell, trial }) => {
      try {
        await act(cell, trial);
      } catch (error) {
        failures.push(`${cell.name}: ${error instanceof Error ? error.message : String(error)}`);
      }
    });
    await Promise.all(acts);
  };
  try {
    await inAll((cell, trial) => cell.arrive(trial));
    const later = trials.filter(({ cell }) => cell.approach !== undefined);
    for (const { cell, trial } of later) await cell.approach?.(trial);
    // The first one is there, and the others are there or behind it.
    if (later.length > 0) await stage.untilWaiting();
    const fault = cells[0]?.fault;
    if (fault !== undefined) await FAULTS[fault](stage);
    await stage.release();
    if (fault === 'kill service') await stage.start();
    await inAll(async (cell, trial) => {
      await cell.after?.(trial);
      await trial.check(cell.ends);
    });
  } finally {
    for (const { trial } of trials) trial.hold.letGo();
    await stage.release();
  }
  return failures;
}
