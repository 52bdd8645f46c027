import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Timeline } from '../events/event-books.ts';
import { type Circumstances, countRepeats, type Expectation, wrongDeliveries } from './judge.ts';
import type { Delivery } from './notes.ts';

// Tests the judge of the row `webhooks` with correct deliveries, and with the same ones with one mistake in them.

const TIMELINE: Timeline = ['card.created', 'transfer.pending', 'transfer.completed', 'card.updated'].map(
  (type, index) => ({
    type,
    eventId: `evt_${index + 1}`,
    place: index + 1,
    text: '',
    body: { full: `full ${index + 1}`, thin: `thin ${index + 1}` },
  }),
);

const WEBHOOK: Expectation = {
  name: 'webhook',
  order: 'parallel',
  payload: 'full',
  types: null,
  after: 0,
  maxInFlight: 2,
};

const KILLED_AT = 3_000;

/** An accepted delivery of the event at a position. */
const got = (position: number, more: Partial<Delivery> & { readonly body?: string } = {}): Delivery => ({
  webhook: 'webhook',
  at: 500,
  eventId: `evt_${position}`,
  hash: createHash('sha256')
    .update(more.body ?? `full ${position}`)
    .digest('base64'),
  verified: [0],
  status: 204,
  ...more,
});

const afterKill = { at: 4_000 };
const ALL = [1, 2, 3, 4].map((position) => got(position));

const judge = (
  deliveries: readonly Delivery[],
  webhook: Partial<Expectation> = {},
  circumstances: Partial<Circumstances> = {},
): string =>
  wrongDeliveries({ ...WEBHOOK, ...webhook }, deliveries, TIMELINE, {
    kills: [KILLED_AT],
    due: TIMELINE,
    ...circumstances,
  }).join('\n');

describe('deliveries', () => {
  test.for<[string, readonly Delivery[], Partial<Expectation>?]>([
    ['once each', ALL],
    ['in any order', ALL.toReversed()],
    ['in their order, where it is strict', ALL, { order: 'strict' }],
    ['again until one is accepted', [got(1, { status: 500 }), got(1, { status: undefined }), ...ALL]],
    ['again, strictly', [got(1, { status: 500 }), ...ALL], { order: 'strict' }],
    ['again after a kill, what was in flight', [...ALL, got(3, afterKill), got(4, afterKill)]],
    [
      'again after a kill, strictly',
      [got(1), got(2), got(2, { ...afterKill, status: undefined }), got(3), got(4)],
      { order: 'strict' },
    ],
    [
      'again after a kill, and once more where that failed',
      [...ALL, got(4, { ...afterKill, status: 500 }), got(4, afterKill)],
    ],
    ['of the types that were asked for', [got(2), got(3)], { types: ['transfer.*'] }],
    ['of one type', [got(4)], { types: ['card.updated'] }],
    ['after a position', [got(3), got(4)], { after: 2 }],
    [
      'without data',
      ALL.map(({ eventId }, index) => got(index + 1, { eventId, body: `thin ${index + 1}` })),
      { payload: 'thin' },
    ],
  ])('are right %s', ([, deliveries, webhook]) => {
    expect(judge(deliveries, webhook)).toBe('');
  });

  test('may be missing while it goes on', () => {
    expect(judge([], {}, { due: [] })).toBe('');
  });

  test.for<[string, readonly Delivery[], RegExp, Partial<Expectation>?]>([
    ['one is missing', ALL.toSpliced(1, 1), /lost: 1 of 4 events, such as 2 \(transfer.pending\)/],
    ['one was never accepted', [...ALL.slice(0, 3), got(4, { status: 500 })], /lost: 1 of 4/],
    ['one does not exist', [...ALL, got(5)], /evt_5 is not in the books/],
    ['one was not asked for', ALL, /evt_1 is not in the books, or not asked for/, { types: ['transfer.*'] }],
    ['one came before the webhook began', ALL, /evt_1 is not in the books/, { after: 1 }],
    ['a body is another', ALL.with(1, got(2, { body: 'other' })), /the body of evt_2 is not full 2/],
    ['a body has data that it must not have', ALL, /the body of evt_1 is not thin 1/, { payload: 'thin' }],
    ['a signature is wrong', ALL.with(1, got(2, { verified: [] })), /the signature of evt_2 is wrong/],
    ['the secret that still holds has not signed', ALL.with(1, got(2, { verified: [1] })), /the signature of evt_2/],
    ['one came again before any kill', [...ALL, got(4)], /evt_4 came again, and nothing had been killed/],
    [
      'more came again than was in flight',
      [...ALL, ...[2, 3, 4].map((position) => got(position, afterKill))],
      /1 more events came again than the 2 that can be in flight at a kill, such as evt_4/,
    ],
    ['a strict order is broken', [got(1), got(3), got(2), got(4)], /3 came after 1/, { order: 'strict' }],
    [
      'a strict order goes back',
      [got(1), got(2), got(1, afterKill), got(3), got(4)],
      /1 came after 2/,
      { order: 'strict' },
    ],
    [
      'a strict webhook goes on before an event was accepted',
      [got(1), got(2, { status: 500 }), got(3), got(2), got(4)],
      /3 came before 2 was accepted/,
      { order: 'strict' },
    ],
  ])('are wrong where %s', ([, deliveries, problem, webhook]) => {
    expect(judge(deliveries, webhook)).toMatch(problem);
  });

  test('may come again after each of several kills', () => {
    // Two in flight at the first kill, and two at the second one; all of them come again after the second.
    const again = [got(1), got(2), got(3, { at: 3_100 }), got(4, { at: 3_100 })];
    const late = [1, 2, 3, 4].map((position) => got(position, { at: 5_000 }));
    expect(judge([...again, ...late], {}, { kills: [KILLED_AT, 4_000] })).toBe('');
    expect(judge([...again, ...late], {}, { kills: [4_000] })).toMatch(/2 more events came again than the 2/);
    expect(judge([...again, ...late], {}, { kills: [5_500] })).toMatch(/nothing had been killed/);
  });

  test('that come again are counted once they were accepted', () => {
    expect(countRepeats([got(1, { status: 500 }), got(1), got(1), got(2), got(1)])).toBe(2);
  });
});
