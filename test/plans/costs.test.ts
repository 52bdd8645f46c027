import { readFile } from 'node:fs/promises';
import { beforeAll, expect, test } from 'vitest';
import { callTheUsual } from '../harness/every-operation.ts';
import { connect } from '../harness/ledger.ts';
import { startService } from '../harness/process.ts';
import { useDirectory } from '../harness/service.ts';
import { useServer } from '../harness/use-ledger.ts';
import { forbiddenReads, type Plan, relationsRead } from './plan.ts';

// Reads the plans that PostgreSQL logs for a service's statements. Unlike EXPLAIN, the log includes statements in
// functions and triggers.

type Logged = {
  readonly 'Query Text': string;
  readonly Settings?: Readonly<Record<string, string>>;
  readonly Plan: Plan;
};

const server = await useServer({ apart: 'It reads the log of PostgreSQL.' });
const directory = await useDirectory();

beforeAll(async () => {
  const superuser = await connect({ ...server.connection, user: 'postgres' });
  const settings = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_nested_statements': 'on',
    'auto_explain.log_settings': 'on',
    'auto_explain.log_format': 'json',
  };
  for (const [name, value] of Object.entries(settings)) {
    await superuser.query(`alter database ${server.connection.database} set ${name} = '${value}'`);
  }
  await superuser.end();
});

async function readPlans(): Promise<readonly Logged[]> {
  const log = await readFile(server.embedded.serverLog, 'utf8');
  return [...log.matchAll(/ ms {2}plan:\n((?:\t.*\n)+)/g)].map(([, text = '']) => JSON.parse(text) as Logged);
}

test('no statement has a plan that the settings exclude, or one so expensive that PostgreSQL would compile it', async () => {
  const service = await startService({ DATABASE_URL: server.embedded.url, DATA_DIR: directory.path });
  try {
    await callTheUsual(service.client);
  } finally {
    await service.stop();
  }
  const plans = await readPlans();
  // A replay reads only the day of events that contains the body.
  const ofReplays = plans.filter((logged) => logged['Query Text'].includes('select payload from event'));
  expect(ofReplays.length).toBeGreaterThan(0);
  for (const { Plan: plan } of ofReplays) {
    expect(relationsRead(plan)).toEqual([expect.stringMatching(/^event_[0-9]{4}_[0-9]{2}_[0-9]{2}$/)]);
  }
  const ofWriters = plans.filter(({ Settings }) => Settings?.enable_seqscan === 'off');
  const texts = new Set(ofWriters.map((logged) => logged['Query Text'].trim()));
  // The log must contain plans for the switch, the clock inside a function, and the head of the audit log in a trigger.
  for (const part of ['left join switch on disabled', 'clock_timestamp() + coalesce', 'from audit_head where']) {
    expect(
      [...texts].some((text) => text.includes(part)),
      part,
    ).toBe(true);
  }
  const faults = ofWriters.flatMap((logged) =>
    forbiddenReads(logged.Plan).map((read) => `${read}: ${logged['Query Text'].trim().slice(0, 200)}`),
  );
  expect([...new Set(faults)]).toEqual([]);
});
