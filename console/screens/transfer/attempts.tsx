import { useState } from 'preact/hooks';
import type { ProcessorAttemptRecord } from '../../../sdk/client.ts';
import { AttemptStatus } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Details } from '../../components/details.tsx';
import { ResolveDialog } from '../../components/dialogs/resolve-dialog.tsx';
import { Id } from '../../components/id.tsx';
import { Moment } from '../../components/moment.tsx';
import { KeyName } from '../../components/name.tsx';
import { Section } from '../../components/page.tsx';
import { useSession } from '../../data/session.ts';
import { canBeResolved, isOpen, sentenceOf } from '../../format/operators/processors.ts';
import { formatDuration } from '../../format/times.ts';

/** Shows what the card's processor did for a transfer, with the newest attempt first. */
export function Attempts({
  attempts,
  onDone,
}: {
  readonly attempts: readonly ProcessorAttemptRecord[];
  readonly onDone: (text: string) => void;
}) {
  const { can } = useSession();
  const [resolved, setResolved] = useState<ProcessorAttemptRecord | undefined>(undefined);
  const [latest] = attempts;
  if (latest === undefined) return null;
  const isResolvable = can('resolve_attempt') && canBeResolved(latest.status);
  return (
    <Section
      title="At the processor"
      actions={isResolvable && <Button onClick={() => setResolved(latest)}>Resolve…</Button>}
    >
      {attempts.map((attempt) => (
        <Attempt key={attempt.attempt_id} attempt={attempt} />
      ))}
      {resolved !== undefined && (
        <ResolveDialog
          attempt={resolved}
          onDone={(text) => {
            setResolved(undefined);
            onDone(text);
          }}
          onClose={() => setResolved(undefined)}
        />
      )}
    </Section>
  );
}

function Attempt({ attempt }: { readonly attempt: ProcessorAttemptRecord }) {
  const { status, tries, unknown_since: unknownSince, next_at: nextAt, retry_after_seconds: retryAfter } = attempt;
  return (
    <>
      <p>
        <b>
          <AttemptStatus status={status} />.
        </b>{' '}
        {sentenceOf(attempt)}
      </p>
      <Details
        facts={[
          ['Connector', attempt.connector_id],
          attempt.sent_at !== null && [
            tries > 1 ? `Sent ${tries} times, last` : 'Sent',
            <Moment key="sent" at={attempt.sent_at} />,
          ],
          unknownSince !== null && [
            'Unknown since',
            <>
              <Moment at={unknownSince} />, <Moment at={unknownSince} distance />
            </>,
          ],
          isOpen(status) && [
            nextName(status),
            nextAt === null ? 'When an operator resolves it' : <Moment key="next" at={nextAt} />,
          ],
          attempt.code !== null && ["The processor's code", <code key="code">{attempt.code}</code>],
          attempt.processor_reference !== null && [
            "The processor's reference",
            <Id key="reference" id={attempt.processor_reference} whole />,
          ],
          retryAfter !== null && ['Try again', `after ${formatDuration(retryAfter * 1000)}, says the processor`],
          attempt.resolved_by !== null && ['Resolved by', <KeyName key="by" id={attempt.resolved_by} />],
          ['Attempt', <Id key="attempt" id={attempt.attempt_id} whole />],
        ]}
      />
    </>
  );
}

function nextName(status: ProcessorAttemptRecord['status']): string {
  if (status === 'ready') return 'Sent next';
  if (status === 'sent') return 'Outcome unknown if no answer by';
  if (status === 'attention') return 'Ends';
  return status === 'reversing' ? 'Next request to undo it' : 'Asked again';
}
