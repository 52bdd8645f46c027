import { describe, expect, expectTypeOf, test } from 'vitest';
import type {
  CardRecord,
  OperatorEventRecord,
  TransferRecord,
  TransferServiceEvent,
  UnknownEvent,
} from './generated/operations.ts';

/** Handles an event as an application would. The compiler checks the type of each `data`. */
function react(event: TransferServiceEvent): string {
  switch (event.type) {
    case 'transfer.completed':
    case 'transfer.failed':
      expectTypeOf(event.data).toEqualTypeOf<TransferRecord>();
      return event.data.status;
    case 'card.created':
      expectTypeOf(event.data).toEqualTypeOf<CardRecord>();
      return event.data.card_id;
    default:
      return event.type;
  }
}

const ENVELOPE = {
  event_id: 'evt_1',
  position: 1,
  program_id: 'prog_1',
  subject_id: 'tr_1',
  created_at: '2030-01-31T12:00:00.000Z',
  version: 'v0.1',
};

describe('an event', () => {
  test('has the data of its type', () => {
    const event = { ...ENVELOPE, type: 'transfer.completed', data: { status: 'completed' } };
    expect(react(event as unknown as TransferServiceEvent)).toBe('completed');
  });

  test('has the data of its type, even for operators', () => {
    const event = { ...ENVELOPE, number: 7, type: 'card.created', data: { card_id: 'card_1' } } as unknown;
    const operatorEvent = event as OperatorEventRecord;
    expect(react(operatorEvent)).toBe('card_1');
    if (operatorEvent.type === 'card.created') expectTypeOf(operatorEvent.data).toEqualTypeOf<CardRecord>();
    expectTypeOf(operatorEvent.number).toBeNumber();
  });

  test('has a type and any data if a newer version sent it', () => {
    const received: unknown = JSON.parse(JSON.stringify({ ...ENVELOPE, type: 'moon.landed', data: { at: 1969 } }));
    const event = received as TransferServiceEvent;
    expect(react(event)).toBe('moon.landed');
    const type: string = event.type;
    expect(type === 'moon.landed').toBe(true);
    expectTypeOf<UnknownEvent['data']>().toEqualTypeOf<Readonly<Record<string, unknown>>>();
  });
});
