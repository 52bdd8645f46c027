import { useCallback, useRef, useState } from 'preact/hooks';
import { type KeyedCallOptions, type TransferService, TransferServiceError } from '../../sdk/client.ts';
import { announceChange, client, newIdempotencyKey } from './client.ts';
import { useProgramId } from './program.ts';

/** A change that a reader asks for, with what the form says. */
export type ActionCall<Input, Result> = (
  input: Input,
  api: TransferService,
  options: KeyedCallOptions,
) => Promise<Result>;

/** What a form needs of an action. */
export type Action<Input, Result> = {
  /** Runs it; gives the result, or undefined if it failed (then `error` says why). One runs at a time. */
  readonly run: (input: Input) => Promise<Result | undefined>;
  readonly pending: boolean;
  readonly error: Error | undefined;
  readonly result: Result | undefined;
  readonly reset: () => void;
};

/**
 * A change through the API. The idempotency key stays the same while the same input is tried again and it is not certain
 * that nothing happened: a second click after a lost response moves no money twice.
 */
export function useAction<Input, Result>(
  call: ActionCall<Input, Result>,
  { endsSession = false }: { readonly endsSession?: boolean } = {},
): Action<Input, Result> {
  const programId = useProgramId();
  const [pending, setPending] = useState(false);
  const [error, setError] = useState<Error | undefined>(undefined);
  const [result, setResult] = useState<Result | undefined>(undefined);
  const keyed = useRef<{ readonly input: string; readonly key: string } | undefined>(undefined);
  const running = useRef(false);
  const latest = useRef(call);
  latest.current = call;

  const run = useCallback(
    async (input: Input): Promise<Result | undefined> => {
      if (running.current) return undefined;
      running.current = true;
      setPending(true);
      setError(undefined);
      const text = JSON.stringify([programId, input]);
      if (keyed.current?.input !== text) keyed.current = { input: text, key: newIdempotencyKey() };
      try {
        const made = await latest.current(input, client, { idempotencyKey: keyed.current.key, programId });
        keyed.current = undefined;
        setResult(made);
        // What is polled is read again at once; without a session that would only be refused.
        if (!endsSession) announceChange();
        return made;
      } catch (thrown) {
        if (isFinal(thrown)) keyed.current = undefined;
        setError(thrown instanceof Error ? thrown : new Error(String(thrown)));
        return undefined;
      } finally {
        running.current = false;
        setPending(false);
      }
    },
    [programId, endsSession],
  );
  const reset = useCallback(() => {
    setError(undefined);
    setResult(undefined);
  }, []);
  return { run, pending, error, result, reset };
}

/** Whether the service has refused it for good: the next try is another request, with another key. */
function isFinal(thrown: unknown): boolean {
  return (
    thrown instanceof TransferServiceError && thrown.moneyMoved === 'no' && thrown.Status < 500 && !thrown.shouldRetry
  );
}
