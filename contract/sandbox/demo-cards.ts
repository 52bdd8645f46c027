import type { Card } from '../../domain/cards/card.ts';
import type { SharedCode } from '../../domain/error-codes.ts';
import type { Limits } from '../../domain/ledger/limits.ts';
import { MAXIMUM_BALANCE } from '../../domain/ledger/money.ts';

/** A card of the demo program in every sandbox, and its purpose. */
export type DemoCard = {
  readonly name: string;
  readonly status: Card['status'];
  readonly currency: string;
  /** In minor units, when the sandbox is new. */
  readonly balance: bigint;
  readonly expiresOn?: string;
  readonly limits?: Limits;
  /** The connector of the processor that holds its money, and the processor's name for the card. Omitted for other cards. */
  readonly processor?: { readonly connectorId: string; readonly token: string };
  /** A short description, shown after its name. */
  readonly purpose: string;
  /** The body of a refused transfer without the card, and the error code. Undefined if none is refused. */
  readonly refuses?: { readonly body: Readonly<Record<string, string | number>>; readonly code: SharedCode };
};

/** A load of 1,000 minor units that is refused only because of the card. */
const refusedLoad = (code: SharedCode) => ({ body: { amount: 1_000 }, code });

/**
 * The cards of the demo program: one for each status, and for each refusal that depends on a card. The sandbox is seeded
 * with them, and the first page, the start of a sandbox and the guides show them.
 */
export const DEMO_CARDS: readonly DemoCard[] = [
  { name: 'card_active', status: 'active', currency: 'USD', balance: 25_000n, purpose: 'can receive and send money' },
  {
    name: 'card_empty',
    status: 'active',
    currency: 'USD',
    balance: 0n,
    purpose: 'has nothing to unload',
    refuses: { body: { amount: 1_000, type: 'unload' }, code: 'insufficient_funds' },
  },
  {
    name: 'card_preactive',
    status: 'preactive',
    currency: 'USD',
    balance: 0n,
    purpose: 'not activated yet',
    refuses: refusedLoad('card_not_activated'),
  },
  {
    name: 'card_inactive',
    status: 'inactive',
    currency: 'USD',
    balance: 5_000n,
    purpose: 'suspended',
    refuses: refusedLoad('card_suspended'),
  },
  {
    name: 'card_lost',
    status: 'lost',
    currency: 'USD',
    balance: 5_000n,
    purpose: 'reported lost',
    refuses: refusedLoad('card_lost'),
  },
  {
    name: 'card_stolen',
    status: 'stolen',
    currency: 'USD',
    balance: 5_000n,
    purpose: 'reported stolen',
    refuses: refusedLoad('card_lost'),
  },
  {
    name: 'card_fraud',
    status: 'fraud',
    currency: 'USD',
    balance: 5_000n,
    purpose: 'suspected fraud',
    refuses: refusedLoad('card_suspected_fraud'),
  },
  {
    name: 'card_expired',
    status: 'active',
    currency: 'USD',
    balance: 5_000n,
    expiresOn: '2020-12-31',
    purpose: 'expired',
    refuses: refusedLoad('card_expired'),
  },
  {
    name: 'card_closed',
    status: 'closed',
    currency: 'USD',
    balance: 0n,
    purpose: 'permanently closed',
    refuses: refusedLoad('card_closed'),
  },
  {
    name: 'card_limited',
    status: 'active',
    currency: 'USD',
    balance: 0n,
    limits: {
      in: { minimum_amount: 100n, maximum_amount: 10_000n, daily_amount: 35_000n },
      out: {},
      maximumBalance: null,
    },
    purpose: 'accepts 1.00 to 100.00 per transfer, 350.00 per day',
    refuses: { body: { amount: 20_000 }, code: 'amount_too_large' },
  },
  {
    name: 'card_eur',
    status: 'active',
    currency: 'EUR',
    balance: 0n,
    purpose: 'uses EUR',
    refuses: { body: { amount: 1_000, currency: 'USD' }, code: 'currency_mismatch' },
  },
  {
    name: 'card_full',
    status: 'active',
    currency: 'GBP',
    balance: MAXIMUM_BALANCE,
    purpose: 'at the maximum balance',
    refuses: refusedLoad('limit_exceeded'),
  },
  {
    name: 'card_processor',
    status: 'active',
    currency: 'USD',
    balance: 0n,
    processor: { connectorId: 'simulator', token: 'sim_approve' },
    purpose: 'its money is at a simulated processor',
  },
];

/** Returns the status that the API shows for a demo card. An active card is shown as expired after its last day. */
export function shownStatus({ status, expiresOn }: DemoCard): Card['status'] | 'expired' {
  return expiresOn === undefined ? status : 'expired';
}
