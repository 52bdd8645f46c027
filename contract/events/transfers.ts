import { call, load } from '../error.ts';
import { errorRecord } from '../errors/catalogue.ts';
import { EXAMPLE_LATER, EXAMPLE_TIME } from '../samples.ts';
import { ReversalRecord } from '../transfer-actions.ts';
import { TransferRecord } from '../transfers.ts';
import { eventType } from './definition.ts';

const HOLD = load({ capture: 'manual' });
const CANCEL = call('cancel_transfer');
const TRANSFER = { data: TransferRecord, subject: 'transfer_id', operation: 'get_transfer' } as const;

const NOT_MOVED = { captured_amount: 0, completed_at: null } as const;
const HELD = { ...NOT_MOVED, capture: 'manual', expires_at: '2026-02-07T09:30:00.000Z' } as const;

/** Longer than the seven days of a hold. */
const EIGHT_DAYS_IN_SECONDS = 691_200;
const DAY_IN_SECONDS = 86_400;

const moveClock = (seconds: number) => call('move_clock', { body: { seconds_ahead: seconds } });

export const TRANSFER_EVENTS = {
  'transfer.scheduled': eventType({
    ...TRANSFER,
    summary: 'A transfer was scheduled.',
    sent: ['A transfer is created with scheduled_for. Nothing is held or moved yet.'],
    example: {
      ...NOT_MOVED,
      status: 'scheduled',
      outcome: 'open',
      scheduled_for: '2026-02-01T09:00:00.000Z',
    },
    sample: {
      reproduce: 'Create a transfer for later today.',
      request: load({ scheduled_for: '{today}T23:59:59Z' }),
      after: [CANCEL],
    },
  }),
  'transfer.pending': eventType({
    ...TRANSFER,
    summary: 'The amount of a transfer is on hold.',
    sent: [
      'A transfer is created with "capture": "manual".',
      'A scheduled transfer with "capture": "manual" is due, and its hold begins.',
      'A transfer is created or due for a card whose money is at a processor, and the processor is asked to move it.',
      'A processor whose outcome was unknown says that it will move the money later.',
    ],
    example: { ...HELD, status: 'pending', outcome: 'open' },
    sample: {
      reproduce: 'Create a transfer with "capture": "manual".',
      request: HOLD,
      after: [CANCEL],
    },
  }),
  'transfer.unknown': eventType({
    ...TRANSFER,
    summary: "It is not known yet whether the card's processor has moved the money of a transfer.",
    sent: [
      'The processor did not answer, or its answer was not valid. The money stays on hold, and the processor is asked again.',
    ],
    notes: ['One more event follows when it is known: transfer.completed, transfer.failed, or transfer.pending.'],
    example: { ...NOT_MOVED, status: 'pending', outcome: 'unknown', updated_at: EXAMPLE_LATER },
    sample: {
      reproduce: 'Load the card "card_processor" and have the simulator execute it without an answer.',
      request: load({ card_id: 'card_processor' }, { 'Sandbox-Processor': 'silent_executed', Prefer: 'wait=10' }),
    },
  }),
  'transfer.completed': eventType({
    ...TRANSFER,
    summary: 'The money of a transfer was moved.',
    sent: [
      'A transfer is created with automatic capture and succeeds immediately.',
      'A hold is captured, in full or in part. The rest of it is released.',
      'A scheduled transfer is due and succeeds.',
      'A card is closed with "balance_to": "funding", which unloads it.',
    ],
    notes: ['Later reversals do not change the status. They have a separate event, reversal.completed.'],
    example: { outcome: 'final' },
    sample: { reproduce: 'Create a transfer.', request: load() },
  }),
  'transfer.canceled': eventType({
    ...TRANSFER,
    summary: 'A pending or scheduled transfer was canceled.',
    sent: ['cancel_transfer ends a hold, or a scheduled transfer that is not due yet. No money was moved.'],
    example: { ...HELD, status: 'canceled', outcome: 'final', updated_at: EXAMPLE_LATER },
    sample: {
      reproduce: 'Create a transfer with "capture": "manual", then cancel it.',
      given: [HOLD],
      request: CANCEL,
    },
  }),
  'transfer.expired': eventType({
    ...TRANSFER,
    summary: 'A hold expired before it was captured.',
    sent: ['The expires_at of a pending transfer has passed. The hold is released; no money was moved.'],
    example: { ...HELD, status: 'expired', outcome: 'final', updated_at: '2026-02-07T09:30:00.412Z' },
    sample: {
      reproduce: 'Create a transfer with "capture": "manual", then move the clock eight days ahead.',
      given: [HOLD],
      request: moveClock(EIGHT_DAYS_IN_SECONDS),
      after: [moveClock(0)],
    },
  }),
  'transfer.failed': eventType({
    ...TRANSFER,
    summary: 'A scheduled transfer was due and was refused, or a processor did not carry a transfer out.',
    sent: [
      'A scheduled transfer is due, and one of the checks of create_transfer fails. No money was moved.',
      "The card's processor declined a transfer or did not carry it out. If it says later that it did, transfer.late_approval follows.",
      'A transfer that is refused when it is created causes no event, because it was not created. Its response has the error.',
    ],
    notes: [
      '`error` is the error record, with its four fields, that create_transfer would have returned, or that reports the answer of the processor. get_transfer shows the same record.',
    ],
    example: {
      ...NOT_MOVED,
      card_id: 'card_empty',
      type: 'unload',
      status: 'failed',
      outcome: 'final',
      scheduled_for: '2026-01-31T10:15:00.000Z',
      error: errorRecord(
        'insufficient_funds',
        "The card 'card_empty' has 0.00 USD available; the transfer is for 10.00 USD.",
      ),
      created_at: EXAMPLE_TIME,
      updated_at: '2026-01-31T10:15:00.308Z',
    },
    sample: {
      reproduce: 'Schedule an unload of a card without money, then move the clock a day ahead.',
      given: [load({ card_id: 'card_empty', type: 'unload', scheduled_for: '{today}T23:59:59Z' })],
      request: moveClock(DAY_IN_SECONDS),
      after: [moveClock(0)],
    },
  }),
  'transfer.late_approval': eventType({
    ...TRANSFER,
    summary: 'A processor has moved the money of a transfer that had failed.',
    sent: [
      'A processor says that it carried out a transfer that it had declined or not carried out before. The event follows transfer.failed, and the transfer stays failed.',
    ],
    notes: [
      'The money has moved at the processor. An operator of the service will settle this: do not send the transfer again. get_transfer_timeline shows when this became known, and the id of the break.',
    ],
    example: {
      ...NOT_MOVED,
      card_id: 'card_processor',
      status: 'failed',
      outcome: 'final',
      error: errorRecord(
        'processor_error',
        "The processor 'simulator' could not carry out the load of 10.00 USD. An operator found out that it was not executed.",
      ),
      updated_at: EXAMPLE_LATER,
    },
    sample: {
      reproduce:
        'Have the simulator execute a load later, resolve its attempt as not executed before that, and wait for the simulator.',
      given: [
        load({ card_id: 'card_processor' }, { 'Sandbox-Processor': 'pending=20', Prefer: 'wait=5' }),
        call('list_attempts'),
      ],
      request: call('resolve_attempt', { body: { outcome: 'not_executed', note: 'Their support says so.' } }),
    },
  }),
  'transfer.updated': eventType({
    ...TRANSFER,
    summary: 'The metadata of a transfer was changed.',
    sent: ['update_transfer changes the metadata. A request that changes nothing causes no event.'],
    example: { outcome: 'final', updated_at: EXAMPLE_LATER },
    sample: {
      reproduce: 'Create a transfer, then add metadata to it.',
      given: [load()],
      request: call('update_transfer', { body: { metadata: { order: 'A-1042' } } }),
    },
  }),
  'reversal.completed': eventType({
    summary: 'A completed transfer was reversed, in full or in part.',
    sent: ['reverse_transfer succeeds. Each reversal of a transfer has its own event.'],
    data: ReversalRecord,
    subject: 'reversal_id',
    operation: 'get_reversal',
    example: { amount: 250, description: 'One of four articles was returned', created_at: EXAMPLE_LATER },
    sample: {
      reproduce: 'Create a transfer, then reverse part of it.',
      given: [load()],
      request: call('reverse_transfer', { body: { amount: 250 } }),
    },
  }),
};
