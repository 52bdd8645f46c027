import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceOnLedger } from './round.ts';

/** Between two looks at what the relay has still to do. */
const PAUSE_MILLISECONDS = 100;

/** Runs something while the relay of a service waits for its lock, and then lets it number what has come together. */
export async function withoutRelay<Result>(
  { stage: { server }, ledger: { database } }: ServiceOnLedger,
  run: () => Promise<Result>,
): Promise<Result> {
  const holder = await server.connect(database);
  try {
    await holder.query("select pg_advisory_lock(7202, 'event_head'::regclass::oid::int)");
    return await run();
  } finally {
    await holder.end();
    const waiting = 'select exists (select from write_batch where not relayed and not abandoned) as found';
    while ((await server.query(database, waiting)).rows[0]?.found) await sleep(PAUSE_MILLISECONDS);
  }
}
