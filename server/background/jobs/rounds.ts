/** Called for each failed round. If several fail in a row, `isRepeated` is true for all but the first. */
export type OnFailure = (error: unknown, isRepeated?: boolean) => void;

export type Rounds = {
  /** Runs one round. Resolves to the pause before the next round, in milliseconds. Must end soon after the signal aborts. */
  readonly run: (signal: AbortSignal) => Promise<number>;
  readonly onFailure: OnFailure;
  readonly firstPauseMilliseconds: number;
  /** The pause after a failed round, or a function that computes it from the duration of the round. */
  readonly retryMilliseconds: number | ((tookMilliseconds: number) => number);
};

export type RunningJob = {
  /** Ends the job. Resolves when the round in progress has ended. */
  readonly stop: () => Promise<void>;
  /** Begins the next round immediately, or right after the round in progress. */
  readonly wake: () => void;
};

/**
 * Runs every step of a round. If a step fails, still runs the others, which do not depend on it. Runs no step after the signal
 * aborts. At the end, throws the first error.
 */
export async function takeAllSteps(steps: readonly (() => Promise<unknown>)[], signal?: AbortSignal): Promise<void> {
  let failure: { readonly error: unknown } | undefined;
  for (const step of steps) {
    if (signal?.aborted === true) break;
    try {
      await step();
    } catch (error) {
      failure ??= { error };
    }
  }
  if (failure !== undefined) throw failure.error;
}

/** Runs rounds, one after the other, until it is stopped. It does not keep the process running. */
export function startRounds({ run, onFailure, firstPauseMilliseconds, retryMilliseconds }: Rounds): RunningJob {
  const end = new AbortController();
  let isFailing = false;
  let isRunning = false;
  let isAwake = false;
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> = Promise.resolve();
  const schedule = (milliseconds: number): void => {
    clearTimeout(timer);
    if (end.signal.aborted) return;
    timer = setTimeout(() => {
      isAwake = false;
      isRunning = true;
      round = runOnce().then((pauseMilliseconds) => {
        isRunning = false;
        schedule(isAwake ? 0 : pauseMilliseconds);
      });
    }, milliseconds).unref();
  };
  const runOnce = async (): Promise<number> => {
    const startedAt = performance.now();
    try {
      const pauseMilliseconds = await run(end.signal);
      isFailing = false;
      return pauseMilliseconds;
    } catch (error) {
      // If `stop` has aborted the round, that is not a failure.
      if (!end.signal.aborted) onFailure(error, isFailing);
      isFailing = true;
      return typeof retryMilliseconds === 'number'
        ? retryMilliseconds
        : retryMilliseconds(performance.now() - startedAt);
    }
  };
  schedule(firstPauseMilliseconds);
  return {
    stop: async () => {
      end.abort();
      clearTimeout(timer);
      await round;
    },
    wake: () => {
      isAwake = true;
      if (!isRunning) schedule(0);
    },
  };
}
