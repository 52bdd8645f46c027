import { call, errorCode, load, type Sample } from '../error.ts';
import { DEMO_PROGRAM, EXAMPLE_MOVE_IN_CARD, EXAMPLE_TIME } from '../samples.ts';

/** A load of a seeded card whose status does not allow it. */
function loadOf(card: string, message: string): Sample {
  const cardId = `card_${card}`;
  return {
    reproduce: `Load the card "${cardId}".`,
    request: load({ card_id: cardId }),
    message: `The card '${cardId}' ${message}`,
    field: '/card_id',
  };
}

/** Creates a move-in of one line, whose file has a hash of only this digit. */
const createMoveIn = (digit: string) =>
  call('create_move_in', {
    body: {
      ...{ program_id: DEMO_PROGRAM, name: 'cards.ndjson', sha256: digit.repeat(64) },
      ...{ as_of: EXAMPLE_TIME, line_count: 1 },
    },
  });

export const CARD_ERRORS = {
  card_not_found: errorCode({
    status: 404,
    problem: 'A card, a transfer or a reversal',
    meaning: 'The card does not exist in the card program.',
    causes: ['The card id is misspelled.', 'The card belongs to another card program.'],
    resolution: 'Check the card id. GET /api/v0.1/core/card lists the cards of the program.',
    alsoCalled:
      'unknown card, no such card, card does not exist, wrong card id, invalid card, invalid card id, missing ' +
      'card',
    sample: {
      reproduce: 'Load the card "card_missing".',
      request: load({ card_id: 'card_missing' }),
      message: `There is no card 'card_missing' in this card program ('card_id').`,
      field: '/card_id',
    },
  }),
  card_not_activated: errorCode({
    status: 409,
    problem: 'The card is not active yet, has expired or is closed',
    meaning: 'The card has not been activated.',
    causes: ['A card of the transfer has the status preactive.'],
    resolution: 'Activate the card, then send the transfer with a new idempotency key.',
    support: {
      tell: 'The card has not been activated yet. Please activate it, then send the transfer as a new request.',
      next: 'Ask the owner of the card program to activate the card if the customer cannot.',
    },
    alsoCalled:
      'not activated, activate card, card activation, card not active yet, new card does not work, preactive, ' +
      'inactivated',
    sample: loadOf('preactive', 'has not been activated yet and cannot receive money.'),
  }),
  card_suspended: errorCode({
    status: 409,
    problem: 'The card is blocked',
    meaning: 'The card is suspended.',
    causes: ['A card of the transfer has the status inactive.'],
    resolution: 'Reactivate the card, then send the transfer with a new idempotency key.',
    support: {
      tell: 'The card is suspended.',
      next: 'Ask the owner of the card program why. If they make the card active again, the customer can send a new transfer.',
    },
    alsoCalled:
      'frozen, declined because frozen, card frozen, freeze, suspended, inactive, card inactive, card locked, locked, on hold card, card ' +
      'paused, deactivated, temporarily blocked, blocked card, card disabled',
    sample: loadOf('inactive', 'is suspended and cannot receive money.'),
  }),
  card_closed: errorCode({
    status: 409,
    problem: 'The card is not active yet, has expired or is closed',
    meaning: 'The card is permanently closed.',
    causes: ['A card of the transfer has the status closed.'],
    resolution: 'Use another card.',
    support: {
      tell: 'The card is permanently closed. Please use a different card.',
      next: 'Ask the owner of the card program for a new card if the customer has none. A closed card cannot be opened again.',
    },
    alsoCalled: 'closed card, canceled card, cancelled card, terminated card, card terminated, card deleted',
    sample: loadOf('closed', 'is closed and cannot receive money.'),
  }),
  card_expired: errorCode({
    status: 409,
    problem: 'The card is not active yet, has expired or is closed',
    meaning: 'The card has expired and cannot receive money.',
    causes: ["The card's expiry date has passed in the time zone of its program."],
    resolution: 'Use the replacement card. The balance of an expired card can be unloaded or moved to another card.',
    support: {
      tell: 'The card has expired. Please use the replacement card.',
      next: 'Ask the owner of the card program for a replacement card if there is none. The balance can be moved to it.',
    },
    alsoCalled: 'expired card, card out of date, expiry date passed, expiration date, card no longer valid',
    sample: loadOf(
      'expired',
      'has expired (last valid day: 2020-12-31) and cannot receive money. ' +
        'Its balance can be unloaded or moved to another card.',
    ),
  }),
  card_lost: errorCode({
    status: 409,
    problem: 'The card is blocked',
    meaning: 'The card was reported lost or stolen and cannot receive money.',
    causes: ['The card that would receive money has the status lost or stolen.'],
    resolution: 'Use the replacement card. The balance of a lost card can be unloaded or moved to another card.',
    support: {
      tell: 'The card was reported lost or stolen. Please use the replacement card.',
      next: 'Ask the owner of the card program for a replacement card if there is none. The balance can be moved to it.',
    },
    alsoCalled: 'lost card, stolen, stolen card, lost or stolen, card reported lost, card was lost, blocked card',
    sample: loadOf(
      'lost',
      'was reported lost and cannot receive money. Its balance can be unloaded or moved to another card.',
    ),
  }),
  card_suspected_fraud: errorCode({
    status: 409,
    problem: 'The card is blocked',
    meaning: 'The card is blocked because of suspected fraud.',
    causes: ['A card of the transfer has the status fraud.'],
    resolution: 'Contact the operator of the card program. If the suspicion is resolved, the card can be reactivated.',
    support: {
      tell: 'The card cannot be used at the moment. We will call you back.',
      next: 'Escalate to the fraud team with the card id. Do not say that fraud is suspected.',
    },
    alsoCalled: 'blocked, blocked card, fraud, fraud block, suspicious activity, security block, risk',
    sample: loadOf('fraud', 'is blocked for suspected fraud and cannot receive money.'),
  }),
  invalid_card_status: errorCode({
    status: 409,
    problem: 'Change, close or erase a card',
    meaning: "The card's status cannot be changed to the requested status.",
    causes: ['The card is closed, which is permanent.', 'The card was stolen and cannot become active again.'],
    resolution: 'Read the card, and request a status that its current status allows.',
    alsoCalled:
      'cannot reactivate, cannot activate, unfreeze, unblock card, reopen card, reopen closed card, cannot change ' +
      'status of card, card status transition',
    sample: {
      reproduce: 'Change the status of the card "card_closed" to active.',
      request: call('update_card', { params: { card_id: 'card_closed' }, body: { status: 'active' } }),
      message: "The card 'card_closed' is closed and cannot be changed ('status').",
      field: '/status',
    },
  }),
  card_not_empty: errorCode({
    status: 409,
    problem: 'Change, close or erase a card',
    meaning: 'The card cannot be closed while it has a balance or pending transfers.',
    causes: ['The balance of the card is not zero.', 'A pending transfer holds money from the card or for it.'],
    resolution: 'Capture or cancel pending transfers. Unload the card, or close it with "balance_to": "funding".',
    alsoCalled: 'cannot close card, card has balance, card still has money, remaining ' + 'balance',
    sample: {
      reproduce: 'Change the status of the card "card_inactive" to closed.',
      request: call('update_card', { params: { card_id: 'card_inactive' }, body: { status: 'closed' } }),
      message:
        "The card 'card_inactive' cannot be closed: its balance is 50.00 USD. " +
        "Unload the card, or send 'balance_to': 'funding' with the status.",
      field: '/status',
    },
  }),
  card_not_closed: errorCode({
    status: 409,
    problem: 'Change, close or erase a card',
    meaning: 'The holder of the card cannot be erased, because the card is not closed.',
    causes: ['The card is not closed.'],
    resolution: 'Close the card with update_card, then send the request again.',
    alsoCalled: 'gdpr, cannot erase, delete personal data, right to be forgotten, erase open card',
    sample: {
      reproduce: 'Erase the holder of the card "card_active".',
      request: call('erase_card_holder', { params: { card_id: 'card_active' } }),
      message:
        "The card 'card_active' is active, and only the holder of a closed card can be erased. Close the card first.",
    },
  }),
  card_erased: errorCode({
    status: 409,
    problem: 'Change, close or erase a card',
    meaning: 'The holder of a card of the transfer was erased, so the transfer can no longer get metadata.',
    causes: ['erase_card_holder was called for the card of the transfer, or for its destination card.'],
    resolution: 'Store what you need about the transfer in your own system, under its id.',
    alsoCalled: 'erased, anonymized, holder erased, metadata of erased card, cannot set metadata',
    sample: {
      reproduce: 'Close a card, erase its holder, then set metadata of one of its transfers.',
      given: [
        call('create_card', { body: { card_id: 'card_forgotten' }, headers: { 'Idempotency-Key': 'card-forgotten' } }),
        load({ card_id: 'card_forgotten' }, { 'Idempotency-Key': 'load-forgotten' }),
        call('update_card', {
          params: { card_id: 'card_forgotten' },
          body: { status: 'closed', balance_to: 'funding' },
        }),
        call('erase_card_holder', { params: { card_id: 'card_forgotten' } }),
      ],
      request: call('update_transfer', { body: { metadata: { order: 'A-1042' } } }),
      message:
        "The holder of the card 'card_forgotten' was erased, with the texts of its transfers. " +
        'The metadata of this transfer can no longer be set.',
      field: '/metadata',
    },
  }),
  duplicate_card: errorCode({
    status: 409,
    problem: 'It was sent twice',
    meaning:
      'The card program already has a card with this id, or a card with this connector and processor token exists.',
    causes: [
      'The card_id in the request was used before.',
      'A card with this connector_id and processor_token exists, in this card program or in another.',
    ],
    resolution: 'Read the existing card, or choose another id. A card of a processor can be created only once.',
    alsoCalled: 'card already exists, card id taken, card id already used, create card twice, card exists',
    sample: {
      reproduce: 'Create a card with the id "card_active".',
      request: call('create_card', { body: { card_id: 'card_active' } }),
      message: "The card program already has a card 'card_active'.",
      field: '/card_id',
    },
  }),
  move_in_not_found: errorCode({
    status: 404,
    problem: 'A move-in',
    meaning: 'The move-in does not exist.',
    causes: ['The id of the move-in is misspelled.'],
    resolution: 'GET /api/v0.1/operator/move-in lists the move-ins.',
    alsoCalled: 'unknown move-in, no such move-in, migration not found, import not found',
    sample: {
      reproduce: 'Get the move-in "mvi_missing".',
      request: call('get_move_in', { params: { move_in_id: 'mvi_missing' } }),
      message: "There is no move-in 'mvi_missing'. The id of a move-in is mvi_ and 32 hex digits.",
    },
  }),
  move_in_undone: errorCode({
    status: 409,
    problem: 'A move-in',
    meaning: 'The move-in is being undone, or was undone, and takes no more lines.',
    causes: ['An operator undid the move-in while its lines were being added.'],
    resolution: 'Create the move-in again: its cards are taken up again, so it begins with its first line.',
    alsoCalled: 'move-in taken back, move-in rolled back, migration undone, import undone',
    sample: {
      reproduce: 'Create a move-in, undo it, and add a line to it.',
      given: [createMoveIn('1'), call('undo_move_in', { body: { note: 'The wrong file.' } })],
      request: call('add_move_in_lines', { body: { first_line: 1, lines: [EXAMPLE_MOVE_IN_CARD] } }),
      message: "The move-in 'mvi_0196f5c2d9a67d53a1c8e07f42b965d1' was undone. Create it again.",
    },
  }),
  move_in_used: errorCode({
    status: 409,
    problem: 'A move-in',
    meaning: 'The move-in cannot be undone, because its cards have been used since.',
    causes: [
      'A card of the move-in has sent or received money, or holds money for a transfer that is not from the move-in.',
      'A hold of the move-in was captured.',
      'A newer move-in has a line about a card of the move-in.',
      'A card was closed after the move-in had changed its balance.',
    ],
    resolution:
      'Undo newer move-ins first. Stop the transfers of the card program, reverse or cancel those of the named card, and undo the move-in again. Nothing was undone by this request.',
    alsoCalled: 'cannot undo move-in, cannot roll back migration, move-in already used',
    sample: {
      reproduce: 'Move a card with a balance in, unload a part of it, and undo the move-in.',
      given: [
        createMoveIn('2'),
        call('add_move_in_lines', { body: { first_line: 1, lines: [EXAMPLE_MOVE_IN_CARD] } }),
        call('create_transfer', { body: { type: 'unload', amount: 500, card_id: 'card-4711' } }),
      ],
      request: call('undo_move_in', { body: { note: 'The wrong file.' } }),
      message:
        "The card 'card-4711' of line 1 has 120.00 USD, and had 125.00 USD when it moved in. Reverse or cancel its transfers first.",
    },
  }),
  comparison_not_found: errorCode({
    status: 404,
    problem: 'A move-in',
    meaning: 'The comparison does not exist.',
    causes: ['The id of the comparison is misspelled.'],
    resolution: 'GET /api/v0.1/operator/comparison lists the comparisons.',
    alsoCalled: 'unknown comparison, no such comparison, reconciliation not found',
    sample: {
      reproduce: 'Get the comparison "cmp_missing".',
      request: call('get_comparison', { params: { comparison_id: 'cmp_missing' } }),
      message: "There is no comparison 'cmp_missing'. The id of a comparison is cmp_ and 32 hex digits.",
    },
  }),
  cut_over_refused: errorCode({
    status: 409,
    problem: 'A move-in',
    meaning: 'The card program cannot be cut over with this comparison.',
    causes: [
      'The comparison has found differences, or not all cards of its file are compared.',
      'The comparison is about the books of an earlier time.',
      'The transfers of the card program were not disabled before the comparison began.',
      'A card or a hold was created, has changed or has ended since the comparison.',
      'A move-in is being undone, or lines of a move-in with stated totals are missing.',
    ],
    resolution:
      'Disable the transfers of the card program, complete or undo its move-ins, resolve the differences, compare the books as they are, and cut over with that comparison. Nothing was enabled by this request.',
    alsoCalled: 'cannot cut over, cutover refused, go-live refused, comparison differs, comparison outdated',
    sample: {
      reproduce: 'Create a comparison, and cut over before its cards are compared.',
      given: [
        call('create_comparison', {
          body: { program_id: DEMO_PROGRAM, name: 'cards.csv', sha256: '3'.repeat(64), card_count: 1 },
        }),
      ],
      request: call('cut_over', { body: { note: 'Checked by finance.' } }),
      message: 'Only 0 of the 1 cards of the file are compared. Compare the others first.',
    },
  }),
};
