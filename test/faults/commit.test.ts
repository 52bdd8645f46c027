import { type Fault, runFaults } from './run-faults.ts';
import { crashServer, crashServerFully, lay } from './stage.ts';

const COMMIT: readonly Fault[] = [
  {
    name: 'the connection is cut before its answer gets back',
    outcomes: ['made'],
    arrange: async (stage) => ({ trap: lay(stage, 'after_commit', 'cut') }),
  },
  {
    name: 'its answer never comes',
    outcomes: ['made'],
    arrange: async (stage) => ({ trap: lay(stage, 'after_commit', 'swallow') }),
  },
  {
    name: 'the server works on for nobody',
    outcomes: ['made', 'no'],
    arrange: async (stage) => ({ trap: lay(stage, 'before_commit', 'orphan') }),
  },
  {
    name: 'the same, writes included',
    outcomes: ['made', 'no'],
    arrange: async (stage) => ({ trap: lay(stage, 'before_save', 'orphan') }),
  },
  {
    name: 'the server crashes just before',
    outcomes: ['no'],
    recovers: true,
    arrange: async (stage) => {
      return { trap: lay(stage, 'before_commit', 'go_on', () => crashServerFully(stage)) };
    },
  },
  {
    name: 'the server crashes at the same moment',
    outcomes: ['made', 'no'],
    recovers: true,
    arrange: async (stage) => {
      return { trap: lay(stage, 'before_commit', 'go_on', () => crashServer(stage)) };
    },
  },
  {
    name: 'the server crashes just after',
    outcomes: ['made'],
    recovers: true,
    arrange: async (stage) => {
      return { trap: lay(stage, 'after_commit', 'cut', () => crashServer(stage)) };
    },
  },
];

runFaults('commit', COMMIT);
