import type { Question, Reply } from '../stand-in.ts';
import type { End } from '../trial.ts';
import type { Cell, Fault, Step } from './cell.ts';

/** Bad replies, with their faults in the matrix. */
const BAD: Readonly<Partial<Record<Reply, Fault>>> = {
  cut: 'cut',
  silence: 'silence',
  malformed: 'malformed',
  wrong_amount: 'wrong amount',
  error: 'malformed',
  slow: 'slow',
};

/**
 * The step at which a bad answer occurs. For an order, it is `read` if the order was executed, and otherwise `execute`.
 */
const STEP: Readonly<Record<Question, (executes: boolean) => Step>> = {
  send: (executes) => (executes ? 'read' : 'execute'),
  inquire: () => 'inquire',
  reverse: () => 'reverse',
};

/** Returns the outcome of a reversed transfer. It fails, whether or not its order was executed. */
const reversedEnd = (executes: boolean): End => (executes ? 'failed, executed 1' : 'failed, executed 0');

/** Cells in which the first answer to a question is bad, whether or not the processor acted on it. */
const BADLY_ANSWERED: readonly Cell[] = (Object.keys(BAD) as Reply[]).flatMap((reply) =>
  [true, false].flatMap((executes) => {
    const what = executes ? 'executed' : 'not executed';
    const cell = (question: Question, way: Cell['way'], ends: readonly End[]): Cell => ({
      name: `${question}, ${what}: ${reply} (${way})`,
      pairs: [`${STEP[question](executes)}: ${BAD[reply] ?? 'malformed'}`],
      way,
      ends,
      arrive: (trial) =>
        trial.begin((order, nth) => {
          if (order.question === question && nth === 0) return { executes, reply };
          // An inquiry or a reversal needs an earlier order with an unknown outcome. Before a reversal, the processor
          // executes that order.
          const isFirst = order.question === 'send' && nth === 0;
          if (isFirst) return { executes: executes || question === 'reverse', reply: 'cut' };
          return { executes: true, reply: 'answer' };
        }),
    });
    // The slow answer says that the order was not executed.
    const isSaid = reply === 'slow' && !executes;
    return [
      cell('send', 'inquired', isSaid ? ['failed, executed 0', 'completed, executed 1'] : ['completed, executed 1']),
      cell('inquire', 'inquired', ['completed, executed 1']),
      cell(
        'send',
        'reversed',
        reply === 'slow' && executes ? ['completed, executed 1', 'failed, executed 1'] : [reversedEnd(executes)],
      ),
      // The order is reversed unless the answer says that it was not executed.
      ...(isSaid ? [] : [cell('reverse', 'reversed', ['failed, executed 1'])]),
    ];
  }),
);

/** Cells in which the same answer arrives twice. If the service ignores such an answer, it asks again. */
const ANSWERED_TWICE: readonly Cell[] = (['send', 'inquire', 'reverse'] as const).map((question) => ({
  name: `${question}: the same answer twice`,
  pairs: [`${STEP[question](true)}: twice`],
  way: question === 'reverse' ? 'reversed' : 'inquired',
  ends: [question === 'reverse' ? 'failed, executed 1' : 'completed, executed 1'],
  arrive: (trial) =>
    trial.begin((order, nth) => {
      if (order.question === question && nth === 0) return { executes: true, reply: 'twice' };
      return { executes: true, reply: order.question === 'send' && nth === 0 ? 'cut' : 'answer' };
    }),
}));

/** Cells in which an order arrives after its sender has stopped waiting. Such an order is not executed. */
const LATE: readonly Cell[] = (['inquired', 'reversed'] as const).flatMap((way) =>
  ([undefined, 'kill service'] as const).map((incident): Cell => {
    return {
      name: `send, arrives late: ${incident ?? 'silence'} (${way})`,
      // The order arrives after it was sent again, or after its reversal.
      pairs: way === 'inquired' ? ['execute: twice'] : ['execute: reordered', 'reverse: reordered'],
      way,
      ends: [way === 'inquired' ? 'completed, executed 1' : 'failed, executed 0'],
      ...(incident !== undefined && { incident }),
      arrive: async (trial) => {
        await trial.begin(({ question }, nth) => {
          const isLate = question === 'send' && nth === 0;
          return { executes: true, reply: 'answer', ...(isLate && { before: trial.hold.held, waitsOutside: true }) };
        });
        await trial.untilAsked('send');
      },
      after: async (trial) => {
        await trial.untilEnded();
        trial.hold.release();
        for (const id of trial.transferIds) await trial.stage.processor.whenDone(id);
      },
    };
  }),
);

const OTHERS: readonly Cell[] = [
  {
    name: 'send: declined',
    pairs: [],
    way: 'inquired',
    ends: ['failed, executed 0'],
    arrive: (trial) => trial.begin(() => ({ executes: false, reply: 'decline' })),
  },
  {
    name: 'send: executed for less than ordered, corrected later',
    pairs: ['execute: wrong amount'],
    way: 'inquired',
    ends: ['completed, executed 1'],
    arrive: (trial) =>
      trial.begin(({ question }, nth) => {
        const isShort = question === 'send' || nth === 0;
        return { executes: true, reply: 'answer', isShort };
      }),
  },
  {
    name: 'inquire: not found, although a notice approved it in the meantime',
    pairs: ['inquire: reordered'],
    way: 'inquired',
    ends: ['completed, executed 1'],
    arrive: async (trial) => {
      await trial.begin(({ question }, nth) => {
        if (question === 'send' && nth === 0) return { executes: false, reply: 'cut' };
        return {
          executes: true,
          reply: 'answer',
          ...(question === 'inquire' && nth === 0 && { until: trial.hold.held }),
        };
      });
      await trial.untilAsked('inquire');
      for (const id of trial.transferIds) {
        trial.stage.processor.execute(id);
        await trial.stage.notify(id, 'approved', `while asked ${id}`);
      }
    },
    after: async (trial) => {
      await trial.untilEnded();
      trial.hold.release();
      for (const id of trial.transferIds) await trial.stage.processor.whenDone(id);
    },
  },
  {
    name: 'reverse: approved by a notice during the reversal',
    pairs: ['reverse: reordered'],
    way: 'reversed',
    ends: ['failed, executed 1'],
    arrive: async (trial) => {
      await trial.begin(({ question }, nth) => {
        if (question === 'send') return { executes: true, reply: 'cut' };
        return { executes: true, reply: 'answer', ...(nth === 0 && { until: trial.hold.held }) };
      });
      await trial.untilAsked('reverse');
      for (const id of trial.transferIds) await trial.stage.notify(id, 'approved', `while reversed ${id}`);
    },
    after: async (trial) => trial.hold.release(),
  },
];

/** The cells about actions and answers of the processor. */
export const ANSWERS: readonly Cell[] = [...BADLY_ANSWERED, ...ANSWERED_TWICE, ...LATE, ...OTHERS];
