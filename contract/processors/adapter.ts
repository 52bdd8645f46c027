// The messages between a connector and an adapter: the contract that `adapter-openapi.json` publishes.
import { type Static, Type } from 'typebox';
import type { IdentifierPrefix } from '../../domain/identifier.ts';
import { MAXIMUM_AMOUNT } from '../../domain/ledger/money.ts';
import {
  MAX_RETRY_AFTER_SECONDS,
  ORDER_KINDS,
  type OrderRequest,
  type OrderStatus,
} from '../../domain/processors/order.ts';
import { idPattern, literals, moment, nullable, text } from '../schema-parts.ts';

/** Longest answer and notice that the service reads, in bytes. */
export const MAX_ADAPTER_BYTES = 65_536;

/** The valid answers to each request. Any other answer counts as none. */
export const STATUSES_OF: Readonly<Record<OrderRequest, readonly OrderStatus[]>> = {
  send: ['approved', 'declined', 'pending', 'not_executed'],
  inquire: ['approved', 'declined', 'pending', 'not_found', 'not_executed', 'reversed'],
  reverse: ['approved', 'reversed', 'pending', 'not_found'],
};

const NOTICE_STATUSES = ['approved', 'declined', 'pending', 'not_executed', 'reversed'] as const;

const id = (prefix: IdentifierPrefix, what: string) =>
  Type.String({ pattern: idPattern(prefix), description: `${what}: \`${prefix}_\` and 32 hex digits` });

/** Printable ASCII, without a space at its beginning or end. */
const plain = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, pattern: '^[!-~]([ -~]*[!-~])?$', description });

const amount = Type.Integer({
  minimum: 1,
  maximum: Number(MAXIMUM_AMOUNT),
  description: 'Amount in minor units (cents, for USD)',
});

const currency = Type.String({ pattern: '^[A-Z]{3}$', description: 'Currency, as an ISO 4217 code' });

/** The body of /send, /inquire and /reverse. */
export const AdapterOrder = Type.Object(
  {
    attempt_id: id(
      'pat',
      'Id of the attempt, which is the key of the order at the processor. It is the same in every request about the order and ' +
        'never used for another order',
    ),
    program_id: id('prog', 'Id of the card program'),
    transfer_id: id('tr', 'Id of the transfer'),
    kind: literals(ORDER_KINDS, '`push` sends money to the card (a load), `pull` takes money from it (an unload)'),
    amount,
    currency,
    processor_token: text(255, "The processor's name for the card, as given to create_card"),
    not_after: nullable(
      moment(
        'After this time the adapter must not carry out the order, and answers `not_executed`. Null without ' +
          'such a time',
      ),
    ),
    repeat: Type.Boolean({
      description: 'Whether the order was sent before under this `attempt_id`: it must be carried out at most once',
    }),
    sandbox_behavior: nullable(
      Type.String({ description: 'How the simulator behaves, such as `decline=51`; always null in live mode' }),
    ),
  },
  { additionalProperties: false },
);

export type AdapterOrder = Static<typeof AdapterOrder>;

const STATUS_MEANINGS: Readonly<Record<OrderStatus, string>> = {
  approved: '`approved`: the processor carried out the order',
  declined: '`declined`: the processor refused it, and no money moves',
  pending: '`pending`: not known yet. The service inquires, or a notice follows',
  not_found: '`not_found`: the processor does not know the attempt now, but may still receive it',
  reversed: '`reversed`: the order was undone, or its reversal is acknowledged',
  not_executed: '`not_executed`: the order was not carried out and never will be, which the adapter can prove',
};

const answer = (statuses: readonly OrderStatus[]) => ({
  attempt_id: id('pat', 'The `attempt_id` of the order'),
  status: literals(statuses, statuses.map((status) => STATUS_MEANINGS[status]).join('; ')),
  amount: Type.Integer({ ...amount, description: 'The amount of the order, in minor units: never a different one' }),
  currency: Type.String({ ...currency, description: 'The currency of the order' }),
  processor_reference: nullable(
    plain(
      255,
      "The processor's own reference, in printable ASCII. A card number in it is not stored. Null if there is none",
    ),
  ),
  code: nullable(plain(64, "The processor's own code, such as `51`, in printable ASCII; null if there is none")),
  retry_after_seconds: nullable(
    Type.Integer({
      minimum: 0,
      maximum: MAX_RETRY_AFTER_SECONDS,
      description:
        'For a decline, how many seconds to wait before a new order, as the processor advises; null without advice',
    }),
  ),
});

/** The answers to the three requests. Every field is required; others are ignored. */
export const ADAPTER_ANSWERS = {
  send: Type.Object(answer(STATUSES_OF.send)),
  inquire: Type.Object(answer(STATUSES_OF.inquire)),
  reverse: Type.Object(answer(STATUSES_OF.reverse)),
} as const satisfies Readonly<Record<OrderRequest, unknown>>;

/** The message of an adapter that has learned more about an order. */
export const AdapterNotice = Type.Object({
  notice_id: plain(128, 'Id of the notice, in printable ASCII, which the adapter never uses for another notice'),
  ...answer(NOTICE_STATUSES),
});

export const NoticeReceipt = Type.Object({
  received: Type.Literal(true, { description: 'The notice is stored. The same notice again gets the same answer' }),
});

export const AdapterHealth = Type.Object({
  status: Type.Literal('ok', { description: 'The adapter can reach its processor' }),
});
