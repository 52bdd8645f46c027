import { useState } from 'preact/hooks';
import type { WebhookRecord } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { type Fact, Facts } from '../../components/facts.tsx';
import { Id } from '../../components/id.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Page, Section } from '../../components/page.tsx';
import { Progress } from '../../components/progress.tsx';
import type { Parameters } from '../../data/parameters.ts';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';
import { useOperation } from '../../data/use-operation.ts';
import { formatCount } from '../../format/amounts.ts';
import { AttemptsSection } from './attempts-section.tsx';
import { DisableDialog, EnableDialog, ReplayDialog } from './webhook-dialogs.tsx';

const POLL_MILLISECONDS = 5_000;

/** One webhook: how it stands, what was sent and the responses; test it, send events again, disable and enable it. */
export function WebhookScreen({ parameters }: { readonly parameters: Parameters }) {
  const { webhook_id: id = '' } = parameters;
  const webhook = useOperation((api, options) => api.webhooks.get(id, options), {
    deps: [id],
    pollMilliseconds: POLL_MILLISECONDS,
    // A paused webhook continues with its next attempt.
    changesAt: ({ next_attempt_at }) => next_attempt_at,
  });
  return (
    <Page title="Webhook" lead={<Id id={id} kind="webhook" whole />}>
      <Loaded state={webhook}>{(record) => <WebhookFacts record={record} />}</Loaded>
      <AttemptsSection webhookId={id} />
    </Page>
  );
}

type Open = 'replay' | 'disable' | 'enable' | undefined;

function WebhookFacts({ record }: { readonly record: WebhookRecord }) {
  const { can } = useSession();
  const [open, setOpen] = useState<Open>(undefined);
  const sendTest = useAction((webhookId: string, api, options) => api.webhooks.test(webhookId, options));
  const close = () => setOpen(undefined);
  const { status, replay } = record;
  const actions = can('update_webhook') && (
    <>
      <Button onClick={() => void sendTest.run(record.webhook_id)} pending={sendTest.pending}>
        Send a test event
      </Button>
      <Button onClick={() => setOpen('replay')}>Replay a period</Button>
      {status !== 'enabled' && <Button onClick={() => setOpen('enable')}>Enable</Button>}
      {status !== 'disabled' && (
        <Button kind="danger" onClick={() => setOpen('disable')}>
          Disable
        </Button>
      )}
    </>
  );
  return (
    <Section title="State" actions={actions}>
      {sendTest.error !== undefined && <ErrorRecord error={sendTest.error} />}
      {sendTest.result !== undefined && (
        <p role="status">
          The test event <Id id={sendTest.result.event_id} kind="event" /> is sent as soon as possible; see the attempts
          below.
        </p>
      )}
      {replay !== null && replay.state === 'running' && (
        <Progress
          label={`Replay: ${formatCount(replay.sent)} sent`}
          value={replay.position}
          max={replay.until_position}
        />
      )}
      <Facts facts={factsOf(record)} />
      {open === 'replay' && <ReplayDialog record={record} onClose={close} />}
      {open === 'disable' && <DisableDialog record={record} onClose={close} />}
      {open === 'enable' && <EnableDialog record={record} onClose={close} />}
    </Section>
  );
}

const REASONS: Readonly<Record<string, string>> = {
  requested: 'as somebody asked',
  gone: 'because the URL responded with 410 Gone',
  failing: 'because it failed for too long',
};

function factsOf(record: WebhookRecord): readonly Fact[] {
  const { status, status_reason: reason, types, dead, backlog, header_names: headers } = record;
  return [
    [
      'State',
      <>
        <Badge>{status}</Badge> {reason !== null && REASONS[reason]}
      </>,
    ],
    ['URL', <span class="url">{record.url}</span>],
    record.description !== null && ['Description', record.description],
    ['Sends', `${types === null ? 'all events' : types.join(', ')}, ${record.payload}, ${record.order}`],
    ['Waiting', `${formatCount(backlog)} events after position ${formatCount(record.position)}`],
    ['Given up', dead === 0 ? 'none' : `${formatCount(dead)} events: replay the failed ones to send them`],
    ['Last delivery', <Moment at={record.last_success_at} distance />],
    ['Last failure', <Moment at={record.last_failure_at} distance />],
    record.failing_since !== null && ['Failing since', <Moment at={record.failing_since} />],
    record.next_attempt_at !== null && ['Next attempt', <Moment at={record.next_attempt_at} distance />],
    headers.length > 0 && ['Headers', headers.join(', ')],
    ['Created', <Moment at={record.created_at} />],
  ];
}
