import { settleDue } from '../transfers/settle-due.ts';

/** Maximum delay after a hold expires or a scheduled transfer is due. */
const INTERVAL_MILLISECONDS = 1_000;

/** Delay after a failure, such as a database that is down. */
const RETRY_MILLISECONDS = 5_000;

/**
 * Expires holds and executes scheduled transfers that are due while the service runs. `onFailure` is called for the first
 * of several failed rounds in a row.
 */
export function startSettlingDueTransfers(
  service: Parameters<typeof settleDue>[0],
  onFailure: (error: unknown) => void,
): { readonly stop: () => Promise<void> } {
  let stopped = false;
  let isFailing = false;
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> = Promise.resolve();
  const schedule = (delayMilliseconds: number): void => {
    if (stopped) return;
    timer = setTimeout(() => {
      round = settle().then(schedule);
    }, delayMilliseconds).unref();
  };
  const settle = async (): Promise<number> => {
    try {
      const { failed, more } = await settleDue(service);
      if (failed > 0) throw new Error(`${failed} due transfers could not be settled`);
      isFailing = false;
      return more ? 0 : INTERVAL_MILLISECONDS;
    } catch (error) {
      if (!isFailing) onFailure(error);
      isFailing = true;
      return RETRY_MILLISECONDS;
    }
  };
  schedule(INTERVAL_MILLISECONDS);
  return {
    stop: () => {
      stopped = true;
      clearTimeout(timer);
      return round;
    },
  };
}
