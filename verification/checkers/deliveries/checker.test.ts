import { describe, expect, test } from 'vitest';
import { ALL_BY_NUMBER, type Timelines } from '../events/history.ts';
import type { Delivery, DeliveryHistory, Subscription } from './checker.ts';
import { checkDeliveries, countRepeats, hashOf } from './checker.ts';

// Tests the checker with correct deliveries, and with versions of them that contain one violation each.

const TIMELINE = ['card.created', 'transfer.pending', 'transfer.completed', 'card.updated'].map((type, index) => ({
  type,
  eventId: `evt_${index + 1}`,
  place: index + 1,
  text: '',
  body: { full: `full ${index + 1}`, thin: `thin ${index + 1}` },
}));

const TIMELINES: Timelines = new Map([[ALL_BY_NUMBER, TIMELINE]]);

const WEBHOOK: Subscription = {
  ...{ name: 'webhook', programId: undefined, order: 'parallel', payload: 'full', types: null },
  ...{ after: 0, maxInFlight: 2 },
};

const KILLED_AT = 3_000;

/** Returns an accepted delivery of the event at a position. */
const got = (position: number, more: Partial<Delivery> & { readonly body?: string } = {}): Delivery => ({
  ...{ at: 500, eventId: `evt_${position}`, hash: hashOf(more.body ?? `full ${position}`) },
  ...{ verified: [0], status: 204, ...more },
});

const afterKill = { at: 4_000 };
const ALL = [1, 2, 3, 4].map((position) => got(position));
const THIN = [1, 2, 3, 4].map((position) => got(position, { body: `thin ${position}` }));
const THREE_AGAIN = [2, 3, 4].map((position) => got(position, afterKill));
const FAILED = got(2, { status: 500 });
const UNANSWERED = got(2, { ...afterKill, status: undefined });
const STRICT = { order: 'strict' } as const;

const check = (
  deliveries: readonly Delivery[],
  webhook: Partial<Subscription> = {},
  more: Partial<DeliveryHistory> = {},
): string => {
  const subscription = { ...WEBHOOK, ...webhook };
  const around = { timelines: TIMELINES, due: TIMELINES, kills: [KILLED_AT], ...more };
  return checkDeliveries({ subscription, deliveries, ...around }).join('\n');
};

describe('checkDeliveries', () => {
  test.for<[string, readonly Delivery[], Partial<Subscription>?]>([
    ['one delivery of each event', ALL],
    ['any order', ALL.toReversed()],
    ['the correct order, if the order is strict', ALL, STRICT],
    ['repeats until the event is accepted', [got(1, { status: 500 }), got(1, { status: undefined }), ...ALL]],
    ['repeats until the event is accepted, if the order is strict', [got(1, { status: 500 }), ...ALL], STRICT],
    ['repeats of deliveries in flight at a kill', [...ALL, got(3, afterKill), got(4, afterKill)]],
    [
      'a repeat of the delivery in flight, if the order is strict',
      [got(1), got(2), UNANSWERED, got(3), got(4)],
      STRICT,
    ],
    ['a failed repeat after a kill, and its retry', [...ALL, got(4, { ...afterKill, status: 500 }), got(4, afterKill)]],
    ['only the events of a subscribed group', [got(2), got(3)], { types: ['transfer.*'] }],
    ['only the events of one type', [got(4)], { types: ['card.updated'] }],
    ['only the events after a position', [got(3), got(4)], { after: 2 }],
    ['thin payloads', THIN, { payload: 'thin' }],
  ])('accepts %s', ([, deliveries, webhook]) => {
    expect(check(deliveries, webhook)).toBe('');
  });

  test('accepts missing events that are not due yet', () => {
    expect(check([], {}, { due: new Map() })).toBe('');
  });

  test.for<[string, readonly Delivery[], RegExp, Partial<Subscription>?]>([
    ['a missing event', ALL.toSpliced(1, 1), /lost: 1 of 4 events, such as 2 \(transfer.pending\)/],
    ['an event that was never accepted', [...ALL.slice(0, 3), got(4, { status: 500 })], /lost: 1 of 4/],
    ['an event that does not exist', [...ALL, got(5)], /evt_5 does not exist/],
    ['an event of a different type', ALL, /evt_1 does not exist, or is not subscribed/, { types: ['transfer.*'] }],
    ['an event from before the start of the webhook', ALL, /evt_1 does not exist/, { after: 1 }],
    ['a changed body', ALL.with(1, got(2, { body: 'other' })), /the body of evt_2 is not full 2/],
    ['a full payload instead of a thin one', ALL, /the body of evt_1 is not thin 1/, { payload: 'thin' }],
    ['a wrong signature', ALL.with(1, got(2, { verified: [] })), /the signature of evt_2 is wrong/],
    ['a missing signature of a valid secret', ALL.with(1, got(2, { verified: [1] })), /the signature of evt_2/],
    ['a repeat without a kill', [...ALL, got(4)], /evt_4 was repeated without a kill/],
    ['more repeats than deliveries in flight', [...ALL, ...THREE_AGAIN], /1 more events .* than the 2 .* evt_4/],
    ['events out of order, if the order is strict', [got(1), got(3), got(2), got(4)], /3 came after 1/, STRICT],
    [
      'an earlier event, if the order is strict',
      [got(1), got(2), got(1, afterKill), got(3), got(4)],
      /1 came after 2/,
      STRICT,
    ],
    [
      'an event too early, if the order is strict',
      [got(1), FAILED, got(3), got(2), got(4)],
      /3 came before 2 was accepted/,
      STRICT,
    ],
  ])('finds %s', ([, deliveries, violation, webhook]) => {
    expect(check(deliveries, webhook)).toMatch(violation);
  });

  test('accepts repeats after each of several kills', () => {
    // Two deliveries are in flight at each of the two kills. All four are repeated after the second kill.
    const again = [got(1), got(2), got(3, { at: 3_100 }), got(4, { at: 3_100 })];
    const late = [1, 2, 3, 4].map((position) => got(position, { at: 5_000 }));
    expect(check([...again, ...late], {}, { kills: [KILLED_AT, 4_000] })).toBe('');
    expect(check([...again, ...late], {}, { kills: [4_000] })).toMatch(/2 more events were repeated than the 2/);
    expect(check([...again, ...late], {}, { kills: [5_500] })).toMatch(/repeated without a kill/);
  });

  test('countRepeats counts only repeats of accepted events', () => {
    expect(countRepeats([got(1, { status: 500 }), got(1), got(1), got(2), got(1)])).toBe(2);
  });
});
