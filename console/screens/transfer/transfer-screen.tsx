import './transfer.css';
import { useState } from 'preact/hooks';
import type { ProcessorAttemptRecord, TransferRecord } from '../../../sdk/client.ts';
import { PendingApproval } from '../../components/approval.tsx';
import { Badge, TransferStatus } from '../../components/badge.tsx';
import { Button, WhoMay } from '../../components/button.tsx';
import { Details, Highlights, metadataFacts } from '../../components/details.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { Id, LinkedText } from '../../components/id.tsx';
import { later } from '../../components/later.tsx';
import { Loading } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Money } from '../../components/money.tsx';
import { CardName, KeyName } from '../../components/name.tsx';
import { Page, Section } from '../../components/page.tsx';
import { ContactSupport } from '../../components/support/contact-support.tsx';
import type { Parameters } from '../../data/location.ts';
import { useName } from '../../data/names.ts';
import { useSession } from '../../data/session.ts';
import { useOperation } from '../../data/use-operation.ts';
import { attemptWord, canBeResolved, isOpen, sentenceOf } from '../../format/operators/processors.ts';
import { formatDuration } from '../../format/times.ts';
import { inOrder } from './duplicate-words.ts';
import { Duplicates } from './duplicates.tsx';
import { readTransfer, type ShownTransfer, Timeline } from './timeline.tsx';
import { TransferActions } from './transfer-actions.tsx';
import { actionsFor, mayChangeSoon, titleOf } from './transfer-words.ts';

const ResolveDialog = later(async () => (await import('../../components/dialogs/resolve-dialog.tsx')).ResolveDialog);

const POLL_MILLISECONDS = 5_000;

/** One transfer: whether its money moved, its history and its actions. */
export function TransferScreen({ parameters }: { readonly parameters: Parameters }) {
  const id = parameters.transfer_id ?? '';
  const [done, setDone] = useState('');
  const [isPolled, setPolled] = useState(false);
  const { data, error, stale, reload } = useOperation(
    async (api, options) => {
      const found = await readTransfer(api, id, options);
      setPolled(mayChangeSoon(found.transfer, Date.now()));
      return found;
    },
    { deps: [id], pollMilliseconds: isPolled ? POLL_MILLISECONDS : undefined },
  );
  const isOther = data !== undefined && data.transfer.transfer_id !== id;
  const shown = isOther ? undefined : data;
  const title = useTitle(shown?.transfer);
  const onDone = (text: string): void => {
    setDone(text);
    reload();
  };
  return (
    <Page
      title={shown === undefined ? 'Transfer' : title}
      lead={<Id id={id} kind="transfer" whole />}
      actions={
        shown !== undefined && (
          <>
            <TransferActions shown={shown} onDone={onDone} />
            {shown.transfer.status === 'failed' && <ContactSupport about={{ transfer_id: id }} />}
          </>
        )
      }
    >
      <p class={done === '' ? 'hidden' : 'notice'} role="status">
        {done}
      </p>
      <PendingApproval record={shown?.transfer} />
      {error !== undefined && <ErrorRecord error={error} stale={shown !== undefined} />}
      {shown === undefined ? (
        error === undefined && <Loading />
      ) : (
        <TransferContent shown={shown} stale={stale && error !== undefined} onDone={onDone} />
      )}
    </Page>
  );
}

/** Returns a title with the amount and the name of the card: `Load of 50.00 USD to Priya Raman ··4242`. */
function useTitle(transfer: TransferRecord | undefined): string {
  const { name } = useName('card', transfer?.card_id, transfer?.program_id);
  return transfer === undefined ? '' : titleOf(transfer, name);
}

/** Says what happened to a transfer, with its details, its attempts at the processor, likely duplicates and its timeline. */
export function TransferContent({
  shown,
  stale,
  onDone,
}: {
  readonly shown: ShownTransfer;
  readonly stale: boolean;
  readonly onDone: (text: string) => void;
}) {
  const { transfer, money, steps, likely_duplicates: duplicates, truncated, attempts } = shown;
  const actions = actionsFor(transfer, attempts.length > 0);
  const isOpen = money.moved === 'held' || money.moved === 'unknown';
  return (
    <div class={stale ? 'transfer stale' : 'transfer'}>
      <p class={isOpen ? 'answer unknown' : 'answer'}>
        <LinkedText text={money.sentence} programId={transfer.program_id} />
      </p>
      {actions.length > 0 && <WhoMay operation="reverse_transfer" to={`${actions.join(' or ')} this transfer`} />}
      <TransferFacts transfer={transfer} />
      <Attempts attempts={attempts} onDone={onDone} />
      {duplicates.length > 0 && (
        <Section title="Likely duplicates">
          <Duplicates
            chains={[inOrder([transfer, ...duplicates])]}
            isAtProcessor={attempts.length > 0}
            onDone={onDone}
          />
        </Section>
      )}
      <Section title="What happened">
        <Timeline steps={steps} transfer={transfer} />
        {truncated.map(({ kind, text }) => (
          <p class="quiet" key={kind}>
            {text}
          </p>
        ))}
      </Section>
    </div>
  );
}

function TransferFacts({ transfer }: { readonly transfer: TransferRecord }) {
  const { currency, program_id: programId } = transfer;
  const money = (amount: number) => <Money amount={amount} currency={currency} />;
  return (
    <>
      <Highlights
        facts={[
          {
            name: { load: 'Load', unload: 'Unload', card_to_card: 'Card to card' }[transfer.type],
            value: money(transfer.amount),
          },
          { name: 'Status', value: <TransferStatus transfer={transfer} /> },
        ]}
      />
      <Details
        facts={[
          [
            transfer.type === 'card_to_card' ? 'From card' : 'Card',
            <CardName key="card" id={transfer.card_id} programId={programId} />,
          ],
          transfer.destination_card_id !== null && [
            'To card',
            <CardName key="to" id={transfer.destination_card_id} programId={programId} />,
          ],
          transfer.captured_amount > 0 &&
            transfer.captured_amount !== transfer.amount && ['Moved', money(transfer.captured_amount)],
          transfer.reversed_amount > 0 && ['Reversed', money(transfer.reversed_amount)],
          ['Created', <Moment key="created" at={transfer.created_at} />],
          transfer.created_by !== null && ['Requested by', <KeyName key="by" id={transfer.created_by} />],
          transfer.scheduled_for !== null && ['Scheduled for', <Moment key="due" at={transfer.scheduled_for} />],
          transfer.expires_at !== null &&
            transfer.outcome === 'open' && ['Hold ends', <Moment key="ends" at={transfer.expires_at} />],
          transfer.expires_at !== null &&
            transfer.status === 'expired' && ['Hold expired', <Moment key="expired" at={transfer.expires_at} />],
          transfer.completed_at !== null && ['Completed', <Moment key="completed" at={transfer.completed_at} />],
          transfer.error !== null && [
            'Declined',
            <a key="error" href={`/errors/${transfer.error.Code}`}>
              {transfer.error.Code}
            </a>,
          ],
          transfer.reference !== null && ['Reference', transfer.reference],
          transfer.description !== null && ['Description', transfer.description],
          transfer.idempotency_key !== null && ['Idempotency key', transfer.idempotency_key],
          transfer.request_id !== null && ['Request', <Id key="request" id={transfer.request_id} kind="request" />],
          ...metadataFacts(transfer.metadata),
        ]}
      />
    </>
  );
}

/** Shows what the card's processor did for a transfer, with the newest attempt first. */
function Attempts({
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
  const { can } = useSession();
  const { status, tries, unknown_since: unknownSince, next_at: nextAt, retry_after_seconds: retryAfter } = attempt;
  return (
    <>
      <p>
        <b>
          <Badge tone={attemptWord(status).tone}>{attemptWord(status).word}</Badge>.
        </b>{' '}
        <LinkedText text={sentenceOf(attempt)} linked={can('get_break')} />
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
          retryAfter !== null && ['Try again', `after ${formatDuration(retryAfter * 1000)}, as the processor advises`],
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
