import { expect, test } from 'vitest';
import { type Coverage, type Covered, covers } from './incident.ts';

const EVERYTHING: Coverage = { scope: 'all', programId: null, operation: null, codes: [] };
const OF_PROGRAM: Coverage = { ...EVERYTHING, scope: 'program', programId: 'mine' };
const OF_OPERATION: Coverage = { ...EVERYTHING, scope: 'operation', operation: 'create_card' };
const ERROR: Covered = { programId: 'mine', operation: 'create_card', code: 'service_disabled' };

test.each<[string, Coverage, Partial<Covered>, boolean]>([
  ['an incident for everything covers any error', EVERYTHING, {}, true],
  [
    'an incident for everything covers an error without a program',
    EVERYTHING,
    { programId: null, operation: null },
    true,
  ],
  ['no incident covers a case without an error', EVERYTHING, { code: null }, false],
  ['an incident for a program covers its errors', OF_PROGRAM, {}, true],
  ['an incident for a program does not cover an error of another program', OF_PROGRAM, { programId: 'theirs' }, false],
  ['an incident for a program does not cover an error without a program', OF_PROGRAM, { programId: undefined }, false],
  ['an incident for an operation covers its errors', OF_OPERATION, {}, true],
  [
    'an incident for an operation does not cover an error of another operation',
    OF_OPERATION,
    { operation: 'create_transfer' },
    false,
  ],
  [
    'an incident with error codes covers errors with these codes',
    { ...EVERYTHING, codes: ['service_disabled'] },
    {},
    true,
  ],
  [
    'an incident with error codes does not cover an error with a different code',
    { ...OF_PROGRAM, codes: ['card_closed'] },
    {},
    false,
  ],
])('%s', (_, coverage, error, expected) => {
  expect(covers(coverage, { ...ERROR, ...error })).toBe(expected);
});
