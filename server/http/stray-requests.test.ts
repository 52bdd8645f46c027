import { expect, it } from 'vitest';
import { OPERATIONS } from '../../contract/operations.ts';
import { similarPath } from './stray-requests.ts';

const PATTERNS = Object.values(OPERATIONS).map(({ path }) => path);

it.each([
  ['/api/v0.1/core/transfers', '/api/v0.1/core/transfer'],
  ['/api/v0.1/transfer', '/api/v0.1/core/transfer'],
  ['/transfers/tr_1', '/api/v0.1/core/transfer/{transfer_id}'],
  ['/v1/cards/card_1/Holds', '/api/v0.1/core/card/{card_id}/hold'],
  ['/api/v0.1/core/transfer/tr_1/captuer', '/api/v0.1/core/transfer/{transfer_id}/capture'],
  ['/api/v0.1/core/key', '/api/v0.1/operator/key'],
  ['/api/v0.1/core/payment', undefined],
  ['/robots.txt', undefined],
  ['/api', undefined],
])('for %s, suggests the path %s', (path, pattern) => {
  expect(similarPath(path, PATTERNS)).toBe(pattern);
});

it('suggests a path with the same number of segments for every misspelled path of an operation', () => {
  for (const pattern of PATTERNS) {
    const sent = pattern.replace('/api/v0.1/core/', '/api/v1/').replaceAll(/\{[a-z_]+\}/g, 'x');
    expect(similarPath(sent, PATTERNS)?.split('/').length, pattern).toBe(pattern.split('/').length);
  }
});
