import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { trialBalance } from '../harness/ledger.ts';
import { waitFor } from '../harness/process.ts';
import type { TrapOutcome, TrapPlace } from '../harness/proxy.ts';
import { lay, openStage, type Stage, untilReady } from './stage.ts';

// A loop processes due transfers. No caller retries for it, so it must find out whether its commits succeeded.

let stage: Stage;
/** How far the sandbox's clock is ahead, in seconds. */
let ahead = 0;

beforeAll(async () => {
  stage = await openStage();
});

afterAll(async () => {
  await stage.end();
});

const EACH = 5;
const HOUR = 3600;

type Due = { readonly name: string; readonly at: TrapPlace; readonly outcome: TrapOutcome };

const FAULTS: readonly Due[] = [
  { name: 'the connection is cut before COMMIT', at: 'before_commit', outcome: 'cut' },
  { name: 'the connection is cut after COMMIT', at: 'after_commit', outcome: 'cut' },
  { name: 'the reply to COMMIT never arrives', at: 'after_commit', outcome: 'swallow' },
];

/** Creates holds and scheduled transfers of a cent, all due within the hour. Returns their marker. */
async function makeDue(): Promise<string> {
  const marker = randomUUID();
  const soon = new Date(Date.now() + (ahead + HOUR / 2) * 1000).toISOString();
  const { transfers } = stage.service().client;
  const cent = { amount: 1, card_id: 'card_active', description: marker } as const;
  for (let made = 0; made < EACH; made += 1) {
    await transfers.create({ ...cent, scheduled_for: soon });
    await transfers.create({ ...cent, capture: 'manual', expires_at: soon });
  }
  return marker;
}

type Row = { readonly status: string; readonly count: number; readonly postings: number; readonly holds: number };

function readStates(marker: string): Promise<readonly Row[]> {
  return stage.ask(async (client) => {
    const { rows } = await client.query<Row>(
      `select status, count(*)::integer as count,
          sum((select count(*) from posting where cause_id = transfer_id))::integer as postings,
          sum((select count(*) from hold where hold.transfer_id = transfer.transfer_id))::integer as holds
        from transfer where description = $1 group by status order by status`,
      [marker],
    );
    return rows;
  });
}

test.each(FAULTS)('due: $name', async ({ at, outcome }) => {
  await untilReady(stage);
  const marker = await makeDue();
  // The first transaction moves the clock.
  lay(stage, at, 'continue');
  const trap = lay(stage, at, outcome);
  ahead += HOUR;
  await stage.service().client.sandbox.moveClock({ seconds_ahead: ahead });
  const isSettled = async () => (await readStates(marker)).every(({ status }) => /^(completed|expired)$/.test(status));
  await waitFor('all due transfers to be processed', isSettled);
  expect(trap.sprung, 'the fault happened').toBe(true);
  await untilReady(stage);
  expect(await readStates(marker)).toEqual([
    { status: 'completed', count: EACH, postings: EACH, holds: 0 },
    { status: 'expired', count: EACH, postings: 0, holds: 0 },
  ]);
  const right = { balanced: true, postings_compared: true, differing_holds: 0 };
  expect(await trialBalance(stage.ledger)).toMatchObject(right);
});
