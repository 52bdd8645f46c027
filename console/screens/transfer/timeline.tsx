import type {
  CallOptions,
  ProcessorAttemptRecord,
  TimelineStep,
  TransferRecord,
  TransferService,
  TransferTimeline,
} from '../../../sdk/client.ts';
import { Badge, type Tone } from '../../components/badge.tsx';
import { Id, LinkedText } from '../../components/id.tsx';
import { Moment } from '../../components/moment.tsx';
import { Money } from '../../components/money.tsx';
import { CardName, WebhookName } from '../../components/name.tsx';
import { backgroundClient } from '../../data/client.ts';

const KINDS: Readonly<Record<TimelineStep['kind'], readonly [text: string, tone: Tone]>> = {
  request: ['Request', 'plain'],
  scheduled: ['Scheduled', 'waiting'],
  hold: ['Hold', 'waiting'],
  processor: ['Processor', 'plain'],
  posting: ['Posting', 'good'],
  release: ['Release', 'quiet'],
  canceled: ['Canceled', 'quiet'],
  expired: ['Expired', 'quiet'],
  failed: ['Failed', 'bad'],
  reversal: ['Reversal', 'plain'],
  event: ['Event', 'plain'],
  webhook_attempt: ['Webhook', 'plain'],
  webhook_waiting: ['Waiting', 'waiting'],
  error: ['Declined', 'plain'],
};

/** Lists the steps of a transfer, oldest first, with links. */
export function Timeline({
  steps,
  transfer,
}: {
  readonly steps: readonly TimelineStep[];
  readonly transfer: TransferRecord;
}) {
  return (
    <ol class="timeline">
      {steps.map((step, index) => (
        <li key={`${step.kind} ${index}`}>
          <Step step={step} transfer={transfer} />
        </li>
      ))}
    </ol>
  );
}

type StepParts = { readonly step: TimelineStep; readonly transfer: Pick<TransferRecord, 'currency' | 'program_id'> };

function Step({ step, transfer }: StepParts) {
  const [word, tone] = KINDS[step.kind] ?? [step.kind, 'plain'];
  return (
    <>
      <div class="timeline-when">
        <Moment at={step.at} clock />
      </div>
      <div class="timeline-kind">
        <Badge tone={toneOf(step, tone)}>{step.kind === 'error' && (step.status ?? 0) >= 500 ? 'Failed' : word}</Badge>
      </div>
      <div class="timeline-what">
        <p>
          <LinkedText text={step.text} programId={transfer.program_id} />
        </p>
        <Balances step={step} transfer={transfer} />
        <Links step={step} />
      </div>
    </>
  );
}

/** Failed deliveries and errors of the service are faults. Refusals by a rule are not. */
function toneOf({ kind, status }: TimelineStep, tone: Tone): Tone {
  if (kind === 'error' && (status ?? 0) >= 500) return 'bad';
  if (kind !== 'webhook_attempt') return tone;
  return status !== null && status >= 200 && status < 300 ? 'good' : 'bad';
}

function Balances({ step: { balances }, transfer: { currency, program_id: programId } }: StepParts) {
  if (balances.length === 0) return null;
  return (
    <ul class="timeline-balances">
      {balances.map(({ card_id, before, after }) => (
        <li key={card_id}>
          <CardName id={card_id} programId={programId} plain /> had <Money amount={before} currency={currency} />, then{' '}
          <Money amount={after} currency={currency} />
        </li>
      ))}
    </ul>
  );
}

function Links({ step }: { readonly step: TimelineStep }) {
  const { request_id, webhook_id, code, status, text } = step;
  const links = [
    code !== null && (
      <span key="code">
        {status} <a href={`/errors/${encodeURIComponent(code)}`}>{code}</a>
      </span>
    ),
    request_id !== null && (
      <span key="request">
        Request <Id id={request_id} kind="request" />
      </span>
    ),
    webhook_id !== null && !text.includes(webhook_id) && (
      <span key="webhook">
        Webhook <WebhookName id={webhook_id} />
      </span>
    ),
  ].filter(Boolean);
  return links.length === 0 ? null : <p class="timeline-links">{links}</p>;
}

export type ShownTransfer = TransferTimeline & {
  /** Newest first. Empty if the money of its cards is in this ledger. */
  readonly attempts: readonly ProcessorAttemptRecord[];
};

export async function readTransfer(api: TransferService, id: string, options: CallOptions): Promise<ShownTransfer> {
  const [timeline, { data: attempts }] = await Promise.all([
    api.transfers.timeline(id, options),
    // If the transfer does not exist, the timeline reports it.
    backgroundClient.transfers.attempts(id, options),
  ]);
  return { ...timeline, attempts };
}
