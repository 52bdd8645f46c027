import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { OperationState } from '../data/use-operation.ts';
import { Button } from './button.tsx';
import { ErrorRecord } from './error-record.tsx';
import { Progress } from './progress.tsx';

/**
 * What an operation has come to: its failure, with the data of before below it; that it is loading; or what `children`
 * makes of the data. `<Loaded state={card}>{(found) => <Details … />}</Loaded>`
 */
export function Loaded<Result>({
  state: { data, error, stale, loading, reload },
  children,
}: {
  readonly state: OperationState<Result>;
  readonly children: (data: Result) => ComponentChildren;
}) {
  return (
    <>
      {error !== undefined && (
        <ErrorRecord error={error} stale={data !== undefined}>
          <Button onClick={reload} pending={loading}>
            Try again
          </Button>
        </ErrorRecord>
      )}
      {data === undefined && error === undefined && <Loading />}
      {data !== undefined && (
        <div class={stale && error !== undefined ? 'loaded stale' : 'loaded'}>{children(data)}</div>
      )}
    </>
  );
}

/** Most answers come sooner than this; a bar that only flashes is in the way. */
const SHOWN_AFTER_MILLISECONDS = 250;

/** That something is being loaded: said at once to programs, and shown if it takes a while. */
export function Loading({ label = 'Loading' }: { readonly label?: string }) {
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const timer = window.setTimeout(() => setShown(true), SHOWN_AFTER_MILLISECONDS);
    return () => window.clearTimeout(timer);
  }, []);
  return (
    <div class="loading" aria-busy="true">
      {isShown && <Progress label={label} />}
    </div>
  );
}
