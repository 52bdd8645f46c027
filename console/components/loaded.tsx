import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { OperationState } from '../data/use-operation.ts';
import { Button } from './button.tsx';
import { ErrorRecord } from './error-record.tsx';

/**
 * Shows the state of an operation: a loading bar, an error above any older data, or the result of `children` for the data.
 * `<Loaded state={card}>{(found) => <Details … />}</Loaded>`
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

/** Most responses arrive sooner, and a bar that only flashes is distracting. */
const SHOWN_AFTER_MILLISECONDS = 250;

/** Marks something as loading, and shows a bar if that takes a while. */
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

/** A progress bar. It is indeterminate without `value`. */
export function Progress({
  label,
  value,
  max = 1,
}: {
  readonly label: string;
  readonly value?: number | undefined;
  readonly max?: number;
}) {
  return (
    <div class="progress">
      <span>{label}</span>
      <progress aria-label={label} {...(value === undefined ? {} : { value, max })} />
    </div>
  );
}

/** Shown instead of an empty list. It says why there is nothing to show, and what to do next. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children !== undefined && <div>{children}</div>}
    </div>
  );
}
