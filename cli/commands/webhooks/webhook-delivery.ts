import { type Command, InvalidArgumentError } from 'commander';
import { isTypeOrGroup } from '../../../domain/event.ts';
import { pause } from '../../../sdk/backoff.ts';
import {
  type AttemptQuery,
  type AttemptRecord,
  InvalidArgument,
  type OperatorFailedAttemptQuery,
  type Page,
  type QueuedDelivery,
  type ReplayWebhookBody,
  type ResendEventBody,
  type TransferService,
  type WebhookRecord,
  type WithResponse,
} from '../../../sdk/client.ts';
import {
  addCommand,
  KEY_OPTION,
  type KeyOption,
  type OptionsFor,
  PAGE_OPTIONS,
  readWholeNumber,
} from '../../command.ts';
import { EXIT_CODES } from '../../failure.ts';
import {
  type CommandContext,
  type PageOptions,
  pageText,
  readPages,
  type Session,
  showChanged,
} from '../../session.ts';
import { readEarlier } from '../../times.ts';
import { ATTEMPT_COLUMNS, attemptText, FAILURE_COLUMNS, plainPairs } from '../../webhook-text.ts';

export const WEBHOOK_ID = 'webhook id, wh_...';

/** Whether a command acts as an operator, on the webhooks of any card program. */
export type Reach = { readonly operator?: boolean };

export const REACH_OPTION: OptionsFor<Reach> = {
  operator: { flag: '--operator', help: 'as an operator: webhooks of any card program' },
};

/** Returns the operations on the card program's webhooks, or the operators' operations on any webhook. */
export function webhooksOf(
  { service }: Session,
  operator: boolean | undefined,
): TransferService['webhooks'] | TransferService['operatorWebhooks'] {
  return operator === true ? service.operatorWebhooks : service.webhooks;
}

/** Writes commands about a webhook, for a person to copy. */
export function commandsAbout(
  { command }: Pick<Session, 'command'>,
  { webhook_id: id }: Pick<WebhookRecord, 'webhook_id'>,
  operator: boolean | undefined,
) {
  return (name: string, options = ''): string =>
    [`${command} webhooks`, name, id, options, operator === true ? '--operator' : '']
      .filter((word) => word !== '')
      .join(' ');
}

export const REMOVABLE = ['description', 'types', 'rate'] as const;

export type Removable = (typeof REMOVABLE)[number];

export function readRemoved(text: string): Removable[] {
  return text.split(',').map((name) => {
    const known = REMOVABLE.find((one) => one === name.trim());
    if (known === undefined) throw new InvalidArgumentError(`Allowed fields are ${REMOVABLE.join(', ')}.`);
    return known;
  });
}

/** Reads `--type`, which can be repeated. A misspelled type would never be sent. */
export function readWebhookType(text: string, before: readonly string[] | undefined): string[] {
  if (!isTypeOrGroup(text)) {
    throw new InvalidArgumentError('It must be a type such as transfer.completed or "transfer.*".');
  }
  return [...(before ?? []), text];
}

/** Reads `--header`, which can be repeated: `Authorization: Bearer abc`. */
export function readHeader(text: string, before: Record<string, string> | undefined): Record<string, string> {
  const [, name = '', value = ''] = /^([^:\s]+):\s*(.+)$/.exec(text.trim()) ?? [];
  if (name === '')
    throw new InvalidArgumentError('It must be a name and a value, such as "Authorization: Bearer abc".');
  return { ...before, [name]: value };
}

export function readHeaderName(
  name: string,
  before: Readonly<Record<string, null>> | undefined,
): Readonly<Record<string, null>> {
  return { ...before, [name]: null };
}

export const readCount = (text: string): number => readWholeNumber(text);

export function addDelivery(webhooks: Command, context: CommandContext): void {
  addTest(webhooks, context);
  addAttempts(webhooks, context);
  addFailures(webhooks, context);
  addResend(webhooks, context);
  addReplay(webhooks, context);
}

type WaitOption = { readonly wait?: number };

/** Longer than the service waits for a response: 5 s to connect and 15 s for the rest. */
const MAX_WAIT_SECONDS = 25;

const WAIT_OPTION: OptionsFor<WaitOption> = {
  wait: {
    flag: '--wait <seconds>',
    help: `how long to wait for the result; 0 to not wait (default: ${MAX_WAIT_SECONDS})`,
    read: readWholeNumber,
  },
};

const WAIT_NOTES = `
Waits for the result and prints it. Exit code 1: the URL was not reached, or did
not respond with 2xx; 3: there is no result yet.`;

function addTest(webhooks: Command, context: CommandContext): void {
  addCommand<Reach & WaitOption & KeyOption>(webhooks, context, {
    name: 'test <webhook_id>',
    argument: WEBHOOK_ID,
    description: 'send a test event, webhook.tested, and print the response',
    options: { ...WAIT_OPTION, ...REACH_OPTION, ...KEY_OPTION },
    notes: WAIT_NOTES,
    run: async (session, { operator, wait: waitSeconds = MAX_WAIT_SECONDS, idempotencyKey }, id) => {
      const queued = await webhooksOf(session, operator).test(id, { idempotencyKey });
      await showResult(session, { queued, operator, waitSeconds, known: [] });
    },
  });
}

function addResend(webhooks: Command, context: CommandContext): void {
  addCommand<ResendEventBody & Reach & WaitOption & KeyOption>(webhooks, context, {
    name: 'resend <webhook_id>',
    argument: WEBHOOK_ID,
    description: 'send one event again, even if it was delivered, and print the response',
    options: {
      event_id: { flag: '--event <event_id>', help: 'the event, evt_...', required: true },
      ...WAIT_OPTION,
      ...REACH_OPTION,
      ...KEY_OPTION,
    },
    notes: WAIT_NOTES,
    run: async (session, { operator, wait: waitSeconds = MAX_WAIT_SECONDS, idempotencyKey, event_id }, id) => {
      const webhooks = webhooksOf(session, operator);
      // Earlier attempts to send this event are not the result of this command.
      const known = waitSeconds === 0 ? [] : (await webhooks.attempts(id, { event_id, limit: 100 })).data;
      const queued = await webhooks.resend(id, { event_id }, { idempotencyKey });
      await showResult(session, { queued, operator, waitSeconds, known });
    },
  });
}

type Wanted = {
  readonly queued: WithResponse<QueuedDelivery>;
  readonly operator: boolean | undefined;
  readonly waitSeconds: number;
  readonly known: readonly AttemptRecord[];
};

async function showResult(session: Session, wanted: Wanted): Promise<void> {
  const { queued, operator, waitSeconds } = wanted;
  const attempt = await waitForAttempt(session, wanted);
  if (attempt !== undefined) {
    session.showText(attempt, attemptText(attempt));
    if (!attempt.succeeded) session.exitWith(EXIT_CODES.requestError);
    return;
  }
  showChanged(session, queued);
  if (waitSeconds === 0) return;
  const later = commandsAbout(session, queued, operator)('attempts', `--event ${queued.event_id}`);
  session.writeError(`There is no result after ${waitSeconds} s. Check again later:\n  ${later}\n`);
  session.exitWith(EXIT_CODES.serviceFault);
}

const FIRST_PAUSE_MILLISECONDS = 50;
const LAST_PAUSE_MILLISECONDS = 1000;

async function waitForAttempt(
  session: Session,
  { queued, operator, waitSeconds, known }: Wanted,
): Promise<AttemptRecord | undefined> {
  const { webhook_id, event_id, response } = queued;
  // With a repeated idempotency key, an earlier attempt may be the result of this command.
  const earlier = new Set(response.replayed ? [] : known.map(({ attempt_id }) => attempt_id));
  const end = performance.now() + waitSeconds * 1000;
  for (
    let time = FIRST_PAUSE_MILLISECONDS;
    performance.now() < end;
    time = Math.min(time * 2, LAST_PAUSE_MILLISECONDS)
  ) {
    await pause(Math.min(time, end - performance.now()), undefined);
    const { data } = await webhooksOf(session, operator).attempts(webhook_id, { event_id, limit: 100 });
    const own = data.find(({ kind, attempt_id }) => (kind === 'test' || kind === 'resend') && !earlier.has(attempt_id));
    if (own !== undefined) return own;
  }
  return undefined;
}

type AttemptFilters = Pick<AttemptQuery, 'event_id' | 'status' | 'started_from' | 'started_to'> & {
  readonly failed?: boolean;
  readonly succeeded?: boolean;
};

const RESULT_OPTIONS: OptionsFor<Pick<AttemptFilters, 'status' | 'started_from' | 'started_to'>> = {
  status: { flag: '--status <status>', help: 'only with this response status: 404, 5xx, or none' },
  started_from: {
    flag: '--from <time>',
    help: 'sent at or after this time, such as 6h for six hours ago',
    read: readEarlier,
  },
  started_to: { flag: '--to <time>', help: 'sent before this time', read: readEarlier },
};

function addFailures(webhooks: Command, context: CommandContext): void {
  addCommand<Omit<OperatorFailedAttemptQuery, 'limit' | 'cursor'> & PageOptions & Reach>(webhooks, context, {
    name: 'failures',
    description: 'list the failed attempts of all webhooks in the last 14 days, newest first',
    options: {
      ...RESULT_OPTIONS,
      program_id: { flag: '--program <program_id>', help: 'with --operator: only webhooks of this card program' },
      ...PAGE_OPTIONS,
      ...REACH_OPTION,
    },
    run: async ({ service, showText, width }, { operator, program_id, limit, cursor, all, ...filters }) => {
      const found = await readPages<Page<AttemptRecord>>({ limit, cursor, all }, (page) =>
        operator === true
          ? service.operatorWebhooks.failedAttempts({ ...filters, ...page, ...(program_id && { program_id }) })
          : service.webhooks.failedAttempts({ ...filters, ...page }),
      );
      showText(found, pageText(FAILURE_COLUMNS, found, { width, empty: 'No attempt failed.\n' }));
    },
  });
}

function addAttempts(webhooks: Command, context: CommandContext): void {
  addCommand<AttemptFilters & PageOptions & Reach>(webhooks, context, {
    name: 'attempts <webhook_id>',
    argument: WEBHOOK_ID,
    description: 'list attempts of the last 14 days and the responses, newest first',
    options: {
      event_id: { flag: '--event <event_id>', help: 'only attempts to send this event' },
      failed: { flag: '--failed', help: 'only attempts that failed', conflicts: ['succeeded'] },
      succeeded: { flag: '--succeeded', help: 'only attempts that succeeded' },
      ...RESULT_OPTIONS,
      ...PAGE_OPTIONS,
      ...REACH_OPTION,
    },
    run: async (session, { operator, failed, succeeded, limit, cursor, all, ...others }, id) => {
      const filters: AttemptQuery = {
        ...others,
        ...(failed || succeeded ? { succeeded: succeeded ? 'true' : 'false' } : {}),
      };
      const found = await readPages<Page<AttemptRecord>>({ limit, cursor, all }, (page) =>
        webhooksOf(session, operator).attempts(id, { ...filters, ...page }),
      );
      const isFiltered = Object.keys(filters).length > 0;
      const test = commandsAbout(session, { webhook_id: id }, operator)('test');
      const empty = `Nothing was sent in the last 14 days. Send a test event:\n  ${test}\n`;
      session.showText(
        found,
        pageText(ATTEMPT_COLUMNS, found, {
          width: session.width,
          empty: isFiltered ? 'No attempts match these filters.\n' : empty,
        }),
      );
    },
  });
}

type ReplayOptions = Pick<ReplayWebhookBody, 'from'> & Partial<ReplayWebhookBody> & Reach & KeyOption;

const REPLAY_NOTES = `
Give times as 2030-01-31T12:00:00Z, 2030-01-31 (midnight, UTC) or 6h (six hours
ago). Events keep their event_id. New events are also sent during a replay.`;

function addReplay(webhooks: Command, context: CommandContext): void {
  addCommand<ReplayOptions>(webhooks, context, {
    name: 'replay <webhook_id>',
    argument: WEBHOOK_ID,
    description: 'send the events of a period again',
    options: {
      from: {
        flag: '--from <time>',
        help: 'events that were created at this time or later',
        read: readEarlier,
        required: true,
      },
      to: { flag: '--to <time>', help: 'events that were created before this time (default: now)', read: readEarlier },
      only: {
        flag: '--only <selection>',
        help: 'failed: undelivered events; all: delivered events too (default: failed)',
        choices: ['failed', 'all'],
      },
      ...REACH_OPTION,
      ...KEY_OPTION,
    },
    notes: REPLAY_NOTES,
    run: async (session, { operator, idempotencyKey, from, to = readEarlier('now'), only = 'failed' }, id) => {
      if (Date.parse(from) >= Date.parse(to)) throw new InvalidArgument('--from must be before --to');
      const replay = await webhooksOf(session, operator).replay(id, { from, to, only }, { idempotencyKey });
      showChanged(session, replay, plainPairs(replay));
      if (!session.json) {
        session.writeError(`Follow it: ${commandsAbout(session, { webhook_id: id }, operator)('show')}\n`);
      }
    },
  });
}
