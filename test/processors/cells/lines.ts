import { waitFor } from '../../harness/process.ts';
import type { Carrying, LineScript } from '../lines.ts';
import { type End, type Trial, TYPES } from '../trial.ts';
import type { Cell, Fault } from './cell.ts';

const COMPLETED: readonly End[] = ['completed, executed 1'];

/** Applies a fault to the first requests to send an order. Later requests pass. */
const first = (carrying: Carrying): LineScript => ({
  carrying: (question, nth) => (question === 'send' && nth === 0 ? carrying : 'pass'),
});

const onLine = (name: string, pair: Cell['pairs'][number], script: LineScript): Cell => ({
  name,
  pairs: [pair],
  way: 'lined',
  ends: COMPLETED,
  arrive: async (trial) => {
    trial.stage.line(trial.connectorId).play(script);
    await trial.begin();
  },
});

const LOST: readonly (readonly [Exclude<Carrying, 'pass' | Promise<void>>, Fault])[] = [
  ['cut', 'cut'],
  ['silence', 'silence'],
  ['slow', 'slow'],
  ['malformed', 'malformed'],
  ['wrong_amount', 'wrong amount'],
];

const SERVICE = ['kill service', 'kill PostgreSQL', 'clock'] as const;

/** Cells in which only part of a request is written, or a request changes on the way. */
const WRITTEN: readonly Cell[] = [
  ...LOST.map(([carrying, fault]) => onLine(`write: ${carrying}`, `write: ${fault}`, first(carrying))),
  ...SERVICE.map((incident): Cell => {
    return {
      name: `write, only half of the request: ${incident}`,
      pairs: [`write: ${incident}`],
      way: 'lined',
      ends: COMPLETED,
      incident,
      arrive: async (trial) => {
        const line = trial.stage.line(trial.connectorId);
        line.play(first(trial.hold.held));
        await trial.begin();
        await waitFor('the requests', async () => line.requests >= TYPES.length);
      },
      after: async (trial) => trial.hold.release(),
    };
  }),
];

/** Waits until every order has been marked as sent, even if its status has changed since. */
const isConnecting = (trial: Trial) => trial.untilAttempts('sent_at is not null');

/** Cells in which a connection is never made, or is made late. */
const CONNECTED: readonly Cell[] = [
  onLine('connect: reset', 'connect: cut', { connecting: (nth) => (nth < TYPES.length ? 'reset' : 'pass') }),
  {
    name: 'connect: no answer',
    pairs: ['connect: silence'],
    way: 'stopped',
    ends: COMPLETED,
    arrive: async (trial) => {
      await trial.stage.host(trial.connectorId).fallSilent();
      await trial.begin();
      // The service records a reason in both cases: if the order was not sent, and if its outcome is unknown.
      await trial.untilAttempts('detail is not null');
    },
    after: async (trial) => trial.stage.host(trial.connectorId).answer(),
  },
  ...(['slow', ...SERVICE] as const).map((fault): Cell => {
    return {
      name: `connect, no answer for a while: ${fault}`,
      pairs: [`connect: ${fault}`],
      way: 'stopped',
      ends: COMPLETED,
      ...(fault !== 'slow' && { incident: fault }),
      arrive: async (trial) => {
        await trial.stage.host(trial.connectorId).fallSilent();
        await trial.begin();
        await isConnecting(trial);
      },
      after: async (trial) => trial.stage.host(trial.connectorId).answer(),
    };
  }),
];

/** All cells about requests on their way to the processor. */
export const ON_LINES: readonly Cell[] = [...WRITTEN, ...CONNECTED];
