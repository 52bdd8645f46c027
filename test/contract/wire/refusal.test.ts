import { describe, expect, test } from 'vitest';
import type { ReceivedResponse } from '../../harness/conversation.ts';
import { problemOfRefusal, problemOfText } from './refusal.ts';

// Checks that `problemOfRefusal` finds every problem that it should find.

const NUMBER = '4111111111111111';
const EXPECTED = { planted: [NUMBER], codes: new Set(['create_transfer_schema']) };

function refused(message: string, change: (response: ReceivedResponse) => object = () => ({})): ReceivedResponse {
  const body = JSON.stringify({ Message: message, Status: 400, Code: 'create_transfer_schema', Type: 'Request Error' });
  const headers = [
    'HTTP/1.1 400 Bad Request',
    'Content-Type: application/json; charset=utf-8',
    `Request-Id: req_${'0'.repeat(32)}`,
    'Cache-Control: no-store',
    'Error-Code: create_transfer_schema',
    'Link: </errors/create_transfer_schema>; rel="describedby"',
    'Should-Retry: false',
    'Money-Moved: no',
  ];
  const response = { status: 400, head: headers.join('\r\n'), body };
  return { ...response, ...change(response) };
}

const without = (header: string) =>
  refused('No.', ({ head }) => ({ head: head.replace(new RegExp(`\r\n${header}: [^\r]*`), '') }));
const withCode = (code: string) =>
  refused('No.', ({ head, body }) => ({
    head: head.replaceAll('create_transfer_schema', code),
    body: body.replace('create_transfer_schema', code),
  }));
const withBody = (from: string, to: string) => refused('No.', ({ body }) => ({ body: body.replace(from, to) }));

test('accepts an error record', () => {
  expect(problemOfRefusal(refused('The amount is missing.'), EXPECTED)).toBeUndefined();
});

describe('finds', () => {
  test.each<[string, ReceivedResponse]>([
    ['a success', { status: 201, head: 'HTTP/1.1 201 Created', body: '{"amount":5}' }],
    ['a redirect', { status: 302, head: 'HTTP/1.1 302 Found', body: '' }],
    ['a stack trace', refused('Broken at handler (file.ts:1:2).')],
    ['a PostgreSQL message', refused('duplicate key value violates unique constraint "card_name".')],
    ['a function instead of a reason', refused('function toString() { [native code] }.')],
    ['a card number', refused('The card 4111 1111 1111 1111 does not exist.')],
    ['a fifth member', withBody('}', ',"Extra":1}')],
    ['a different status in the body', withBody('400', '404')],
    ['a different code in the body', withBody('_schema', '_x')],
    ['a code that the document does not list', withCode('create_transfer_invalid')],
    ['no message', refused('')],
    ['advice to contact support for a mistake of the caller', refused('Please contact support.')],
    ['no request id', without('Request-Id')],
    ['no link', without('Link')],
    ['no advice on retries', without('Should-Retry')],
    ['an unknown outcome', refused('No.', ({ head }) => ({ head: head.replace('Moved: no', 'Moved: unknown') }))],
  ])('%s', (_, response) => {
    expect(problemOfRefusal(response, EXPECTED)).toBeDefined();
  });

  test('reports the status 500 in any response', () => {
    expect(problemOfText('{}', 500, [])).toBeDefined();
    expect(problemOfText('{}', 503, [])).toBeUndefined();
  });
});
