import { type Fault, runFaults, trap } from './run-faults.ts';
import { crashServer, crashServerFully } from './stage.ts';

const COMMIT: readonly Fault[] = [
  { name: 'the connection is cut before the reply', outcomes: ['made'], arrange: trap('after_commit', 'cut') },
  { name: 'the reply never arrives', outcomes: ['made'], arrange: trap('after_commit', 'swallow') },
  { name: 'the reply arrives as an error', outcomes: ['made'], arrange: trap('after_commit', 'deny') },
  { name: 'an error arrives instead of the reply', arrange: trap('before_commit', 'deny') },
  { name: 'the client is lost at COMMIT', outcomes: ['made', 'no'], arrange: trap('before_commit', 'orphan') },
  { name: 'the client is lost at the writes', outcomes: ['made', 'no'], arrange: trap('before_save', 'orphan') },
  {
    name: 'the server crashes just before the commit',
    recovers: true,
    arrange: trap('before_commit', 'continue', crashServerFully),
  },
  {
    name: 'the server crashes during the commit',
    outcomes: ['made', 'no'],
    recovers: true,
    arrange: trap('before_commit', 'continue', crashServer),
  },
  {
    name: 'the server crashes just after the commit',
    outcomes: ['made'],
    recovers: true,
    arrange: trap('after_commit', 'cut', crashServer),
  },
];

runFaults('commit', COMMIT);
