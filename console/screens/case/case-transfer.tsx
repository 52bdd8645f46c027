import { TransferServiceError } from '../../../sdk/client.ts';
import { ErrorRecord } from '../../components/error-record.tsx';
import { Section } from '../../components/page.tsx';
import { useSession } from '../../data/session.ts';
import { useOperation } from '../../data/use-operation.ts';
import { readTransfer } from '../transfer/timeline.tsx';
import { TransferActions } from '../transfer/transfer-actions.tsx';
import { TransferContent } from '../transfer/transfer-screen.tsx';

/** Shows the current state of a case's transfer: its timeline, likely duplicates, and possible actions. */
export function CaseTransfer({
  transferId,
  onDone,
}: {
  readonly transferId: string;
  readonly onDone: (text: string) => void;
}) {
  const { can } = useSession();
  const { data, error, stale, reload } = useOperation(
    can('get_transfer_timeline') ? (api, options) => readTransfer(api, transferId, options) : undefined,
    { deps: [transferId], isOwn: true },
  );
  const done = (text: string) => {
    reload();
    onDone(text);
  };
  if (data === undefined && error === undefined) return null;
  const isMissing = error instanceof TransferServiceError && error.Status === 404;
  return (
    <Section title="The transfer now" actions={data !== undefined && <TransferActions shown={data} onDone={done} />}>
      {isMissing && <p>No transfer with this id has been stored yet.</p>}
      {error !== undefined && !isMissing && <ErrorRecord error={error} stale={data !== undefined} />}
      {data !== undefined && <TransferContent shown={data} stale={stale && error !== undefined} onDone={done} />}
    </Section>
  );
}
