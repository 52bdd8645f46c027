// Looks up names: reads the hosts file, and stops waiting before a slow look-up ends.
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';

/** How long the content of the file is used. Changes take effect soon, and a burst of new connections reads it once. */
const KEPT_MILLISECONDS = 5_000;

/**
 * Opens the hosts file, which Node's resolver does not read. The returned function finds the addresses of a name in it. An
 * unreadable file counts as empty.
 */
export function openHostsFile(path: string): (name: string) => Promise<readonly string[]> {
  let reading: Promise<ReadonlyMap<string, readonly string[]>> | undefined;
  let readAt = 0;
  return async (name) => {
    const now = performance.now();
    if (reading === undefined || now - readAt > KEPT_MILLISECONDS) {
      readAt = now;
      reading = readFile(path, 'utf8').then(parseHosts, () => new Map());
    }
    return (await reading).get(name.toLowerCase()) ?? [];
  };
}

function parseHosts(text: string): ReadonlyMap<string, readonly string[]> {
  const hosts = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const name of names.map((each) => each.toLowerCase())) hosts.set(name, [...(hosts.get(name) ?? []), address]);
  }
  return hosts;
}

/** Returns the results of look-ups, in order. Once one has succeeded, the others have only `milliseconds` more. */
export function settledSoon<Result>(
  lookUps: readonly Promise<Result>[],
  milliseconds: number,
): Promise<readonly PromiseSettledResult<Result>[]> {
  return new Promise((resolve) => {
    const results: PromiseSettledResult<Result>[] = [];
    // Removes the holes of unsettled look-ups.
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
