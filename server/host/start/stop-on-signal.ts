import { withoutSecrets } from '../../foundation/redaction.ts';

/** Stops on the first signal. More may follow: Ctrl-C in a terminal reaches npm and the service. */
export function stopOnSignal(end: (signal: NodeJS.Signals) => Promise<void>): { readonly isStopping: boolean } {
  const state = { isStopping: false };
  const onSignal = (signal: NodeJS.Signals): void => {
    if (state.isStopping) return;
    state.isStopping = true;
    process.stdout.write('\nStopping. Waiting for requests in progress …\n');
    end(signal).then(
      () => {
        process.stdout.write('Stopped.\n');
        process.exit(0);
      },
      (error: unknown) => {
        process.stderr.write(`The service did not stop cleanly: ${withoutSecrets(String(error))}\n`);
        process.exit(1);
      },
    );
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  return state;
}
