import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ErrorRecord } from '../components/error-record.tsx';
import { Progress } from '../components/loaded.tsx';
import { announceSignIn, onUnauthenticated } from '../data/client.ts';
import { takeKeptForms } from '../data/kept-forms.ts';
import { readSession, type Session, SessionContext } from '../data/session.ts';
import { SignInScreen } from '../screens/sign-in/sign-in-screen.tsx';
import { Shell } from './shell.tsx';

/** Shows the console. When a session ends, the sign-in form covers the open view. */
export function App() {
  const [session, setSession] = useState<Session | undefined>(undefined);
  const [state, setState] = useState<'loading' | 'signed out' | 'signed in'>('loading');
  const [error, setError] = useState<Error | undefined>(undefined);
  const [reads, setReads] = useState(0);
  const mode = useRef<Session['mode'] | undefined>(undefined);
  const reload = useCallback(() => setReads((count) => count + 1), []);

  useEffect(() => {
    const leaving = new AbortController();
    readSession(leaving.signal).then(
      (found) => {
        setError(undefined);
        if (found !== undefined) {
          takeKeptForms();
          setSession(found);
        }
        mode.current = found?.mode ?? mode.current;
        setState(found === undefined ? 'signed out' : 'signed in');
        if (found !== undefined) announceSignIn();
      },
      (thrown: unknown) => {
        if (!leaving.signal.aborted) setError(thrown instanceof Error ? thrown : new Error(String(thrown)));
      },
    );
    return () => leaving.abort();
  }, [reads]);
  useEffect(() => onUnauthenticated(() => setState('signed out')), []);

  const leave = useCallback(() => {
    setSession(undefined);
    setState('signed out');
  }, []);

  if (session !== undefined) {
    const hasEnded = state === 'signed out';
    return (
      <SessionContext.Provider value={{ session, reload, leave }}>
        <div inert={hasEnded}>
          <Shell key={`${session.keyId ?? session.personId} ${session.programId}`} />
        </div>
        {hasEnded && (
          <SignInOverlay>
            <SignInScreen reason="ended" mode={session.mode} onSignedIn={reload} />
          </SignInOverlay>
        )}
      </SessionContext.Provider>
    );
  }
  return (
    <div class="alone">
      {error !== undefined && <ErrorRecord error={error} />}
      {state === 'loading' && error === undefined && <Progress label="Opening the console" />}
      {state === 'signed out' && <SignInScreen reason="none" mode={mode.current} onSignedIn={reload} />}
    </div>
  );
}

/** Covers a view and its open dialogs until the user signs in again. Escape doesn't close it. */
function SignInOverlay({ children }: { readonly children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const { current } = dialog;
    current?.showModal();
    current?.querySelector('input')?.focus();
    const stay = (event: Event) => event.preventDefault();
    current?.addEventListener('cancel', stay);
    return () => current?.close();
  }, []);
  return (
    <dialog ref={dialog} class="curtain" aria-labelledby="sign-in">
      {children}
    </dialog>
  );
}
