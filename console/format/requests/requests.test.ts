import { expect, test } from 'vitest';
import type { LoggedErrorRecord } from '../../../sdk/client.ts';
import { ticketOf, titleOf, toShownRequest } from './requests.ts';

const ERROR: LoggedErrorRecord = {
  request_id: 'req_0196f5c2d9a27c3e8b1f4a6d7e905b13',
  created_at: '2026-01-31T09:30:00.000Z',
  operation: 'create_transfer',
  code: 'insufficient_funds',
  status: 409,
  type: 'Request Error',
  message: "The card 'card_empty' has 0.00 USD available",
  field: '/amount',
  method: 'POST',
  path: '/api/v0.1/core/transfer',
  card_id: 'card_empty',
  transfer_id: null,
  idempotency_key: 'order-17',
  key_id: 'key_1',
  money_moved: 'no',
  request: { amount: 1 },
  traceparent: null,
};

test('summarizes an error: what happened and whether money moved, without repeating either', () => {
  expect(toShownRequest(ERROR).summary).toBe(
    "Declined: insufficient funds. The card 'card_empty' has 0.00 USD available. No money moved.",
  );
  const failed = { ...ERROR, status: 500, code: 'unknown_create_transfer', message: 'It failed. No money was moved.' };
  expect(toShownRequest(failed).summary).toBe('Failed: It failed. No money was moved.');
  const unread = { ...ERROR, operation: 'get_card', code: 'get_card_schema', status: 400, message: 'Wrong.' };
  expect(toShownRequest(unread).summary).toBe('Refused: invalid request. Wrong. No money moved.');
  expect(toShownRequest({ ...ERROR, operation: null, money_moved: 'unknown' })).toMatchObject({
    money_moved: 'unknown',
    summary: expect.stringContaining('It is not known whether money moved.'),
  });
});

test('writes a ticket with everything that support needs and a link', () => {
  expect(ticketOf(toShownRequest(ERROR), 'http://localhost:8080').split('\n').slice(2)).toEqual([
    `Request: ${ERROR.request_id}`,
    'Received: 2026-01-31T09:30:00.000Z',
    'Operation: create_transfer',
    'Caller: key_1',
    'Idempotency key: order-17',
    'Error: 409 insufficient_funds',
    `Message: ${ERROR.message}`,
    'Field: /amount',
    'Card: card_empty',
    `http://localhost:8080/console/request/${ERROR.request_id}`,
  ]);
});

test('names the operation and the outcome in the title of a request', () => {
  const request = toShownRequest(ERROR);
  expect(titleOf(request)).toBe('Create transfer: insufficient funds');
  expect(titleOf({ ...request, outcome: 'succeeded', error: null })).toBe('Create transfer: succeeded');
  expect(titleOf({ ...request, operation: null })).toBe('Request: insufficient funds');
  const unknown = toShownRequest({ ...ERROR, code: 'unknown_create_transfer', status: 500, money_moved: 'unknown' });
  expect(titleOf(unknown)).toBe('Create transfer: outcome unknown');
  expect(titleOf({ ...unknown, money_moved: 'no' })).toBe('Create transfer: failed');
});
