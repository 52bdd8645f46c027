import { waitFor } from '../harness/process.ts';
import { type Fault, runFaults } from './run-faults.ts';
import { crashServer, terminateBackends } from './stage.ts';

const BEFORE: readonly Fault[] = [
  {
    name: 'the database server is stopped',
    outcomes: ['no'],
    arrange: async ({ server }) => {
      await server.embedded.pause();
      return { mend: () => server.embedded.resume() };
    },
  },
  {
    name: 'nobody takes connections',
    outcomes: ['no'],
    arrange: async ({ proxy }) => {
      await proxy.listen(false);
      proxy.cutAll();
      return { mend: () => proxy.listen(true) };
    },
  },
  {
    name: 'connections are taken and nothing answers',
    outcomes: ['no'],
    arrange: async ({ proxy }) => {
      proxy.mute(true);
      proxy.cutAll();
      return {
        mend: async () => {
          proxy.mute(false);
          proxy.cutAll();
        },
      };
    },
  },
  {
    name: 'every idle connection was cut',
    outcomes: ['made'],
    arrange: async ({ proxy }) => {
      proxy.cutAll();
      return {};
    },
  },
  {
    name: 'every idle connection was terminated',
    outcomes: ['made'],
    arrange: async (stage) => {
      await terminateBackends(stage);
      return {};
    },
  },
  {
    name: 'the server crashed and is back',
    outcomes: ['made'],
    arrange: async (stage) => {
      crashServer(stage);
      await waitFor('the crash', async () => stage.server.embedded.state() !== 'running');
      await waitFor('the server', async () => stage.server.embedded.state() === 'running');
      return {};
    },
  },
];

runFaults('before', BEFORE);
