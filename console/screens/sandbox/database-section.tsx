import { useState } from 'preact/hooks';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/dialogs/dialog.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { Section } from '../../components/page.tsx';
import { useAction } from '../../data/use-action.ts';
import { useOperation } from '../../data/use-operation.ts';

const POLL_MILLISECONDS = 3_000;

/** Stops and starts the sandbox's database, to try what the service does without it. */
export function DatabaseSection() {
  const status = useOperation((api, { programId: _, ...options }) => api.status.get(options), {
    pollMilliseconds: POLL_MILLISECONDS,
  });
  const [isAsking, setAsking] = useState(false);
  const stop = useAction((_: null, api, { programId: _program, idempotencyKey: _key, ...options }) =>
    api.sandbox.stopDatabase(options),
  );
  const start = useAction((_: null, api, { programId: _program, idempotencyKey: _key, ...options }) =>
    api.sandbox.startDatabase(options),
  );
  const state = status.data?.database.state;
  const isUp = state === 'up';
  const stopNow = async () => {
    if ((await stop.run(null)) === undefined) return;
    setAsking(false);
    status.reload();
  };
  const startNow = async () => {
    if ((await start.run(null)) !== undefined) status.reload();
  };
  return (
    <Section title="Database">
      <p role="status">
        Database of this sandbox:{' '}
        {state === undefined ? 'unknown' : <Badge tone={isUp ? 'good' : 'bad'}>{isUp ? 'running' : state}</Badge>}
      </p>
      <div class="page-actions">
        <Button kind="danger" pending={stop.pending} onClick={() => setAsking(true)}>
          Stop the database
        </Button>
        <Button pending={start.pending} onClick={() => void startNow()}>
          Start the database
        </Button>
      </div>
      {start.error !== undefined && <ErrorRecord error={start.error} />}
      {isAsking && (
        <ConfirmDialog
          title="Stop the database"
          confirm="Stop the database"
          kind="danger"
          pending={stop.pending}
          error={stop.error}
          onConfirm={stopNow}
          onClose={() => setAsking(false)}
        >
          <p>
            Every operation of this sandbox fails until it is started again, here or with{' '}
            <code>transfer-service sandbox database start</code>. Nothing is lost.
          </p>
        </ConfirmDialog>
      )}
    </Section>
  );
}
