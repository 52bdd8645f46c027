import { Button } from '../components/button.tsx';
import { Details } from '../components/details.tsx';
import { Dialog } from '../components/dialogs/dialog.tsx';
import { ErrorRecord } from '../components/error-record.tsx';
import { Moment } from '../components/moment.tsx';
import { KeyName, ProgramName } from '../components/name.tsx';
import { useSession } from '../data/session.ts';
import { useAction } from '../data/use-action.ts';

/** The signed-in caller, with their permissions and a button to sign out. */
export function CallerDialog({ onClose }: { readonly onClose: () => void }) {
  const { caller, name, keyId, role, scopes, programId, allPrograms, sessionId, endsAt, leave } = useSession();
  const signOut = useAction((_: null, api, { programId: _program, ...options }) => api.sessions.delete(options), {
    endsSession: true,
  });
  const end = async () => {
    if ((await signOut.run(null)) !== undefined) leave();
  };
  return (
    <Dialog title={caller === 'sandbox' ? 'No key' : (name ?? 'A key')} onClose={onClose}>
      <div class="form">
        {caller === 'sandbox' && (
          <p>
            Anyone on this machine can use this sandbox without a key. Sign in with a key to see what its holder sees.
          </p>
        )}
        <Details
          facts={[
            ['Role', role ?? 'custom scopes'],
            keyId !== null && ['Key', <KeyName key="key" id={keyId} />],
            ['Card program', allPrograms ? 'all' : <ProgramName key="program" id={programId} />],
            endsAt !== null && ['Session ends', <Moment key="ends" at={endsAt} actual />],
          ]}
        />
        <p class="quiet">{scopes.join(', ')}</p>
        {signOut.error !== undefined && <ErrorRecord error={signOut.error} />}
        <div class="dialog-actions">
          {sessionId === null ? (
            <Button onClick={leave}>Sign in with a key</Button>
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
