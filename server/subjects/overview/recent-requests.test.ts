import { expect, test } from 'vitest';
import type { ErrorCode } from '../../../contract/operations.ts';
import { type CountedResponse, Latencies, ResponseCounter } from '../../calls/responses/response-counter.ts';
import type { StoredMinute } from '../../store/overview/service-process.ts';
import { figuresOf, RecentRequests } from './recent-requests.ts';

const END = new Date('2030-01-31T12:00:00.000Z');
const transfer = (status: number | undefined, code?: ErrorCode, milliseconds = 4): CountedResponse => ({
  operation: 'create_transfer',
  path: undefined,
  moneyMoved: undefined,
  status,
  code,
  isStray: false,
  milliseconds,
});

/** `pass` lets seconds pass with their ticks. `skip` lets time pass without a tick. */
function open() {
  const counter = new ResponseCounter();
  const requests = new RecentRequests(counter);
  let at = performance.now();
  let transfers = 0;
  const pass = (seconds = 1, made = 0, laneWaiting = 0): void => {
    for (let second = 0; second < seconds; second += 1) {
      at += 1000;
      transfers += made;
      requests.tick({ transfers, laneWaiting }, at);
    }
  };
  const skip = (seconds: number): void => {
    at += seconds * 1000;
  };
  return { requests, note: counter.note, pass, skip };
}

test('shows no figures for a process that has just started', () => {
  const { requests } = open();
  expect(requests.now()).toMatchObject({ seconds: 0, transfers_per_second: 0, requests: 0, success_ratio: null });
  expect(requests.recent(END)).toMatchObject({ transfers: [], errors: [], ends_at: END.toISOString() });
});

test('counts refusals by rules, other caller errors and service faults separately', () => {
  const { requests, note, pass } = open();
  for (let count = 0; count < 5; count += 1) note(transfer(201));
  note(transfer(409, 'insufficient_funds'));
  note(transfer(424, 'service_disabled'));
  note(transfer(400, 'create_transfer_schema'));
  note(transfer(503, 'service_unavailable'));
  note(transfer(500, 'unknown_create_transfer'));
  pass(2, 3);
  expect(requests.now()).toEqual({
    seconds: 2,
    transfers_per_second: 3,
    requests: 10,
    succeeded: 5,
    refused: 2,
    invalid: 1,
    failed: 2,
    success_ratio: 0.5,
    p50_milliseconds: expect.closeTo(4, 0),
    p99_milliseconds: expect.closeTo(4, 0),
  });
});

test('counts only the error codes of reads and pages, and ignores stray requests and disconnected callers', () => {
  const { requests, note, pass } = open();
  const seen = { ...transfer(404), milliseconds: 1 };
  note({ ...seen, operation: 'get_card', code: 'card_not_found' });
  note({ ...seen, operation: undefined, code: 'route_not_found' });
  for (let count = 0; count < 3; count += 1) {
    note({ ...seen, operation: undefined, code: 'method_not_allowed', isStray: true });
  }
  note(transfer(undefined));
  pass(5);
  expect(requests.now()).toMatchObject({ requests: 0, p50_milliseconds: null });
  expect(requests.recent(END).errors).toEqual([
    { code: 'card_not_found', counts: [1] },
    { code: 'route_not_found', counts: [1] },
  ]);
});

test('keeps a request in the current figures for a minute, and in the chart for a quarter of an hour', () => {
  const { requests, note, pass } = open();
  note(transfer(201));
  pass(60, 1);
  expect(requests.now()).toMatchObject({ seconds: 60, requests: 1, transfers_per_second: 1 });
  pass(1);
  expect(requests.now()).toMatchObject({ seconds: 60, requests: 0 });
  pass(839);
  expect(requests.recent(END)).toMatchObject({ interval_seconds: 5 });
  expect(requests.recent(END).succeeded).toHaveLength(180);
  expect(requests.recent(END).succeeded[0]).toBe(1);
  expect(requests.recent(END).transfers.slice(0, 13)).toEqual([...Array<number>(12).fill(5), 0]);
  pass(5);
  expect(requests.recent(END).succeeded).toEqual(Array<number>(180).fill(0));
});

test('shows the maximum of the waiting requests at each point', () => {
  const { requests, pass } = open();
  pass(2, 0, 7);
  pass(3, 0, 1);
  expect(requests.recent(END).lane_waiting).toEqual([7]);
});

test('gives each of the most frequent codes its own line, and all other codes one line', () => {
  const { requests, note, pass } = open();
  const codes: readonly ErrorCode[] = [
    'insufficient_funds',
    'card_not_found',
    'card_closed',
    'limit_exceeded',
    'service_disabled',
    'unauthenticated',
    'forbidden',
    'rate_limited',
    'route_not_found',
    'method_not_allowed',
  ];
  for (const [index, code] of codes.entries()) {
    for (let count = 0; count < 20 - index; count += 1) note(transfer(409, code));
  }
  pass(5);
  const { errors } = requests.recent(END);
  expect(errors.map(({ code }) => code)).toEqual([...codes.slice(0, 8), 'other']);
  expect(errors.at(-1)?.counts).toEqual([12 + 11]);
});

test('shows a gap for the time during which the process was suspended', () => {
  const { requests, pass, skip } = open();
  pass(5, 1);
  skip(20);
  pass(5, 1);
  const { transfers, failed, lane_waiting } = requests.recent(END);
  expect(transfers).toEqual([5, null, null, null, null, 5]);
  expect([failed, lane_waiting]).toEqual(Array(2).fill([0, null, null, null, null, 0]));
});

function minuteOf(members: Partial<StoredMinute>, milliseconds: readonly number[] = []): StoredMinute {
  const latencies = new Latencies();
  for (const one of milliseconds) latencies.note(one);
  const counts = { transfers: 0, succeeded: 0, refused: 0, invalid: 0, failed: 0 };
  return { milliseconds: 60_000, ...counts, ...members, latencies: latencies.counts() };
}

test('adds the rates of several processes, and computes percentiles over all requests', () => {
  const busy = minuteOf({ transfers: 600, succeeded: 8, refused: 2 }, Array<number>(98).fill(4));
  const young = minuteOf({ transfers: 10, succeeded: 9, failed: 1, milliseconds: 10_000 }, [500, 500]);
  expect(figuresOf([busy, young])).toEqual({
    seconds: 60,
    transfers_per_second: 11,
    requests: 20,
    succeeded: 17,
    refused: 2,
    invalid: 0,
    failed: 1,
    success_ratio: 0.85,
    p50_milliseconds: expect.closeTo(4, 0),
    p99_milliseconds: expect.closeTo(500, -2),
  });
});

test('does not round the rate of a few transfers to 0', () => {
  expect(figuresOf([minuteOf({ transfers: 1 })]).transfers_per_second).toBe(0.017);
  expect(figuresOf([minuteOf({ transfers: 2_502 })]).transfers_per_second).toBe(41.7);
});

test('computes figures for no process and for a process that has just started', () => {
  const nothing = { seconds: 0, transfers_per_second: 0, requests: 0, success_ratio: null, p99_milliseconds: null };
  expect(figuresOf([])).toMatchObject(nothing);
  expect(figuresOf([minuteOf({ milliseconds: 0 })])).toMatchObject(nothing);
});
