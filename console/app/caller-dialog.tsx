import { Button } from '../components/button.tsx';
import { Details } from '../components/details.tsx';
import { Dialog } from '../components/dialogs/dialog.tsx';
import { ErrorRecord } from '../components/error-record.tsx';
import { Moment } from '../components/moment.tsx';
import { KeyName, ProgramName } from '../components/name.tsx';
import { useSession } from '../data/session.ts';
import { readEntrance } from '../data/sign-in-path.ts';
import { useAction } from '../data/use-action.ts';

/** The page after signing out. Opening it also signs the caller out at the OpenID provider, if the provider offers that. */
const SIGNED_OUT = '/console/signed-out?provider=1';

/** Shows the signed-in caller with their permissions, and lets them sign out. */
export function CallerDialog({ onClose }: { readonly onClose: () => void }) {
  const { caller, name, keyId, personId, role, scopes, programId, allPrograms, sessionId, endsAt, leave } =
    useSession();
  const signOut = useAction((_: null, api, { programId: _program, ...options }) => api.sessions.delete(options), {
    endsSession: true,
  });
  const end = async () => {
    if ((await signOut.run(null)) === undefined) return;
    // The provider would sign a person in again at once, so it must also sign them out.
    if (personId !== null && (await readEntrance()).path !== undefined) window.location.assign(SIGNED_OUT);
    else leave();
  };
  return (
    <Dialog
      title={caller === 'sandbox' ? 'No key' : (name ?? (personId === null ? 'A key' : 'A person'))}
      onClose={onClose}
    >
      <div class="form">
        {caller === 'sandbox' && (
          <p>
            Anyone on this machine can use this sandbox without a key. Sign in with a key, or as one of four people, to
            see what they see.
          </p>
        )}
        <Details
          facts={[
            ['Role', role ?? 'custom scopes'],
            keyId !== null && ['Key', <KeyName key="key" id={keyId} />],
            personId !== null && ['Person', <code key="person">{personId}</code>],
            ['Card program', allPrograms ? 'all' : <ProgramName key="program" id={programId} />],
            endsAt !== null && ['Session ends', <Moment key="ends" at={endsAt} actual />],
          ]}
        />
        <p class="quiet">{scopes.join(', ')}</p>
        {signOut.error !== undefined && <ErrorRecord error={signOut.error} />}
        <div class="dialog-actions">
          {sessionId === null ? (
            <Button onClick={leave}>Sign in</Button>
          ) : (
            <Button onClick={end} pending={signOut.pending}>
              Sign out
            </Button>
          )}
          <Button onClick={onClose}>Close</Button>
        </div>
      </div>
    </Dialog>
  );
}
