import { CardRecord } from '../cards.ts';
import { call } from '../error.ts';
import { EXAMPLE_LATER } from '../samples.ts';
import { eventType } from './definition.ts';

const CARD = { data: CardRecord, subject: 'card_id', operation: 'get_card' } as const;
const HOLDER = { holder_reference: 'employee 7' } as const;
const change = (body: object) => call('update_card', { params: { card_id: 'card_active' }, body });

/** Events of cards. */
export const CARD_EVENTS = {
  'card.created': eventType({
    ...CARD,
    summary: 'A card was created.',
    sent: ['create_card succeeds.'],
    example: { card_id: 'employee-7', balance: 0, available: 0, ...HOLDER },
    sample: { reproduce: 'Create a card.', request: call('create_card', { body: HOLDER }) },
  }),
  'card.updated': eventType({
    ...CARD,
    summary: 'The status, the limits, the holder or the expiry of a card was changed.',
    sent: [
      'update_card changes the card. A request that changes nothing causes no event.',
      'Transfers change the balance of a card without this event. They have their own.',
    ],
    notes: [
      'A card expires at the end of its expires_on without an event.',
      'Closing a card with "balance_to": "funding" also causes transfer.completed, which comes first.',
    ],
    example: { card_id: 'employee-7', ...HOLDER, updated_at: EXAMPLE_LATER },
    sample: {
      reproduce: 'Change the holder reference of the card "card_active".',
      request: change(HOLDER),
      after: [change({ holder_reference: null })],
    },
  }),
};
