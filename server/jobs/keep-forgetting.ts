import { forget } from './forget.ts';

/** Often enough that a day's rows go in small portions. */
const INTERVAL = 60 * 60 * 1000;

/** Not at once: a service that starts has more urgent things to ask of the database. */
const FIRST = 60 * 1000;

/**
 * Removes what is old and nobody reads while the service runs (see the operation of that name). `stop` waits for the
 * statement that is under way. The first round comes after `first` milliseconds.
 */
export function keepForgetting(
  database: Parameters<typeof forget>[0],
  onFailure: (error: unknown) => void,
  first: number = FIRST,
): { readonly stop: () => Promise<void> } {
  const end = new AbortController();
  let round: Promise<unknown> = Promise.resolve();
  let timer: NodeJS.Timeout;
  const begin = (delay: number): void => {
    if (end.signal.aborted) return;
    timer = setTimeout(() => {
      round = forget(database, end.signal)
        .catch(onFailure)
        .then(() => begin(INTERVAL));
    }, delay).unref();
  };
  begin(first);
  return {
    stop: async () => {
      end.abort();
      clearTimeout(timer);
      await round;
    },
  };
}
