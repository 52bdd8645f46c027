import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type CallOptions, type TransferService, TransferServiceError } from '../../sdk/client.ts';
import { MIN_PAUSE_MILLISECONDS, pauseUntilPoll } from '../format/times.ts';
import { backgroundClient, client, onChange, onOutdated, onSignedInAgain } from './client.ts';
import { useProgramId } from './program.ts';

export type OperationCall<Result> = (api: TransferService, options: CallOptions) => Promise<Result>;

export type OperationState<Result> = {
  /** The last result, even while a newer one is loading or after it failed. */
  readonly data: Result | undefined;
  /** Why the last call failed, or undefined after a success. */
  readonly error: Error | undefined;
  readonly loading: boolean;
  /** Whether `data` belongs to other `deps`, or could not be refreshed. */
  readonly stale: boolean;
  readonly reload: () => void;
};

export type OperationSettings<Result = unknown> = {
  /** The call is repeated when one of these changes. The chosen program is always one of them. */
  readonly deps?: readonly unknown[];
  /**
   * Whether the console makes the call for itself, such as for a banner or a record that may not exist. Such a call is always made
   * in the background, and a failure is not recorded as an error of the user.
   */
  readonly isOwn?: boolean;
  /**
   * Whether the result is the same for every chosen program, so that choosing a different program doesn't repeat the
   * call.
   */
  readonly ofAnyProgram?: boolean;
  /**
   * Repeats the call in the background while the page is visible. This doesn't keep the session alive. After a change
   * by this console, it is repeated immediately, and again a second later to show the effects of the change.
   */
  readonly pollMilliseconds?: number | undefined;
  /** Returns when a result will change, so that a poll follows just after that, or null if that is unknown. */
  readonly changesAt?: ((result: Result) => string | null) | undefined;
};

/**
 * Calls an operation and returns its state: `useOperation((api, options) => api.cards.get(cardId, options), { deps: [cardId]
 * })`. Leaving the screen aborts the call. After an error the old data is still shown. Without a call (`undefined`) nothing is sent.
 */
export function useOperation<Result>(
  call: OperationCall<Result> | undefined,
  { deps = [], isOwn = false, ofAnyProgram = false, pollMilliseconds, changesAt }: OperationSettings<Result> = {},
): OperationState<Result> {
  const chosen = useProgramId();
  const programId = ofAnyProgram ? undefined : chosen;
  const isIdle = call === undefined;
  const [state, setState] = useState<Omit<OperationState<Result>, 'reload'>>({
    data: undefined,
    error: undefined,
    loading: !isIdle,
    stale: false,
  });
  const [reloads, setReloads] = useState(0);
  const latest = useRef(call);
  latest.current = call;
  const latestChangesAt = useRef(changesAt);
  latestChangesAt.current = changesAt;

  useEffect(() => {
    if (isIdle) {
      setState({ data: undefined, error: undefined, loading: false, stale: false });
      return;
    }
    const leaving = new AbortController();
    let timer: number | undefined;
    let runs = 0;
    let hasChanged = false;
    const run = async (api: TransferService): Promise<void> => {
      window.clearTimeout(timer);
      runs += 1;
      const own = runs;
      // Ignore the result of a call once a later call has started.
      const isOld = (): boolean => leaving.signal.aborted || own !== runs;
      let next: string | null = null;
      try {
        const data = await latest.current?.(api, { signal: leaving.signal, programId });
        if (isOld()) return;
        setState({ data, error: undefined, loading: false, stale: false });
        next = (data !== undefined && latestChangesAt.current?.(data)) || null;
      } catch (error) {
        if (isOld()) return;
        const failure = error instanceof Error ? error : new Error(String(error));
        setState(({ data }) => ({ data, error: failure, loading: false, stale: data !== undefined }));
        // A permanent failure is not retried, because that would only fill the error log.
        if (isPermanent(failure)) return;
      }
      if (pollMilliseconds === undefined) return;
      const pause = hasChanged ? MIN_PAUSE_MILLISECONDS : pauseUntilPoll(pollMilliseconds, next, Date.now());
      hasChanged = false;
      timer = window.setTimeout(poll, pause);
    };
    const poll = (): void => {
      if (document.visibilityState === 'visible') void run(backgroundClient);
    };
    const onVisible = (): void => {
      if (document.visibilityState === 'visible' && pollMilliseconds !== undefined) void run(backgroundClient);
    };
    setState(({ data, error }) => ({ data, error, loading: true, stale: data !== undefined }));
    const read = (): void => void run(isOwn ? backgroundClient : client);
    read();
    document.addEventListener('visibilitychange', onVisible);
    const stopListening = onSignedInAgain(read);
    const stopWatching = onOutdated(read);
    const stopFollowing = onChange(() => {
      if (pollMilliseconds === undefined) return;
      hasChanged = true;
      void run(backgroundClient);
    });
    return () => {
      stopListening();
      stopWatching();
      stopFollowing();
      document.removeEventListener('visibilitychange', onVisible);
      window.clearTimeout(timer);
      leaving.abort();
    };
  }, [isIdle, programId, pollMilliseconds, reloads, ...deps]);

  const reload = useCallback(() => setReloads((count) => count + 1), []);
  return { ...state, reload };
}

/** Whether the service would refuse the same request again: the id does not exist, or the user must sign in first. */
function isPermanent(error: Error): boolean {
  return error instanceof TransferServiceError && [400, 401, 403, 404].includes(error.Status);
}
