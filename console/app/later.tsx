import { type FunctionComponent, h } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Button } from '../components/button.tsx';
import { Dialog } from '../components/dialogs/dialog.tsx';

/** The longest time before the code of dialogs is loaded that the user has not opened yet, in milliseconds. */
const PRELOAD_AFTER_MILLISECONDS = 1_000;

/**
 * A dialog whose code no screen needs. It is loaded soon after the first screen, or when the dialog is opened before that.
 * `later(async () => (await import('./caller-dialog.tsx')).CallerDialog)`
 */
export function later<Props extends { readonly onClose: () => void }>(
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
    return state === 'failed' ? <NotLoaded onClose={props.onClose} /> : null;
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

function NotLoaded({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="This could not be loaded" onClose={onClose}>
      <div class="form">
        <p>The service cannot be reached, or has been updated since this page was opened.</p>
        <div class="dialog-actions">
          <Button onClick={() => window.location.reload()}>Reload the page</Button>
          <Button onClick={onClose}>Close</Button>
        </div>
      </div>
    </Dialog>
  );
}
