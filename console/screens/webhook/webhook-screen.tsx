import type { ComponentProps } from 'preact';
import { useState } from 'preact/hooks';
import type { WebhookRecord } from '../../../sdk/client.ts';
import { Actions } from '../../components/actions.tsx';
import { WhoMay } from '../../components/button.tsx';
import { Details, type Fact, Highlights } from '../../components/details.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { Id } from '../../components/id.tsx';
import { Loaded, Progress } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Page, Section } from '../../components/page.tsx';
import { WebhookState } from '../../components/webhook-state.tsx';
import type { Parameters } from '../../data/location.ts';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';
import { useOperation } from '../../data/use-operation.ts';
import { formatCount } from '../../format/amounts.ts';
import { nameOfWebhook } from '../../format/names.ts';
import { AttemptsSection } from './attempts-section.tsx';
import {
  DeleteDialog,
  DisableDialog,
  EditDialog,
  EnableDialog,
  ReplayDialog,
  RollSecretDialog,
} from './webhook-dialogs.tsx';

const POLL_MILLISECONDS = 5_000;

/** One webhook: its state, its deliveries, and every change that the API allows. */
export function WebhookScreen({ parameters }: { readonly parameters: Parameters }) {
  const { webhook_id: id = '' } = parameters;
  const webhook = useOperation((api, options) => api.webhooks.get(id, options), {
    deps: [id],
    pollMilliseconds: POLL_MILLISECONDS,
    // A paused webhook may continue with its next attempt, so the screen polls just after that.
    changesAt: ({ next_attempt_at }) => next_attempt_at,
  });
  return (
    <Page
      title={webhook.data === undefined ? 'Webhook' : nameOfWebhook(webhook.data)}
      lead={<Id id={id} kind="webhook" whole />}
    >
      <Loaded state={webhook}>{(record) => <WebhookFacts record={record} />}</Loaded>
      <AttemptsSection webhookId={id} />
    </Page>
  );
}

const DIALOGS = {
  replay: ReplayDialog,
  disable: DisableDialog,
  enable: EnableDialog,
  edit: EditDialog,
  roll: RollSecretDialog,
  delete: DeleteDialog,
} as const;

function WebhookFacts({ record }: { readonly record: WebhookRecord }) {
  const { can } = useSession();
  const [open, setOpen] = useState<keyof typeof DIALOGS | undefined>(undefined);
  const sendTest = useAction((webhookId: string, api, options) => api.webhooks.test(webhookId, options));
  const { status, replay } = record;
  const OpenDialog = open === undefined ? undefined : DIALOGS[open];
  const actions = can('update_webhook') && (
    <Actions
      actions={[
        {
          text: 'Enable',
          whyNot: status === 'enabled' ? 'The webhook is already enabled.' : undefined,
          onChoose: () => setOpen('enable'),
        },
        {
          text: 'Send test event',
          pending: sendTest.pending,
          onChoose: () => void sendTest.run(record.webhook_id),
        },
        { text: 'Replay', whyNot: whyNotReplay(record), onChoose: () => setOpen('replay') },
        { text: 'Edit', onChoose: () => setOpen('edit') },
        { text: 'Roll secret', onChoose: () => setOpen('roll') },
        {
          text: 'Disable',
          whyNot: status === 'disabled' ? 'The webhook is already disabled.' : undefined,
          isDanger: true,
          onChoose: () => setOpen('disable'),
        },
        { text: 'Delete', isDanger: true, onChoose: () => setOpen('delete') },
      ]}
    />
  );
  return (
    <Section title="State" actions={actions}>
      {sendTest.error !== undefined && <ErrorRecord error={sendTest.error} />}
      {sendTest.result !== undefined && (
        <p role="status">
          Test event <Id id={sendTest.result.event_id} kind="event" /> is on its way. The result appears below.
        </p>
      )}
      {replay !== null && replay.state === 'running' && (
        <Progress
          label={`Replay: ${formatCount(replay.sent)} sent`}
          value={replay.position}
          max={replay.until_position}
        />
      )}
      <Highlights facts={highlightsOf(record)} />
      <Details facts={detailsOf(record)} />
      <WhoMay operation="update_webhook" to="change this webhook" />
      {OpenDialog !== undefined && <OpenDialog record={record} onClose={() => setOpen(undefined)} />}
    </Section>
  );
}

function whyNotReplay({ status, replay }: WebhookRecord): string | undefined {
  if (status === 'disabled') return 'The webhook is disabled. Enable it first.';
  return replay?.state === 'running' ? 'A replay is running. Wait until it has finished.' : undefined;
}

function highlightsOf(record: WebhookRecord): ComponentProps<typeof Highlights>['facts'] {
  const { backlog, dead } = record;
  return [
    { name: 'Deliveries', value: <WebhookState webhook={record} /> },
    backlog > 0 && {
      name: 'Waiting',
      value: `${formatCount(backlog)} ${backlog === 1 ? 'event' : 'events'}`,
      note: 'Includes events of types that this webhook does not receive.',
    },
    dead > 0 && {
      name: 'Undelivered',
      value: `${formatCount(dead)} ${dead === 1 ? 'event' : 'events'}`,
      note: 'Replay to send them again.',
    },
  ];
}

function detailsOf(record: WebhookRecord): readonly Fact[] {
  const { types, header_names: headers, secrets } = record;
  const [secret, ...earlier] = secrets;
  return [
    ['URL', <span class="url">{record.url}</span>],
    record.description !== null && ['Description', record.description],
    ['Events', types === null ? 'all' : types.join(', ')],
    ['Content', record.payload === 'full' ? 'whole events' : 'events without data'],
    [
      'Order',
      record.order === 'strict' ? 'strict: one after another' : `parallel: up to ${record.concurrency} at once`,
    ],
    record.rate !== null && ['Limit', `${formatCount(record.rate)} requests per second`],
    record.last_success_at !== null && ['Last delivery', <Moment at={record.last_success_at} distance actual />],
    record.last_failure_at !== null && ['Last failure', <Moment at={record.last_failure_at} distance actual />],
    headers.length > 0 && ['Headers', headers.join(', ')],
    secret !== undefined && ['Secret since', <Moment at={secret.created_at} />],
    ...earlier.map(
      ({ expires_at }): Fact => expires_at !== null && ['Old secret signs until', <Moment at={expires_at} actual />],
    ),
    ['Created', <Moment at={record.created_at} />],
  ];
}
