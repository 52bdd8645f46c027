import pg from 'pg';
import { expect, test } from 'vitest';
import { REQUESTS } from '../../server/store/connection/connections.ts';
import { Pool, PoolGroup } from '../../server/store/connection/pool.ts';
import { Standby } from '../../server/store/connection/standby.ts';

/** Returns a standby without a connection, because the test sends nothing to the database. */
function unconnected(): Standby {
  return new Standby(new Pool(new pg.Pool(), { kind: 'writers', min: 0, max: 1 }, new PoolGroup(), REQUESTS));
}

const AT = Date.parse('2026-01-01T12:00:00Z');
const before = (seconds: number): Date => new Date(AT - seconds * 1000);

test('an acknowledged commit confirms changes from a minute before it, but only on the same server', () => {
  const standby = unconnected();
  expect(standby.has(before(3600), 'one')).toBe(false);
  standby.note(new Date(AT), 'one');
  expect(standby.has(before(61), 'one')).toBe(true);
  expect(standby.has(before(60), 'one')).toBe(false);
  // After a failover to a server whose clock is an hour behind, the youngest rows would look old enough.
  expect(standby.has(before(3600), 'other')).toBe(false);
});

test('the latest acknowledged commit counts, because a clock can be set back', () => {
  const standby = unconnected();
  standby.note(new Date(AT), 'one');
  standby.note(before(3600), 'one');
  expect(standby.has(before(1800), 'one')).toBe(false);
  standby.note(before(3600), 'other');
  expect(standby.has(before(7200), 'one')).toBe(false);
});
