import { useCallback, useRef, useState } from 'preact/hooks';
import { AwaitsApproval, type KeyedCallOptions, type TransferService, TransferServiceError } from '../../sdk/client.ts';
import { announceChange, announceOutdated, client, newIdempotencyKey } from './client.ts';
import { useProgramId } from './program.ts';

/** Makes a change with the values of a form. */
export type ActionCall<Input, Result> = (
  input: Input,
  api: TransferService,
  options: KeyedCallOptions,
) => Promise<Result>;

export type Action<Input, Result> = {
  /** Makes the change. Returns the result, or undefined if it failed (then `error` says why). Only one runs at a time. */
  readonly run: (input: Input) => Promise<Result | undefined>;
  readonly pending: boolean;
  readonly error: Error | undefined;
  readonly result: Result | undefined;
  readonly reset: () => void;
};

export type ActionSettings = {
  readonly endsSession?: boolean;
  /**
   * The name of the operation, followed by its subject unless the input contains the subject: `deposit prog_…`. If set,
   * the idempotency key of a request with an uncertain outcome is kept when the form is closed, and the same input in a
   * different form uses it again.
   */
  readonly operation?: string | undefined;
};

/** The idempotency keys of requests with an uncertain outcome, by operation, program and input. */
type Keys = Map<string, string>;

const uncertain: Keys = new Map();

/**
 * Makes a change through the API. Retries of the same input keep the idempotency key until the outcome is certain, so
 * that a second click after a lost response does not move money twice.
 */
export function useAction<Input, Result>(
  call: ActionCall<Input, Result>,
  { endsSession = false, operation }: ActionSettings = {},
): Action<Input, Result> {
  const programId = useProgramId();
  const [pending, setPending] = useState(false);
  const [error, setError] = useState<Error | undefined>(undefined);
  const [result, setResult] = useState<Result | undefined>(undefined);
  const own = useRef<Keys>(new Map());
  const running = useRef(false);
  const latest = useRef(call);
  latest.current = call;

  const run = useCallback(
    async (input: Input): Promise<Result | undefined> => {
      if (running.current) return undefined;
      running.current = true;
      setPending(true);
      setError(undefined);
      const keys = operation === undefined ? own.current : uncertain;
      const text = JSON.stringify([operation, programId, input]);
      const idempotencyKey = keys.get(text) ?? newIdempotencyKey();
      keys.set(text, idempotencyKey);
      try {
        const made = await latest.current(input, client, { idempotencyKey, programId });
        keys.delete(text);
        setResult(made);
        // Polled data is read again immediately, unless the session has ended: the service would refuse the reads.
        if (!endsSession) announceChange();
        return made;
      } catch (thrown) {
        if (isFinal(thrown)) keys.delete(text);
        // The form keeps the typed values. The screen below it shows the current ones.
        if (isOutdated(thrown)) announceOutdated();
        if (thrown instanceof AwaitsApproval) announceChange();
        setError(thrown instanceof Error ? thrown : new Error(String(thrown)));
        return undefined;
      } finally {
        running.current = false;
        setPending(false);
      }
    },
    [programId, endsSession, operation],
  );
  const reset = useCallback(() => {
    setError(undefined);
    setResult(undefined);
  }, []);
  return { run, pending, error, result, reset };
}

/** Whether someone else has changed the record since it was read. */
export function isOutdated(thrown: unknown): boolean {
  return thrown instanceof TransferServiceError && thrown.Code === 'precondition_failed';
}

/**
 * Whether a failure is final, so that the next try is a new request with a new key. A request that is waiting for an approval
 * counts as final too: once it is carried out, the same input is a new request.
 */
function isFinal(thrown: unknown): boolean {
  if (thrown instanceof AwaitsApproval) return true;
  return (
    thrown instanceof TransferServiceError && thrown.moneyMoved === 'no' && thrown.Status < 500 && !thrown.shouldRetry
  );
}

/** Returns a record as of the time when its form was opened. Later polls don't change the record or the form. */
export function useOpened<Shown>(record: Shown): Shown {
  const [opened] = useState(record);
  return opened;
}
