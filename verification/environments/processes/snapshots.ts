import type pg from 'pg';
import { onConnection } from '../../../test/harness/ledger.ts';
import { pause, type Tally } from '../../campaign.ts';

/** The interval between snapshots, in milliseconds. */
const BETWEEN = 200;

/** The timeout of a read, in milliseconds. The server may have been killed. */
const TIMEOUT_MILLISECONDS = 5_000;

/**
 * Checks the sums that must always hold: each currency sums to zero, no account is below its floor, and held amounts equal
 * the sums of open holds. It is one statement, so it sees one snapshot. Returns the problems as `wrong`, empty if there are
 * none. `more` is an SQL expression for another problem, null if there is none.
 */
export function wrongSums(more = 'null'): string {
  return `select concat_ws(', ',
      case when unbalanced > 0 then unbalanced || ' currencies do not sum to zero' end,
      case when below > 0 then below || ' accounts are below the floor' end,
      case when held <> holds then 'held ' || held || ', holds ' || holds end,
      ${more}) as wrong
    from (
      select
        (select count(*) from (select from account group by currency having sum(balance) <> 0) as c) as unbalanced,
        (select count(*) from account where floor is not null and balance - held < floor) as below,
        (select coalesce(sum(held), 0) from account) as held,
        (select coalesce(sum(amount), 0) from hold) as holds
    ) as seen`;
}

/**
 * Reads the sums directly from the database a few times per second until it is stopped. Retries if the server is down.
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
      const { rows } = await client.query<{ wrong: string }>(wrongSums());
      tally.add('snapshots');
      const [seen] = rows;
      if (seen === undefined || seen.wrong !== '') tally.violate('snapshot', [seen?.wrong ?? 'nothing was read']);
      await pause(BETWEEN);
    }
  });
}
