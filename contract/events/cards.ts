import { CardRecord } from '../cards.ts';
import { call } from '../error.ts';
import { EXAMPLE_LATER } from '../samples.ts';
import { eventType } from './definition.ts';

const CARD = { data: CardRecord, subject: 'card_id', operation: 'get_card' } as const;
const HOLDER = { holder_reference: 'employee 7' } as const;
const change = (body: object) => call('update_card', { params: { card_id: 'card_active' }, body });

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
  'card.erased': eventType({
    ...CARD,
    summary: 'The holder of a card was erased. If you have stored data about the holder, erase it, too.',
    sent: ['erase_card_holder is called for a closed card for the first time.'],
    notes: [
      'Erase these fields of earlier events about the card, its transfers and their reversals: holder_reference, ' +
        'last_four, description and metadata.',
      'Within minutes of this event, these fields have no values in events that you read again.',
    ],
    example: {
      card_id: 'employee-7',
      status: 'closed',
      balance: 0,
      available: 0,
      holder_reference: null,
      last_four: null,
    },
    sample: {
      reproduce: 'Create a card, close it, and erase its holder.',
      given: [call('create_card', { body: HOLDER }), call('update_card', { body: { status: 'closed' } })],
      request: call('erase_card_holder'),
    },
  }),
};
