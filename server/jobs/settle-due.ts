import { settleDue } from '../transfers/settle-due.ts';

/** How long after it is due something is looked at, at most, in milliseconds. */
const INTERVAL = 1000;

/** After a failure, such as a database that is down, the next look comes later. */
const REST = 5000;

/**
 * Settles what has come due while the service runs (see the operation of that name). `onFailure` hears of a round that
 * failed, once until one succeeds again.
 */
export function keepSettlingDue(
  service: Parameters<typeof settleDue>[0],
  onFailure: (error: unknown) => void,
): { readonly stop: () => Promise<void> } {
  let stopped = false;
  let troubled = false;
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> = Promise.resolve();
  const begin = (delay: number): void => {
    if (stopped) return;
    timer = setTimeout(() => {
      round = settle().then(begin);
    }, delay).unref();
  };
  const settle = async (): Promise<number> => {
    try {
      const { failed, more } = await settleDue(service);
      if (failed > 0) throw new Error(`${failed} due transfers could not be settled`);
      troubled = false;
      return more ? 0 : INTERVAL;
    } catch (error) {
      if (!troubled) onFailure(error);
      troubled = true;
      return REST;
    }
  };
  begin(INTERVAL);
  return {
    stop: () => {
      stopped = true;
      clearTimeout(timer);
      return round;
    },
  };
}
