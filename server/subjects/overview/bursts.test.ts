import { expect, test } from 'vitest';
import type { ErrorCode } from '../../../contract/operations.ts';
import { ResponseCounter } from '../../calls/responses/response-counter.ts';
import { Bursts } from './overview.ts';

const counter = new ResponseCounter();
const bursts = new Bursts(counter);

function note(count: number, code: ErrorCode = 'unknown_create_transfer', status = 500): void {
  const response = { operation: 'create_transfer', path: '/', isStray: false, milliseconds: 1 } as const;
  for (let at = 0; at < count; at += 1) counter.note({ ...response, status, code, moneyMoved: 'no' });
}

test("proposes nothing for the console's background reads, even after many failures", () => {
  const ofConsole = new ResponseCounter();
  const found = new Bursts(ofConsole);
  const failed = { operation: 'get_switch', path: '/', isStray: true, milliseconds: 1, moneyMoved: undefined } as const;
  for (let at = 0; at < 50; at += 1) ofConsole.note({ ...failed, status: 500, code: 'unknown_get_switch' });
  expect(found.find()).toEqual([]);
});

function pass(seconds: number): void {
  for (let at = 0; at < seconds; at += 1) bursts.tick();
}

test('proposes a code of Server or Process Errors that occurs five times a minute and ten times as often as in the hour before', () => {
  note(4);
  note(50, 'insufficient_funds', 409);
  expect(bursts.find()).toEqual([]);
  note(1);
  expect(bursts.find()).toEqual([{ code: 'unknown_create_transfer', in_last_minute: 5, in_hour_before: 0 }]);
  // A minute later these five belong to the hour before. Six in a minute are more than ten times that rate.
  pass(61);
  expect(bursts.find()).toEqual([]);
  note(6);
  expect(bursts.find()).toEqual([{ code: 'unknown_create_transfer', in_last_minute: 6, in_hour_before: 5 }]);
  pass(61);
  note(60);
  pass(61);
  // The previous hour now has 71 responses. Eleven in a minute are less than ten times that rate, and twelve are more.
  note(11);
  expect(bursts.find()).toEqual([]);
  note(1);
  expect(bursts.find()).toMatchObject([{ in_last_minute: 12, in_hour_before: 71 }]);
  // After more than an hour the counts are forgotten.
  pass(2 * 3600);
  note(5);
  expect(bursts.find()).toEqual([{ code: 'unknown_create_transfer', in_last_minute: 5, in_hour_before: 0 }]);
});
