import type { KeyRecord } from '../../../sdk/client.ts';
import { ConfirmDialog, SecretDialog } from '../../components/dialogs/dialog.tsx';
import { SelectField } from '../../components/field.tsx';
import { Moment } from '../../components/moment.tsx';
import { useNow } from '../../data/clock.ts';
import { useKeptState } from '../../data/kept-forms.ts';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';

type Parts<Shown> = { readonly record: Shown; readonly onClose: () => void; readonly onDone: () => void };

/** How long the old key keeps working, in hours. */
const OVERLAPS = [
  ['0.0833', '5 minutes'],
  ['1', '1 hour'],
  ['24', '1 day'],
  ['168', '1 week'],
] as const;

/** Asks how long the old key keeps working, and shows the secret of the new key once. */
export function RollKeyDialog({ record, onClose, onDone }: Parts<Pick<KeyRecord, 'key_id' | 'name'>>) {
  const [hours, setHours] = useKeptState('hours', '24');
  const { keyId, sessionId } = useSession();
  const now = useNow();
  const isOwn = sessionId !== null && record.key_id === keyId;
  const roll = useAction((overlapHours: string, api, options) => {
    const previousUntil = new Date(now + Number(overlapHours) * 3_600_000).toISOString();
    return api.keys.roll(record.key_id, overlapHours === '24' ? {} : { previous_until: previousUntil }, options);
  });
  const submit = async () => {
    if ((await roll.run(hours)) !== undefined) onDone();
  };
  if (roll.result !== undefined) {
    const { key, key_omitted: omitted } = roll.result;
    const title = `The new key of ${record.name}`;
    return <SecretDialog title={title} label="The new key" secret={key} omitted={omitted} onClose={onClose} />;
  }
  return (
    <ConfirmDialog
      title={`Roll ${record.name}`}
      confirm={`Roll ${record.name}`}
      disabled={isOwn}
      pending={roll.pending}
      error={roll.error}
      onConfirm={submit}
      onClose={onClose}
    >
      <p>
        A new key with the same scopes replaces it. Switch to it while both work. If the key has leaked, revoke it
        instead.
      </p>
      <SelectField label="The old key keeps working for" value={hours} onChange={setHours} options={OVERLAPS} />
      {isOwn && (
        <p>
          You are signed in with this key, and your session would end before you could copy the new one. Sign in with
          another key, or run <code>transfer-service keys roll {record.key_id}</code>.
        </p>
      )}
    </ConfirmDialog>
  );
}

/** Asks before it revokes a key, which can't be undone. */
export function RevokeKeyDialog({ record, onClose, onDone }: Parts<KeyRecord>) {
  const { keyId } = useSession();
  const revoke = useAction((id: string, api, options) => api.keys.revoke(id, options));
  const submit = async () => {
    if ((await revoke.run(record.key_id)) === undefined) return;
    onDone();
    onClose();
  };
  return (
    <ConfirmDialog
      title={`Revoke ${record.name}`}
      confirm={`Revoke ${record.name}`}
      kind="danger"
      pending={revoke.pending}
      error={revoke.error}
      onConfirm={submit}
      onClose={onClose}
    >
      <p>
        The key <code>{record.shown_as}</code> is refused within a second, and its sessions end. This cannot be undone.
      </p>
      <p>
        {record.last_used_at === null ? (
          'It was never used.'
        ) : (
          <>
            It was last used <Moment at={record.last_used_at} distance actual />.
          </>
        )}
      </p>
      {record.key_id === keyId && <p>You are signed in with this key: you will be signed out.</p>}
    </ConfirmDialog>
  );
}
