import { type FunctionComponent, h } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { Dialog } from './dialogs/dialog.tsx';
import { Empty, Loading } from './loaded.tsx';

/** The longest time before the code of dialogs is loaded that the user has not opened yet, in milliseconds. */
const PRELOAD_AFTER_MILLISECONDS = 1_000;

/**
 * A part of a screen or a dialog whose code is loaded when it is first shown:
 * `const CallerDialog = later(async () => (await import('./caller-dialog.tsx')).CallerDialog)`
 */
export function later<Props extends object>(
  load: () => Promise<FunctionComponent<Props>>,
): FunctionComponent<Props> & { readonly preload: () => Promise<void> } {
  let known: FunctionComponent<Props> | undefined;
  const preload = async (): Promise<void> => {
    known ??= await load();
  };
  function Later(props: Props) {
    const [state, setState] = useState<'loading' | 'loaded' | 'failed'>('loading');
    useEffect(() => {
      preload().then(
        () => setState('loaded'),
        () => setState('failed'),
      );
    }, []);
    if (known !== undefined) return h(known, props);
    const close = 'onClose' in props ? (props.onClose as () => void) : undefined;
    if (state === 'failed') return <NotLoaded onClose={close} />;
    return close === undefined ? <Loading /> : null;
  }
  return Object.assign(Later, { preload });
}

/** Loads the code of dialogs soon, after the code and the data of the first screen. */
export function usePreload(dialogs: readonly { readonly preload: () => Promise<void> }[]): void {
  useEffect(() => {
    const timer = window.setTimeout(() => {
      // Opening the dialog reports the failure.
      for (const { preload } of dialogs) preload().catch(() => undefined);
    }, PRELOAD_AFTER_MILLISECONDS);
    return () => window.clearTimeout(timer);
  }, [dialogs]);
}

const NOT_LOADED = 'This could not be loaded';

function NotLoaded({ onClose }: { readonly onClose: (() => void) | undefined }) {
  const advice = (
    <>
      <p>The service cannot be reached, or has been updated since this page was opened.</p>
      <Button onClick={() => window.location.reload()}>Reload the page</Button>
    </>
  );
  if (onClose === undefined) return <Empty title={NOT_LOADED}>{advice}</Empty>;
  return (
    <Dialog title={NOT_LOADED} onClose={onClose}>
      {advice}
    </Dialog>
  );
}
