import { useEffect, useState } from 'preact/hooks';
import { Button, ButtonLink } from '../../components/button.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { TextField } from '../../components/field.tsx';
import { client, clientWithKey } from '../../data/client.ts';
import { type Entrance, linkOf, useEntrance } from '../../data/sign-in-path.ts';

/**
 * Offers the OpenID provider if the service has one, and asks for a key, on an empty page or over a view whose session has
 * ended. The key is exchanged for a session. Until then, it is only in the memory of this form.
 */
export function SignInScreen({
  reason,
  mode,
  onSignedIn,
}: {
  readonly reason: 'none' | 'ended';
  /** The mode of the service, if it is known. A sandbox may need no key. */
  readonly mode?: 'sandbox' | 'live' | undefined;
  /** Called once there is a session. */
  readonly onSignedIn: () => void;
}) {
  const [key, setKey] = useState('');
  const [pending, setPending] = useState(false);
  const [error, setError] = useState<Error | undefined>(undefined);
  const entrance = useEntrance();
  const link = linkOf(entrance);
  const sent = key.trim();
  const problem = sent === '' || /^ts_[0-9a-f]{16}_[0-9a-f]{72}$/.test(sent) ? undefined : NOT_A_KEY;

  useEffect(() => {
    // Otherwise the window would keep the title of the signed-out view.
    if (reason === 'none') document.title = 'Sign in · Transfer Service';
  }, [reason]);

  const begin = async (session: () => Promise<unknown>) => {
    if (pending) return;
    setPending(true);
    setError(undefined);
    try {
      await session();
      setKey('');
      onSignedIn();
    } catch (thrown) {
      setError(thrown instanceof Error ? thrown : new Error(String(thrown)));
    } finally {
      setPending(false);
    }
  };
  const signIn = async (event: Event) => {
    event.preventDefault();
    if (sent !== '' && problem === undefined) await begin(() => clientWithKey(sent).sessions.create());
  };

  const form = (
    <form class="form" onSubmit={signIn}>
      {reason === 'ended' && <p>Your view is kept. Sign in with the same key to continue where you were.</p>}
      {link !== undefined && (
        <>
          <p>
            <ButtonLink href={link} kind="main">
              Sign in with {entrance.provider ?? 'your organization'}
            </ButtonLink>
          </p>
          <p class="quiet">Or with a key:</p>
        </>
      )}
      <TextField
        label="API key"
        type="password"
        value={key}
        onInput={setKey}
        required
        autoFocus
        problem={problem}
        hint="Exchanged for a session in this browser, and not stored."
      />
      {error !== undefined && <ErrorRecord error={error} />}
      <div class="dialog-actions">
        <Button
          type="submit"
          kind={link === undefined ? 'main' : 'plain'}
          pending={pending}
          disabled={problem !== undefined}
        >
          Sign in
        </Button>
        {mode === 'sandbox' && <Button onClick={onSignedIn}>Continue without a key</Button>}
      </div>
    </form>
  );
  if (reason === 'ended') {
    return (
      <section class="sign-in over">
        <h2 id="sign-in">Your session has ended</h2>
        {form}
      </section>
    );
  }
  return (
    <main class="sign-in">
      <h1>Sign in to Transfer Service</h1>
      <p class="quiet">
        {window.location.host}
        {mode === 'sandbox' && ', a sandbox'}
      </p>
      {form}
      {mode === 'sandbox' && (
        <section class="form" aria-labelledby="people">
          <h2 id="people">Sign in as</h2>
          <p class="quiet">
            Every sandbox has four people with different roles. Sign in as one of them to see what that role can do.
          </p>
          <div class="dialog-actions">
            {PEOPLE.map(([person, label]) => (
              <Button key={person} pending={pending} onClick={() => begin(() => client.sandbox.signInAs({ person }))}>
                {label}
              </Button>
            ))}
          </div>
        </section>
      )}
      <Help entrance={entrance} />
      <p class="sign-in-elsewhere">
        <a href="/">Transfer Service</a> <a href="/guides">Guides</a> <a href="/docs">API reference</a>{' '}
        <a href="/errors">Error codes</a>
      </p>
    </main>
  );
}

/** Says whom to ask, and how keys are created. */
function Help({ entrance: { path, support } }: { readonly entrance: Entrance }) {
  return (
    <section class="sign-in-help" aria-labelledby="help">
      <h2 id="help">{path === undefined ? 'Without a key' : 'If neither works'}</h2>
      <ul>
        {support !== undefined && (
          <li>
            Ask <Contact of={support} />. Never send a key.
          </li>
        )}
        <li>
          Administrators create keys in the console, or with
          <code>{'transfer-service keys create \\\n  --role support --all-programs --name …'}</code>
        </li>
        <li>
          For the first key, use the machine of the service:
          <code>transfer-service operator-key create --name …</code>
        </li>
        <li>
          Guides: <a href="/guides/keys">API keys</a>
          {path !== undefined && (
            <>
              , <a href="/guides/single-sign-on">Single sign-on</a>
            </>
          )}
        </li>
      </ul>
    </section>
  );
}

/** Shows a contact, with a link if it is an email address or a URL. */
function Contact({ of: contact }: { readonly of: string }) {
  if (/^https?:\/\/\S+$/.test(contact)) return <a href={contact}>{contact}</a>;
  return /^[^\s@]+@[^\s@]+$/.test(contact) ? <a href={`mailto:${contact}`}>{contact}</a> : <span>{contact}</span>;
}

const PEOPLE = [
  ['operator', 'Olivia, operator'],
  ['treasurer', 'Tariq, treasurer'],
  ['approver', 'Amara, approver'],
  ['support', 'Sofia, support'],
] as const;

const NOT_A_KEY = 'A key begins with ts_ and has 92 characters. Copy the whole key, and nothing else.';
