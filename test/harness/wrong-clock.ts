// Makes the process's wall clock wrong by WRONG_CLOCK_HOURS in every API. Load this file with --import.
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

const off = Number(process.env.WRONG_CLOCK_HOURS) * 3_600_000;
const RightDate = Date;
const rightIds = crypto.randomUUIDv7.bind(crypto);
const rightOrigin = performance.timeOrigin;

class WrongDate extends RightDate {
  constructor(...time: unknown[]) {
    super(...((time.length === 0 ? [RightDate.now() + off] : time) as []));
  }

  static override now(): number {
    return RightDate.now() + off;
  }
}

/** Returns a UUIDv7 with the wrong time. Native code reads the clock for these ids, so their time must be replaced. */
function wrongId(): ReturnType<typeof rightIds> {
  const time = (RightDate.now() + off).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}${rightIds().slice(13)}` as ReturnType<typeof rightIds>;
}

globalThis.Date = WrongDate as DateConstructor;
Object.defineProperty(performance, 'timeOrigin', { get: () => rightOrigin + off });
crypto.randomUUIDv7 = wrongId;
syncBuiltinESMExports();
