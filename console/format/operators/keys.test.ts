import { describe, expect, test } from 'vitest';
import { isUnused, stateOfKey } from './keys.ts';

const NOW = Date.parse('2026-11-22T12:00:00Z');
const at = (days: number): string => new Date(NOW + days * 86_400_000).toISOString();

describe('the state of a key', () => {
  const plain = { revoked_at: null, expires_at: null, replaced_by: null };

  test.each([
    [plain, 'active'],
    [{ ...plain, expires_at: at(1) }, 'active'],
    [{ ...plain, expires_at: at(0) }, 'expired'],
    [{ ...plain, replaced_by: 'key_2', expires_at: at(1) }, 'rolled'],
    [{ ...plain, replaced_by: 'key_2', expires_at: at(-1) }, 'expired'],
    [{ revoked_at: at(-1), expires_at: at(-2), replaced_by: 'key_2' }, 'revoked'],
  ])('%j is %s', (key, state) => {
    expect(stateOfKey(key, NOW)).toBe(state);
  });
});

describe('a key is unused', () => {
  test.each([
    [null, 0, false],
    [null, -0.9, false],
    [null, -1.1, true],
    [-29, -100, false],
    [-31, -100, true],
  ])('if used on day %s and created on day %s, with today as day 0: %s', (used, created, unused) => {
    const key = { last_used_at: used === null ? null : at(used), created_at: at(created) };
    expect(isUnused(key, NOW)).toBe(unused);
  });
});
