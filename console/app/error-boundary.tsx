import { Component, type ComponentChildren } from 'preact';
import { Button } from '../components/button.tsx';
import { Page } from '../components/page.tsx';

type State = { readonly error: Error | undefined };

/** Shows an error that a screen threw, instead of an empty page; the rest of the console keeps working. */
export class ErrorBoundary extends Component<{ readonly children: ComponentChildren }, State> {
  override state: State = { error: undefined };

  static override getDerivedStateFromError(thrown: unknown): State {
    return { error: thrown instanceof Error ? thrown : new Error(String(thrown)) };
  }

  override render({ children }: { readonly children: ComponentChildren }, { error }: State) {
    if (error === undefined) return children;
    return (
      <Page title="This screen failed">
        <div class="error-record" role="alert">
          <p class="error-message">{error.message}</p>
          <p>
            The console failed, not the service: no money moved. Reload the page; if it fails again, tell support what
            you did.
          </p>
          <p class="error-facts">
            <Button onClick={() => window.location.reload()}>Reload</Button>
          </p>
        </div>
      </Page>
    );
  }
}
