import { expect, test } from 'vitest';
import { Latencies } from './response-counter.ts';

test('has no quantiles without requests', () => {
  expect(new Latencies().quantile(0.5)).toBeNull();
});

test('computes a quantile to within five percent', () => {
  const latencies = new Latencies();
  for (let milliseconds = 1; milliseconds <= 1_000; milliseconds += 1) latencies.note(milliseconds);
  for (const share of [0.01, 0.5, 0.9, 0.99, 1]) {
    const exact = 1_000 * share;
    const found = latencies.quantile(share) ?? 0;
    expect(Math.abs(found - exact) / exact).toBeLessThan(0.07);
  }
});

test.each([0, -1, 0.001, 29_999, 10_000_000])('has a bucket for %d ms', (milliseconds) => {
  const latencies = new Latencies();
  latencies.note(milliseconds);
  expect(latencies.quantile(0.99)).toBeGreaterThan(0);
});

test('counts added latencies until they are cleared', () => {
  const [one, other] = [new Latencies(), new Latencies()];
  one.note(1);
  for (let count = 0; count < 9; count += 1) other.note(100);
  one.add(other);
  expect(one.quantile(0.05)).toBeCloseTo(1, 0);
  expect(one.quantile(0.5)).toBeGreaterThan(90);
  one.clear();
  expect(one.quantile(0.5)).toBeNull();
  expect(other.quantile(0.5)).toBeGreaterThan(90);
});
