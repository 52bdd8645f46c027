import type { TimelineStep } from '../../../sdk/client.ts';
import { Badge, type Tone } from '../../components/badge.tsx';
import { Id, LinkedText } from '../../components/id.tsx';
import { Moment } from '../../components/moment.tsx';
import { Money } from '../../components/money.tsx';

const KINDS: Readonly<Record<TimelineStep['kind'], readonly [text: string, tone: Tone]>> = {
  request: ['Request', 'plain'],
  scheduled: ['Scheduled', 'waiting'],
  hold: ['Hold', 'waiting'],
  posting: ['Posting', 'good'],
  release: ['Release', 'quiet'],
  canceled: ['Canceled', 'quiet'],
  expired: ['Expired', 'quiet'],
  failed: ['Failed', 'bad'],
  reversal: ['Reversal', 'plain'],
  event: ['Event', 'plain'],
  webhook_attempt: ['Webhook', 'plain'],
  webhook_waiting: ['Waiting', 'waiting'],
  error: ['Error', 'bad'],
};

/** The steps of a transfer, oldest first: the ids of each lead on. */
export function Timeline({ steps, currency }: { readonly steps: readonly TimelineStep[]; readonly currency: string }) {
  return (
    <ol class="timeline">
      {steps.map((step, index) => (
        <li key={`${step.kind} ${index}`}>
          <Step step={step} currency={currency} />
        </li>
      ))}
    </ol>
  );
}

function Step({ step, currency }: { readonly step: TimelineStep; readonly currency: string }) {
  const [word, tone] = KINDS[step.kind] ?? [step.kind, 'plain'];
  return (
    <>
      <div class="timeline-when">
        <Moment at={step.at} />
      </div>
      <div class="timeline-kind">
        <Badge tone={toneOf(step, tone)}>{word}</Badge>
      </div>
      <div class="timeline-what">
        <p>
          <LinkedText text={step.text} />
        </p>
        <Balances step={step} currency={currency} />
        <Links step={step} />
      </div>
    </>
  );
}

/** An attempt that was not delivered is as bad as an error. */
function toneOf({ kind, status }: TimelineStep, tone: Tone): Tone {
  if (kind !== 'webhook_attempt') return tone;
  return status !== null && status >= 200 && status < 300 ? 'good' : 'bad';
}

function Balances({ step: { balances }, currency }: { readonly step: TimelineStep; readonly currency: string }) {
  if (balances.length === 0) return null;
  return (
    <ul class="timeline-balances">
      {balances.map(({ card_id, before, after }) => (
        <li key={card_id}>
          <Id id={card_id} kind="card" /> had <Money amount={before} currency={currency} />, then{' '}
          <Money amount={after} currency={currency} />
        </li>
      ))}
    </ul>
  );
}

function Links({ step }: { readonly step: TimelineStep }) {
  const { request_id, webhook_id, code, status } = step;
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
    webhook_id !== null && (
      <span key="webhook">
        Webhook <Id id={webhook_id} kind="webhook" />
      </span>
    ),
  ].filter(Boolean);
  return links.length === 0 ? null : <p class="timeline-links">{links}</p>;
}
