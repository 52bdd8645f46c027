import { waitFor } from '../../harness/process.ts';
import type { Gate } from '../gates.ts';
import type { Stage } from '../stage.ts';
import type { Question } from '../stand-in.ts';
import type { Trial } from '../trial.ts';
import type { Cell, Fault, Incident, Pair, Step } from './cell.ts';
import { atNotice } from './notices.ts';

/** The delay on slow connections in milliseconds, and the number of slow round trips. */
const SLOW = { milliseconds: 100, turns: 60 };

/** Functions that cause each incident. Each one returns a function that ends the incident once the gates are open. */
export const CAUSE: Readonly<Record<Incident, (stage: Stage) => Promise<() => Promise<void>>>> = {
  'kill service': async (stage) => {
    await stage.killService();
    return () => stage.start();
  },
  'kill PostgreSQL': async (stage) => {
    await stage.killDatabase();
    return async () => undefined;
  },
  clock: async (stage) => {
    await stage.moveClock(2 * 3600);
    return async () => undefined;
  },
  // The waiting transactions continue, but the service gets no response.
  'connections cut': async (stage) => {
    stage.wire.cutAll();
    return () => stage.untilReady();
  },
  'connections silent': async (stage) => {
    stage.wire.mute(true);
    return async () => {
      await waitFor('the service to notice', async () => !(await stage.isReady()));
      stage.wire.mute(false);
      await stage.untilReady();
    };
  },
  'connections slow': async (stage) => {
    stage.wire.delayBy(SLOW.milliseconds);
    const before = stage.wire.turns();
    return async () => {
      // Moves the clock past the lease of claimed attempts, because the service may not have the response to its claim
      // yet.
      await stage.moveClock(10);
      await waitFor('slow round trips', async () => stage.wire.turns() >= before + SLOW.turns);
      stage.wire.delayBy(0);
    };
  },
  'second service': async (stage) => {
    await stage.startSecond();
    // Moves the clock past the lease of the first service's claims.
    await stage.moveClock(10);
    return async () => undefined;
  },
};

/** The faults of the matrix that are incidents. */
const OF_SERVICE = ['kill service', 'kill PostgreSQL', 'clock'] as const;
const OF_CONNECTIONS: readonly (readonly [Fault, Incident])[] = [
  ['cut', 'connections cut'],
  ['silence', 'connections silent'],
  ['slow', 'connections slow'],
];

const BY_FAULT: readonly (readonly [Fault, Incident])[] = [
  ...OF_SERVICE.map((fault) => [fault, fault] as const),
  ...OF_CONNECTIONS,
];

/** Cells with an incident while the processor handles a question, before or after it acts on the question. */
const DURING_CALL: readonly Cell[] = OF_SERVICE.flatMap((incident) =>
  (['reverse', 'inquire', 'send'] as const).flatMap((question) =>
    [true, false].map((isDone): Cell => {
      const step = question === 'send' ? (isDone ? 'read' : 'execute') : question;
      return {
        name: `${question}, ${isDone ? 'done' : 'not done'}: ${incident}`,
        pairs: [`${step}: ${incident}`],
        way: question === 'reverse' ? 'reversed' : 'inquired',
        ends: [question === 'reverse' ? 'failed, executed 1' : 'completed, executed 1'],
        incident,
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
          // Requests of a killed process are never executed.
          if (incident === 'kill service') await trial.untilEnded();
          trial.hold.release();
        },
      };
    }),
  ),
);

/**
 * The question that the processor has when the service reaches a gate, and the step. At the first two gates, the
 * processor has no question.
 */
const AT: Readonly<Partial<Record<Gate, readonly [question: Question | undefined, step: Step]>>> = {
  claim: [undefined, 'claim'],
  mark: [undefined, 'claim'],
  record: ['send', 'record'],
  inquired: ['inquire', 'inquire'],
  reversed: ['reverse', 'reverse'],
};

function beforeWriting(gate: Gate, incident: Incident, pair: Pair, question: Question | undefined): Cell {
  const close = (trial: Trial) => trial.stage.gates.close(gate, trial.connectorId);
  return {
    name: `before ${gate}: ${incident}`,
    pairs: [pair],
    way: gate === 'reversed' ? 'reversed' : 'inquired',
    ends: [gate === 'reversed' ? 'failed, executed 1' : 'completed, executed 1'],
    incident,
    isAtGate: true,
    arrive: async (trial) => {
      if (question === undefined) {
        await close(trial);
        await trial.begin();
        await trial.stage.gates.untilWaiting(gate, trial.connectorId);
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
        trial.hold.release();
      },
    }),
  };
}

/**
 * Cells with an incident while the service is about to write: after the commit, after the claim, and before it records
 * an answer.
 */
const BEFORE_WRITING: readonly Cell[] = BY_FAULT.flatMap(([fault, incident]) => [
  ...(Object.keys(AT) as Gate[]).flatMap((gate) => {
    const [question, step] = AT[gate] ?? [undefined, 'claim'];
    return [beforeWriting(gate, incident, `${step}: ${fault}`, question)];
  }),
  ...(OF_SERVICE.some((one) => one === incident) ? atNotice(incident, `notice: ${fault}`) : []),
]);

/** Cells in which two services claim the same attempts, because the lease of the first service has ended. */
const TAKEN_UP_TWICE: readonly Cell[] = (['claim', 'mark'] as const).map((gate) =>
  beforeWriting(gate, 'second service', 'claim: twice', undefined),
);

/** Cells with an incident during the commit of a transfer. The caller repeats the request until it gets a response. */
const AT_COMMIT: readonly Cell[] = [
  ...BY_FAULT.map(([fault, incident]): Cell => atCommit(`commit: ${incident}`, [`commit: ${fault}`], 1, incident)),
  atCommit('commit: the same request twice at once', ['commit: twice'], 3),
];

function atCommit(name: string, pairs: readonly Pair[], times: number, incident?: Incident): Cell {
  return {
    name,
    pairs,
    way: 'inquired',
    ends: ['completed, executed 1'],
    ...(incident !== undefined && { incident }),
    arrive: (trial) => trial.prepare(),
    approach: async (trial) => {
      await trial.stage.gates.close('commit', trial.connectorId);
      trial.createMeanwhile(times);
      await trial.stage.gates.untilWaiting('commit', trial.connectorId);
    },
    after: (trial) => trial.whenDone(),
  };
}

/** All cells with incidents in the service, its database and the connections between them. */
export const AT_INCIDENTS: readonly Cell[] = [...DURING_CALL, ...BEFORE_WRITING, ...TAKEN_UP_TWICE, ...AT_COMMIT];
