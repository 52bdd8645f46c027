import { describe, expect, it } from 'vitest';
import { Accounts, type Found } from './accounts.ts';

// Answers are compared with books that lie in one place at a time: each of these must be found out.

const RIGHT = {
  a: { balance: 7, held: 0, incoming: 5 },
  'funding USD': { balance: 93, held: 5 },
} satisfies Record<string, Found>;

function record(transferId: string, amount: number, captured: number, status: string): object {
  const about = { type: 'load', card_id: 'a', destination_card_id: null, currency: 'USD' };
  return { transfer_id: transferId, amount, captured_amount: captured, status, ...about };
}

/** Ten cents loaded, three of them reversed; a hold of five; one of six that was captured, then reversed, whole. */
const ANSWERS: readonly (readonly [status: number, body: object])[] = [
  [201, record('tr_1', 10, 10, 'completed')],
  [201, { reversal_id: 'rev_1', transfer_id: 'tr_1', amount: 3 }],
  [201, record('tr_2', 5, 0, 'pending')],
  [201, record('tr_3', 6, 0, 'pending')],
  [200, record('tr_3', 6, 6, 'completed')],
  // Read before it was captured, and answered after that.
  [200, record('tr_3', 6, 0, 'pending')],
  [201, { reversal_id: 'rev_2', transfer_id: 'tr_3', amount: 6 }],
  [201, record('tr_4', 9, 0, 'scheduled')],
  [200, record('tr_4', 9, 0, 'canceled')],
];

function problemsOf(found: Readonly<Record<string, Found>>): readonly string[] {
  const accounts = new Accounts(new Map([['funding USD', 100]]));
  for (const [status, body] of ANSWERS)
    accounts.note({ status, head: `HTTP/1.1 ${status} x`, body: JSON.stringify(body) });
  return accounts.compare(new Map(Object.entries(found)));
}

describe('the sum of the responses', () => {
  it('equals the books', () => {
    expect(problemsOf(RIGHT)).toEqual([]);
  });

  it.each<[string, Readonly<Record<string, Found>>, RegExp]>([
    [
      'money that is missing',
      { a: { ...RIGHT.a, balance: 6 } },
      /^a has balance 6, and by the responses it must be 7$/,
    ],
    ['money that came twice', { 'funding USD': { balance: 94, held: 5 } }, /^funding USD has balance 94/],
    ['a hold that nobody asked for', { a: { ...RIGHT.a, held: 1 } }, /^a has held 1/],
    ['a hold that was lost', { a: { ...RIGHT.a, incoming: 0 } }, /^a has incoming 0/],
    ['a hold on funding that was lost', { 'funding USD': { balance: 93, held: 0 } }, /^funding USD has held 0/],
    ['money where none was', { b: { balance: 1, held: 0, incoming: 0 } }, /^b has balance 1/],
  ])('does not equal the books: %s', (_, lie, problem) => {
    const problems = problemsOf({ ...RIGHT, ...lie });
    expect(problems.length).toBe(1);
    expect(problems[0]).toMatch(problem);
  });

  it('has no reversal of an unknown transfer, and no missing account', () => {
    const accounts = new Accounts(new Map());
    const reversal = { reversal_id: 'rev_1', transfer_id: 'tr_9', amount: 1 };
    accounts.note({ status: 201, head: 'HTTP/1.1 201 x', body: JSON.stringify(reversal) });
    accounts.note({ status: 201, head: 'HTTP/1.1 201 x', body: JSON.stringify(record('tr_1', 1, 1, 'completed')) });
    expect(accounts.compare(new Map())).toEqual([
      'tr_9 was reversed, and nobody had made it',
      'funding USD is not there',
      'a is not there',
    ]);
  });
});
