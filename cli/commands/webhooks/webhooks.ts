import type { Command } from 'commander';
import {
  type CreateWebhookBody,
  InvalidArgument,
  type NewWebhookRecord,
  type OperatorWebhookQuery,
  type Page,
  type RollWebhookSecretBody,
  type UpdateWebhookBody,
  type WebhookRecord,
  type WithResponse,
} from '../../../sdk/client.ts';
import {
  type AddCommands,
  addCommand,
  KEY_OPTION,
  type KeyOption,
  type OptionsFor,
  PAGE_OPTIONS,
  VERSION_OPTION,
  type VersionOption,
} from '../../command.ts';
import {
  type CommandContext,
  type PageOptions,
  pageText,
  readPages,
  type Session,
  showChanged,
  showVersioned,
} from '../../session.ts';
import { plainTime, readLater } from '../../times.ts';
import { adviceOn, OPERATOR_WEBHOOK_COLUMNS, WEBHOOK_COLUMNS, webhookPairs } from '../../webhook-text.ts';
import {
  addDelivery,
  commandsAbout,
  REACH_OPTION,
  REMOVABLE,
  type Reach,
  type Removable,
  readCount,
  readHeader,
  readHeaderName,
  readRemoved,
  readWebhookType,
  WEBHOOK_ID,
  webhooksOf,
} from './webhook-delivery.ts';

type Headers = Readonly<Record<string, string>>;

type Settings = Pick<
  CreateWebhookBody,
  'description' | 'types' | 'payload' | 'order' | 'concurrency' | 'rate' | 'headers'
>;

const SETTINGS: OptionsFor<Settings> = {
  description: { flag: '--description <text>', help: 'what the webhook is for' },
  types: {
    flag: '--type <type>',
    help: 'only this type of event, or "transfer.*"; can be repeated',
    read: readWebhookType,
  },
  payload: {
    flag: '--payload <payload>',
    help: 'thin: events without data (default: full)',
    choices: ['full', 'thin'],
  },
  order: {
    flag: '--order <order>',
    help: 'strict: one event at a time, in order (default: parallel)',
    choices: ['parallel', 'strict'],
  },
  concurrency: {
    flag: '--concurrency <number>',
    help: 'maximum number of events sent at once, 1 to 100 (default: 10)',
    read: readCount,
  },
  rate: { flag: '--rate <number>', help: 'maximum number of requests per second', read: readCount },
  headers: { flag: '--header <name: value>', help: 'header to send; can be repeated', read: readHeader },
};

export const addWebhooks: AddCommands = (program, context) => {
  const webhooks = program.command('webhooks').description('your URLs that receive events');
  addCreate(webhooks, context);
  addRead(webhooks, context);
  addUpdate(webhooks, context);
  addCommand<Reach & VersionOption>(webhooks, context, {
    name: 'delete <webhook_id>',
    argument: WEBHOOK_ID,
    description: 'delete a webhook; its backlog is not sent',
    options: { ...REACH_OPTION, ...VERSION_OPTION },
    run: async (session, { operator, ifMatch }, id) => {
      const webhook = await webhooksOf(session, operator).delete(id, { ifMatch });
      session.showText(webhook, `Deleted ${webhook.webhook_id}. Events left unsent: ${webhook.backlog}\n`);
    },
  });
  addRoll(webhooks, context);
  addDelivery(webhooks, context);
};

type CreateOptions = Omit<CreateWebhookBody, 'url'> & KeyOption & Reach & { readonly program_id?: string };

const CREATE_NOTES = `
The secret is printed once. Your server uses it to verify that a request comes
from this service: see /guides/webhooks of the service.
With --operator, the webhook receives the events of all card programs and of the
service. Add --program to receive only the events of one card program.`;

function addCreate(webhooks: Command, context: CommandContext): void {
  addCommand<CreateOptions>(webhooks, context, {
    name: 'create <url>',
    argument: 'where events are sent, by POST',
    description: 'create a webhook; its secret is shown once',
    options: {
      ...SETTINGS,
      after: {
        flag: '--after <position>',
        help: 'also send stored events after this position; 0 for all (default: only new ones)',
        read: readCount,
      },
      program_id: { flag: '--program <program_id>', help: 'card program whose events are sent' },
      ...REACH_OPTION,
      ...KEY_OPTION,
    },
    notes: CREATE_NOTES,
    run: async (session, { operator, idempotencyKey, program_id, ...settings }, url) => {
      const { service } = session;
      const body = { url: withScheme(url), ...settings };
      const webhook = await (operator
        ? service.operatorWebhooks.create(program_id === undefined ? body : { ...body, program_id }, { idempotencyKey })
        : service.webhooks.create(body, { idempotencyKey }));
      showNewSecret(session, webhook);
      if (!session.json)
        session.writeError(`Send it a test event: ${commandsAbout(session, webhook, operator)('test')}\n`);
    },
  });
}

/** Adds `http://` to a local URL without it, such as `localhost:3000/hooks`, as `events listen` does. */
function withScheme(url: string): string {
  return /^(localhost|127\.0\.0\.1)(:\d+)?(\/|$)/.test(url) ? `http://${url}` : url;
}

function addRead(webhooks: Command, context: CommandContext): void {
  addCommand<Omit<OperatorWebhookQuery, 'limit' | 'cursor'> & PageOptions & Reach>(webhooks, context, {
    name: 'list',
    description: 'list webhooks, newest first',
    options: {
      ...PAGE_OPTIONS,
      ...REACH_OPTION,
      status: {
        flag: '--status <status>',
        help: 'with --operator: filter by status',
        choices: ['enabled', 'paused', 'disabled'],
      },
      // Filters only if the option is typed, so that an environment variable does not hide webhooks from an operator.
      program_id: { flag: '--program <program_id>', help: 'card program; with --operator, filter by it' },
    },
    run: async (session, { operator, status, program_id, ...pages }) => {
      const { service, showText } = session;
      if (status !== undefined && operator !== true) throw new InvalidArgument('--status is only for --operator');
      const filters = {
        ...(status === undefined ? {} : { status }),
        ...(program_id === undefined ? {} : { program_id }),
      };
      const found = await readPages<Page<WebhookRecord>>(pages, (page) =>
        operator ? service.operatorWebhooks.list({ ...page, ...filters }) : service.webhooks.list(page),
      );
      const isFiltered = operator === true && Object.keys(filters).length > 0;
      const columns = operator ? OPERATOR_WEBHOOK_COLUMNS : WEBHOOK_COLUMNS;
      showText(
        found,
        pageText(columns, found, {
          width: session.width,
          empty: isFiltered ? 'No webhooks match these filters.\n' : emptyIn(session),
        }),
      );
    },
  });
  addCommand<Reach>(webhooks, context, {
    name: 'show <webhook_id>',
    alias: 'get',
    argument: WEBHOOK_ID,
    description: 'show a webhook, its progress, and what to do if it fails',
    options: REACH_OPTION,
    run: async (session, { operator }, id) => {
      const webhook = await webhooksOf(session, operator).get(id);
      showWebhook(session, webhook, operator);
    },
  });
}

function emptyIn({ command }: Session): string {
  return `No webhooks. Create one, or try events out on this machine without one:
  ${command} webhooks create https://shop.example/webhooks
  ${command} events listen --forward-to http://localhost:3000/hooks
`;
}

type UpdateOptions = Omit<Settings, 'headers'> &
  Pick<UpdateWebhookBody, 'url' | 'status' | 'resume'> &
  Reach &
  VersionOption & {
    readonly headers?: Headers;
    readonly removedHeaders?: Readonly<Record<string, null>>;
    readonly remove?: readonly Removable[];
  };

const UPDATE_NOTES = `
--status enabled resumes a disabled webhook, and tries a paused one at once.
Missed events are sent, unless you skip them with --resume now. Omitted fields
keep their values.`;

function addUpdate(webhooks: Command, context: CommandContext): void {
  addCommand<UpdateOptions>(webhooks, context, {
    name: 'update <webhook_id>',
    argument: WEBHOOK_ID,
    description: 'change, disable or enable a webhook',
    options: {
      // Not called --url, which is the URL of the service.
      url: { flag: '--new-url <url>', help: 'where events are sent from now on' },
      status: { flag: '--status <status>', help: 'enabled or disabled', choices: ['enabled', 'disabled'] },
      resume: {
        flag: '--resume <from>',
        help: 'with --status enabled: backlog, or now to skip it (default: backlog)',
        choices: ['backlog', 'now'],
      },
      ...SETTINGS,
      removedHeaders: {
        flag: '--remove-header <name>',
        help: 'header to remove; can be repeated',
        read: readHeaderName,
      },
      remove: {
        flag: '--remove <fields>',
        help: `fields to remove, separated by commas: ${REMOVABLE.join(', ')}; without types, all are sent`,
        read: readRemoved,
      },
      ...REACH_OPTION,
      ...VERSION_OPTION,
    },
    notes: UPDATE_NOTES,
    run: async (session, { operator, remove = [], headers, removedHeaders, ifMatch, ...fields }, id) => {
      const both = remove.find((name) => fields[name] !== undefined);
      if (both !== undefined) throw new InvalidArgument(`${both} cannot be set and removed in the same request`);
      const changesHeaders = headers !== undefined || removedHeaders !== undefined;
      const body = {
        ...fields,
        ...Object.fromEntries(remove.map((name) => [name, null])),
        ...(changesHeaders ? { headers: { ...headers, ...removedHeaders } } : {}),
      };
      if (Object.keys(body).length === 0) throw new InvalidArgument('add what to change, such as --status enabled');
      showWebhook(session, await webhooksOf(session, operator).update(id, body, { ifMatch }), operator);
    },
  });
}

const ROLL_NOTES = `
Until --previous-until, each request is signed with both the new secret and the
old ones, so a server with any of them accepts it.`;

function addRoll(webhooks: Command, context: CommandContext): void {
  addCommand<RollWebhookSecretBody & Reach & KeyOption>(webhooks, context, {
    name: 'roll-secret <webhook_id>',
    argument: WEBHOOK_ID,
    description: 'give a webhook a new secret; previous secrets sign for another 24 hours',
    options: {
      previous_until: {
        flag: '--previous-until <time>',
        help: 'when previous secrets stop signing: a time, or a duration such as 2h (default: 24h)',
        read: readLater,
      },
      ...REACH_OPTION,
      ...KEY_OPTION,
    },
    notes: ROLL_NOTES,
    run: async (session, { operator, idempotencyKey, ...body }, id) => {
      const webhook = await webhooksOf(session, operator).rollSecret(id, body, { idempotencyKey });
      showNewSecret(session, webhook);
      const [, previous] = webhook.secrets;
      const end = previous?.expires_at ?? undefined;
      if (!session.json && end !== undefined) session.writeError(`The old secret signs until ${plainTime(end)}.\n`);
    },
  });
}

function showNewSecret(session: Session, webhook: WithResponse<NewWebhookRecord>): void {
  showChanged(session, webhook, webhookPairs(webhook));
  if (!session.json && webhook.secret !== null) session.writeError('Store the secret now: it is not shown again.\n');
}

function showWebhook(session: Session, webhook: WithResponse<WebhookRecord>, operator: boolean | undefined): void {
  const { showText, json } = session;
  showVersioned(session, webhook, webhookPairs(webhook));
  const advice = adviceOn(webhook, commandsAbout(session, webhook, operator));
  if (!json && advice !== '') showText(undefined, `\n${advice}`);
}
