import { Type } from 'typebox';
import { TYPES_AND_GROUPS } from '../../domain/event.ts';
import {
  HEADER_NAME,
  HEADER_VALUE,
  MAX_WEBHOOK_HEADERS,
  MAX_WEBHOOK_URL_CHARACTERS,
  REPLAY_SELECTIONS,
  WEBHOOK_ORDERS,
  WEBHOOK_PAYLOADS,
  WEBHOOK_STATUSES,
} from '../../domain/webhooks/webhook.ts';
import {
  checkedText,
  checkedTogether,
  cursor,
  idText,
  ifThen,
  is,
  limit,
  line,
  literals,
  moment,
  NO_PROTOTYPE,
  needs,
  nullable,
  PageQuery,
  refuseEmpty,
  text,
} from '../schema-parts.ts';

/** Maximum number of webhooks of a card program, and of webhooks without a card program. */
export const MAX_WEBHOOKS = 20;

/** Maximum number of entries in `types`: more than there are types and groups. */
const MAX_TYPES = 100;

const headers = (value: 'string' | 'string or null') => ({
  type: 'object',
  propertyNames: {
    type: 'string',
    minLength: 1,
    maxLength: 100,
    'x-checked': { pattern: HEADER_NAME, ...NO_PROTOTYPE },
  },
  additionalProperties: {
    type: value === 'string' ? 'string' : ['string', 'null'],
    maxLength: 2000,
    'x-checked': { pattern: HEADER_VALUE },
  },
});

const Headers = Type.Unsafe<Record<string, string>>({
  ...headers('string'),
  maxProperties: MAX_WEBHOOK_HEADERS,
  description:
    'Up to 10 headers to send with each event, such as `Authorization`. They are stored encrypted and never shown again',
});

/** A change of headers, one by one. */
const HeadersPatch = Type.Unsafe<Record<string, string | null>>({
  ...headers('string or null'),
  // One patch can replace every header: 10 removed and 10 set.
  maxProperties: 2 * MAX_WEBHOOK_HEADERS,
  description:
    'Headers to change: a string sets a header, null removes it, and other headers are kept. At most 10 can remain',
});

const types = (description: string) =>
  Type.Array(checkedText(100, 'A type of event, or a group', { enum: TYPES_AND_GROUPS }), {
    minItems: 1,
    maxItems: MAX_TYPES,
    description,
  });

const SETTINGS = {
  description: line(255, 'Purpose of the webhook'),
  payload: literals(
    WEBHOOK_PAYLOADS,
    'What is sent: `full`, the event as get_event returns it, or `thin`, the event without `data`; `full` if omitted',
  ),
  order: literals(
    WEBHOOK_ORDERS,
    '`strict` sends an event only when the one before it has been delivered; `parallel`, the default, sends several at the same time',
  ),
  concurrency: Type.Integer({
    minimum: 1,
    maximum: 100,
    description: 'Maximum number of events sent at the same time; 10 if omitted. Not used with `strict` order',
  }),
  rate: Type.Integer({ minimum: 1, maximum: 10_000, description: 'Maximum number of requests per second' }),
};

const CREATED = {
  url: text(MAX_WEBHOOK_URL_CHARACTERS, 'Where events are sent, by POST: an absolute URL'),
  description: Type.Optional(SETTINGS.description),
  types: Type.Optional(
    types('Which events are sent: types, such as `transfer.completed`, or groups, such as `card.*`; all if omitted'),
  ),
  payload: Type.Optional({ ...SETTINGS.payload, 'x-default': 'full' }),
  order: Type.Optional({ ...SETTINGS.order, 'x-default': 'parallel' }),
  concurrency: Type.Optional({ ...SETTINGS.concurrency, 'x-default': 10 }),
  rate: Type.Optional(SETTINGS.rate),
  headers: Type.Optional(Headers),
};

const after = (what: string) =>
  Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: `Send the events after this ${what}, 0 for all that are stored; only new ones if omitted`,
    }),
  );

const OMITTED = {
  types: 'for all types of event',
  payload: 'to send whole events',
  order: 'to send several events at once',
  concurrency: 'to send up to 10 events at once',
  rate: 'to send without a limit',
  after: 'to send only new events',
};

export const CreateWebhookBody = Type.Object(
  { ...CREATED, after: after('position') },
  // Unknown fields are refused, because one may be meant as a field that selects events.
  { additionalProperties: false, ...refuseEmpty(OMITTED) },
);

export const CreateOperatorWebhookBody = Type.Object(
  {
    ...CREATED,
    program_id: Type.Optional(
      idText(
        'prog',
        'The card program whose events are sent; the events of all card programs and of the service if omitted',
      ),
    ),
    after: after('number, or position if `program_id` is sent'),
  },
  {
    additionalProperties: false,
    ...refuseEmpty({ program_id: 'for the events of all card programs and of the service', ...OMITTED }),
  },
);

/** The body of update_webhook and update_operator_webhook, a merge patch. */
export const UpdateWebhookBody = Type.Object(
  {
    url: Type.Optional(text(MAX_WEBHOOK_URL_CHARACTERS, 'Where events are sent')),
    description: Type.Optional(nullable(SETTINGS.description)),
    types: Type.Optional(nullable(types('Which events are sent: types or groups; null for all'))),
    payload: Type.Optional(SETTINGS.payload),
    order: Type.Optional(SETTINGS.order),
    concurrency: Type.Optional(SETTINGS.concurrency),
    rate: Type.Optional(nullable(SETTINGS.rate)),
    headers: Type.Optional(nullable(HeadersPatch)),
    status: Type.Optional(
      literals(
        ['enabled', 'disabled'],
        '`disabled` stops sending, and cancels a replay; `enabled` continues. A paused webhook is sent the oldest event at once, and continues when that succeeds',
      ),
    ),
    resume: Type.Optional(
      literals(
        ['backlog', 'now'],
        'With `"status": "enabled"`: `backlog`, the default, sends the missed events; `now` skips them',
      ),
    ),
  },
  {
    // Unknown fields are refused, because one may be meant as a field that selects events.
    additionalProperties: false,
    ...checkedTogether({ allOf: [ifThen(needs('resume'), is('status', 'enabled'))] }),
  },
);

export const RollWebhookSecretBody = Type.Object(
  {
    previous_until: Type.Optional(
      moment(
        'When previous secrets stop signing, unless they expire sooner. The default is after 24 hours. A time in the past ends them at once',
      ),
    ),
  },
  {
    // Unknown fields are refused, because one may be a misspelled `previous_until`.
    additionalProperties: false,
    ...refuseEmpty({ previous_until: 'to let previous secrets sign for 24 hours' }),
  },
);

export const ResendEventBody = Type.Object({
  event_id: idText(
    'evt',
    'The event to send again. It is sent even if the webhook does not select its type or is disabled',
  ),
});

export const ReplayWebhookBody = Type.Object({
  from: moment('Send events that were created at this time or later'),
  to: moment('Send events that were created before this time'),
  only: literals(REPLAY_SELECTIONS, '`failed` sends undelivered events, `all` also delivered ones'),
});

export const AttemptQuery = Type.Object({
  limit,
  cursor,
  event_id: Type.Optional(idText('evt', 'Only attempts to send this event')),
  succeeded: Type.Optional(literals(['true', 'false'], 'Only attempts that succeeded, or only attempts that failed')),
  status: Type.Optional(
    checkedText(
      4,
      'Only attempts with this HTTP status of the response: `404`, a class such as `5xx`, or `none` for no response',
      { pattern: '^([1-5][0-9]{2}|[1-5]xx|none)$' },
    ),
  ),
  started_from: Type.Optional(moment('Only attempts that began at or after this time')),
  started_to: Type.Optional(moment('Only attempts that began before this time')),
});

export const FailedAttemptQuery = Type.Object({
  limit,
  cursor,
  status: AttemptQuery.properties.status,
  started_from: AttemptQuery.properties.started_from,
  started_to: AttemptQuery.properties.started_to,
});

export const OperatorFailedAttemptQuery = Type.Object({
  ...FailedAttemptQuery.properties,
  program_id: Type.Optional(idText('prog', 'Only attempts of webhooks of this card program')),
});

export const OperatorWebhookQuery = Type.Object({
  ...PageQuery.properties,
  program_id: Type.Optional(idText('prog', 'Only webhooks of this card program')),
  status: Type.Optional(literals(WEBHOOK_STATUSES, 'Only webhooks with this status')),
});
