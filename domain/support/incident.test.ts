import { expect, test } from 'vitest';
import { type Coverage, type Covered, covers } from './incident.ts';

const EVERYTHING: Coverage = { scope: 'all', programId: null, operation: null, codes: [] };
const OF_PROGRAM: Coverage = { ...EVERYTHING, scope: 'program', programId: 'mine' };
const OF_OPERATION: Coverage = { ...EVERYTHING, scope: 'operation', operation: 'create_card' };
const ERROR: Covered = { programId: 'mine', operation: 'create_card', code: 'service_disabled' };

test.each<[string, Coverage, Partial<Covered>, boolean]>([
  ['everything covers any error', EVERYTHING, {}, true],
  ['everything covers an error without a program', EVERYTHING, { programId: null, operation: null }, true],
  ['nothing covers a case without an error', EVERYTHING, { code: null }, false],
  ['a program covers its own errors', OF_PROGRAM, {}, true],
  ['a program covers no error of another program', OF_PROGRAM, { programId: 'theirs' }, false],
  ['a program covers no error without a program', OF_PROGRAM, { programId: undefined }, false],
  ['an operation covers its own errors', OF_OPERATION, {}, true],
  ['an operation covers no error of another operation', OF_OPERATION, { operation: 'create_transfer' }, false],
  ['codes cover these', { ...EVERYTHING, codes: ['service_disabled'] }, {}, true],
  ['codes cover no other', { ...OF_PROGRAM, codes: ['card_closed'] }, {}, false],
])('%s', (_, coverage, error, expected) => {
  expect(covers(coverage, { ...ERROR, ...error })).toBe(expected);
});
