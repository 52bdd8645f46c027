import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest';
import { keepForms, removeOldForms } from './kept-forms.ts';

const NAME = 'console.forms';
const PERSON = 'per_0196f5c2d9a18b40a5d2c08e6f1b3a97';

/** The storage of the tab. The console's modules need a window with this storage when they are loaded. */
const { stored, tab } = vi.hoisted(() => {
  const stored = new Map<string, string>();
  const sessionStorage = {
    getItem: (name: string): string | null => stored.get(name) ?? null,
    setItem: (name: string, text: string) => void stored.set(name, text),
    removeItem: (name: string) => void stored.delete(name),
  };
  const location = new URL('https://cards.bank.test/console/keys');
  const tab = { sessionStorage, location, addEventListener: () => undefined };
  vi.stubGlobal('window', tab);
  return { stored, tab };
});

beforeEach(() => {
  stored.clear();
  vi.stubGlobal('window', tab);
  vi.useFakeTimers({ now: Date.parse('2026-11-23T06:00:00.000Z') });
});
afterEach(() => void vi.useRealTimers());
afterAll(() => void vi.unstubAllGlobals());

test('stores nothing if no person is signed in', () => {
  keepForms(null);
  expect(stored.size).toBe(0);
  keepForms(PERSON);
  expect(stored.get(NAME)).toContain(PERSON);
});

test('removes values that are 10 minutes old when the console starts, and keeps newer ones', () => {
  removeOldForms();
  keepForms(PERSON);
  vi.advanceTimersByTime(10 * 60_000);
  removeOldForms();
  expect(stored.has(NAME)).toBe(true);
  vi.advanceTimersByTime(1);
  removeOldForms();
  expect(stored.has(NAME)).toBe(false);
});

test('does not prevent the console from starting if the storage is blocked', () => {
  const refuse = () => {
    throw new Error('The operation is insecure.');
  };
  vi.stubGlobal('window', { ...tab, sessionStorage: { getItem: refuse } });
  expect(removeOldForms).not.toThrow();
});
