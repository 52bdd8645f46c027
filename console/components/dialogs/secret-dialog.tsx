import { Button } from '../button.tsx';
import { CopyButton } from '../copy-button.tsx';
import { Dialog } from './dialog.tsx';

/** A secret that is shown once: to be copied now. */
export function SecretDialog({
  title,
  label,
  secret,
  omitted,
  onClose,
}: {
  readonly title: string;
  /** What it is: "The key". */
  readonly label: string;
  readonly secret: string | null;
  /** Why a replayed response has no secret. */
  readonly omitted: string | null;
  readonly onClose: () => void;
}) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="form">
        {secret === null ? (
          <p role="status">{omitted ?? 'The secret was only in the first response.'}</p>
        ) : (
          <div class="secret" role="status">
            <b>{label}</b>
            <code>{secret}</code>
            <div>
              <CopyButton visible text={secret} label={`Copy ${label.charAt(0).toLowerCase()}${label.slice(1)}`} />
            </div>
            <span class="quiet">Shown only once: the service does not store it.</span>
          </div>
        )}
        <div class="dialog-actions">
          <Button kind="main" onClick={onClose}>
            Done
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
