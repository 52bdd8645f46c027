/** The problems of a request that names a record which does not exist. */
export const RECORDS_NOT_FOUND = [
  'A card, a transfer or a reversal',
  'A card program or a key',
  'A request, an error or an event',
  'A case or an incident',
  'A connector, an attempt or a break',
  'A settlement file',
  'A move-in',
] as const;

/** The problems on the errors page, as users describe them, under headings. The most frequent come first. */
export const PROBLEM_GROUPS = [
  {
    title: 'A transfer was declined',
    problems: [
      'Not enough money',
      'The card is blocked',
      'The card is not active yet, has expired or is closed',
      'A limit was reached',
      'The currency is wrong',
      "The card's processor declined it",
      "The card's processor failed",
      'Transfers are paused',
    ],
  },
  {
    title: 'Not sure whether it worked',
    problems: ['Timeout, no response, or status 500', 'The service is down or overloaded', 'It was sent twice'],
  },
  {
    title: 'Access was denied',
    problems: [
      'Wrong, missing or expired key; signed out',
      'Not allowed',
      'Too many requests',
      'Sign-in with the OpenID provider failed',
    ],
  },
  {
    title: 'Something was not found',
    problems: [...RECORDS_NOT_FOUND, 'The URL'],
  },
  {
    title: 'Something cannot be changed or undone',
    problems: [
      'Capture, cancel or reverse a transfer',
      'Resolve an attempt',
      'Change, close or erase a card',
      'Someone else changed it first',
      'Approve, reject or withdraw a request',
      'Add, change or replay a webhook',
      'Reply to or resolve a case or an incident',
    ],
  },
  {
    title: 'The request was rejected',
    problems: [
      'A field is missing or wrong, or the JSON is invalid',
      'The amount is wrong',
      'The idempotency key is missing or wrong',
      'It contains a card number',
      'It is too large',
      'It is not valid JSON or HTTP',
      'A page cannot be shown',
    ],
  },
] as const;

/** The problem of a user who got an error code. */
export type Problem = (typeof PROBLEM_GROUPS)[number]['problems'][number];
