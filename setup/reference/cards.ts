import { CARD_MOVES, CARD_RULES, CARD_STATUSES, type CardStatus } from '../../domain/cards/card.ts';
import { Refusal } from '../../domain/refusal.ts';
import { decideTransfer } from '../../domain/transfers/create-transfer.ts';
import { decideReversal } from '../../domain/transfers/reverse-transfer.ts';
import type { TransferType } from '../../domain/transfers/transfer.ts';
import type { TransferView } from '../../domain/transfers/transfer-checks.ts';
import { page, table } from './markdown.ts';
import { accountsAfter, asked, card, insistOnPlan, view } from './transfer-examples.ts';

/** docs/reference/cards.md: the states of a card, how it comes from one to the next, and what each lets through. */
export function cardReference(): string {
  return page(
    '# Cards',
    'This page is made by running the rules of the service on examples. [docs/cards.md](../cards.md) is the guide.',
    '## States of a card',
    '![The states of a card and the moves between them](card-states.svg)',
    'An active, suspended or not yet activated card expires by itself when its last day has passed in the time zone of ' +
      'its program. A move that is not in this table is refused with `invalid_card_status`; closing a card that money ' +
      'is on, or on hold for, with `card_not_empty`.',
    table(
      ['State', 'The card', 'Can be given'],
      CARD_STATUSES.map((status) => [
        `\`${status}\``,
        CARD_RULES[status].meaning,
        CARD_MOVES[status].map((to) => `\`${to}\``).join(', '),
      ]),
    ),
    '## What each state lets through',
    'A capture looks at the states again, as they are then. A reversal does not, but for a closed card, which takes ' +
      'nothing back; what a card does not have any more cannot be taken from it (`insufficient_funds`).',
    table(
      ['State', ...DEEDS.map(({ name }) => name)],
      CARD_STATUSES.map((status) => [`\`${status}\``, ...DEEDS.map(({ attempt }) => outcome(attempt(status)))]),
    ),
  );
}

/** What can be tried with a card in a state, and what the rules say to it. */
type Deed = { readonly name: string; readonly attempt: (status: CardStatus) => unknown };

const DEEDS: readonly Deed[] = [
  { name: '`load`', attempt: (status) => transferWith('load', { card: card('card', { status }) }) },
  { name: '`unload`', attempt: (status) => transferWith('unload', { card: card('card', { status }) }) },
  {
    name: '`card_to_card` from it',
    attempt: (status) => transferWith('card_to_card', { card: card('card', { status }) }),
  },
  {
    name: '`card_to_card` to it',
    attempt: (status) => transferWith('card_to_card', { destinationCard: card('destination card', { status }) }),
  },
  { name: 'reversal of a `load`', attempt: (status) => reversalOf('load', status) },
  { name: 'reversal of an `unload`', attempt: (status) => reversalOf('unload', status) },
];

function transferWith(type: TransferType, changes: Partial<TransferView>): unknown {
  return decideTransfer(asked(type), view(changes));
}

/** Reverses a transfer that was made while the card was active. */
function reversalOf(type: TransferType, status: CardStatus): unknown {
  const made = insistOnPlan(decideTransfer(asked(type), view()));
  const ids = { reversalId: made.transfer.transferId, requestId: made.transfer.requestId };
  const seen = view({ card: card('card', { status }) }, accountsAfter(made));
  return decideReversal(made.transfer, { ...ids, description: null, amount: null }, seen);
}

function outcome(decision: unknown): string {
  return decision instanceof Refusal ? `\`${decision.code}\`` : 'yes';
}
