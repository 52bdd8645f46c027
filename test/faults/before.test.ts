import { waitFor } from '../harness/process.ts';
import { during, type Fault, runFaults } from './run-faults.ts';
import { crashServer, terminateBackends } from './stage.ts';

const BEFORE: readonly Fault[] = [
  {
    name: 'the database server is stopped',
    outcomes: ['no'],
    arrange: during(async ({ server }) => {
      await server.embedded.pause();
      return () => server.embedded.resume();
    }),
  },
  {
    name: 'the server refuses connections',
    outcomes: ['no'],
    arrange: during(async ({ proxy }) => {
      await proxy.listen(false);
      proxy.cutAll();
      return () => proxy.listen(true);
    }),
  },
  {
    name: 'the server accepts connections but does not respond',
    outcomes: ['no'],
    arrange: during(async ({ proxy }) => {
      proxy.mute(true);
      proxy.cutAll();
      return async () => {
        proxy.mute(false);
        proxy.cutAll();
      };
    }),
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
    name: 'the server crashed and has recovered',
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
