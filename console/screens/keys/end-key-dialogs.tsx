import { useState } from 'preact/hooks';
import type { KeyRecord } from '../../../sdk/client.ts';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { SelectField } from '../../components/field.tsx';
import { Moment } from '../../components/moment.tsx';
import { SecretDialog } from '../../components/secret-dialog.tsx';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';

type Parts = { readonly record: KeyRecord; readonly onClose: () => void; readonly onDone: () => void };

/** How long the old key works on, in hours. */
const OVERLAPS = [
  ['0.0833', '5 minutes'],
  ['1', 'an hour'],
  ['24', 'a day'],
  ['168', 'a week'],
] as const;

/** Asks how long the old key works on, and shows the secret of the new one once. */
export function RollKeyDialog({ record, onClose, onDone }: Parts) {
  const [hours, setHours] = useState('24');
  const { keyId, sessionId } = useSession();
  const isOwn = sessionId !== null && record.key_id === keyId;
  const roll = useAction((overlapHours: string, api, options) => {
    const previousUntil = new Date(Date.now() + Number(overlapHours) * 3_600_000).toISOString();
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
      confirm="Roll the key"
      disabled={isOwn}
      pending={roll.pending}
      error={roll.error}
      onConfirm={submit}
      onClose={onClose}
    >
      <p>
        A new key with the same scopes takes its place. Change whoever uses the old one while both work. If the key has
        leaked, revoke it instead.
      </p>
      <SelectField label="The old key works for another" value={hours} onChange={setHours} options={OVERLAPS} />
      {isOwn && (
        <p>
          This is the key that you are signed in with. Your session would end before you could copy the new one: sign in
          with another key, or roll it with <code>transfer-service keys roll {record.key_id}</code>.
        </p>
      )}
    </ConfirmDialog>
  );
}

/** Asks before a key is revoked, which cannot be undone. */
export function RevokeKeyDialog({ record, onClose, onDone }: Parts) {
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
        Within a second, every process refuses the key <code>{record.shown_as}</code>, and its sessions end. This cannot
        be undone.
      </p>
      <p>
        {record.last_used_at === null ? (
          'It was never used.'
        ) : (
          <>
            It was last used <Moment at={record.last_used_at} distance />.
          </>
        )}
      </p>
      {record.key_id === keyId && <p>This is the key that you are signed in with: you will be signed out.</p>}
    </ConfirmDialog>
  );
}
