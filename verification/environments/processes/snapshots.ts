import type pg from 'pg';
import { onConnection } from '../../../test/harness/ledger.ts';
import { pause, type Tally } from '../../campaign.ts';
import { countsIn, SUMS } from '../../checkers/books.ts';

/** The interval between snapshots, in milliseconds. */
const BETWEEN = 200;

/** The timeout of a read, in milliseconds. The server may have been killed. */
const TIMEOUT_MILLISECONDS = 5_000;

/**
 * Reads the sums of the books directly from the database a few times per second until it is stopped. Retries if the server is down.
 * Counts the snapshots. A run without any is a violation.
 */
export function readSnapshots(settings: () => Promise<pg.ClientConfig>, tally: Tally): () => Promise<void> {
  const before = tally.count('snapshots');
  let isOver = false;
  const readOn = async (): Promise<void> => {
    while (!isOver) {
      // The server may have been killed, or may be starting.
      await readWhileThere(settings, tally, () => !isOver).catch(() => undefined);
      await pause(BETWEEN);
    }
  };
  const reading = readOn();
  return async () => {
    isOver = true;
    await reading;
    if (tally.count('snapshots') === before) tally.violate('snapshots', ['no snapshot could be read']);
  };
}

async function readWhileThere(
  settings: () => Promise<pg.ClientConfig>,
  tally: Tally,
  goesOn: () => boolean,
): Promise<void> {
  const limits = { connectionTimeoutMillis: TIMEOUT_MILLISECONDS, query_timeout: TIMEOUT_MILLISECONDS };
  await onConnection({ ...(await settings()), ...limits }, async (client) => {
    while (goesOn()) {
      // One statement sees one snapshot.
      const { rows } = await client.query<Record<string, string>>(`select ${SUMS}`);
      tally.add('snapshots');
      const wrong = Object.entries(countsIn(rows)).map(([what, count]) => `${what}: ${count}`);
      tally.violate('snapshot', wrong);
      await pause(BETWEEN);
    }
  });
}
