/** The results of look-ups, in order. Once one has succeeded, the others have only `milliseconds` more. */
export function settledSoon<Result>(
  lookUps: readonly Promise<Result>[],
  milliseconds: number,
): Promise<readonly PromiseSettledResult<Result>[]> {
  return new Promise((resolve) => {
    const results: PromiseSettledResult<Result>[] = [];
    // Removes the holes of those that have not settled.
    const end = (): void => resolve(results.filter(() => true));
    let timer: NodeJS.Timeout | undefined;
    const note = (index: number, result: PromiseSettledResult<Result>): void => {
      results[index] = result;
      if (result.status === 'fulfilled') timer ??= setTimeout(end, milliseconds).unref();
    };
    const settled = lookUps.map((lookUp, index) =>
      lookUp.then(
        (value) => note(index, { status: 'fulfilled', value }),
        (reason: unknown) => note(index, { status: 'rejected', reason }),
      ),
    );
    void Promise.all(settled).then(() => {
      clearTimeout(timer);
      end();
    });
  });
}

/** Waits for work that cannot be aborted, until a signal aborts the wait. */
export function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    work.then(resolve, reject);
  });
}
