import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TransferService } from '../../sdk/client.ts';
import { startTwoServices, type TwoServices } from '../../verification/environments/processes/services.ts';
import { patientClient } from '../harness/client/patience.ts';
import { type ServiceProcess, waitFor } from '../harness/process.ts';

let services: TwoServices;
let owner: ServiceProcess;
let other: ServiceProcess;
let client: TransferService;
let database: pg.Client;
/** A second connection, because pg_stat_activity does not change inside a transaction. */
let holder: pg.Client;
beforeAll(async () => {
  services = await startTwoServices();
  [owner, other] = services.both;
  client = patientClient(owner.url);
  [database, holder] = [new pg.Client(services.databaseUrl), new pg.Client(services.databaseUrl)];
  await Promise.all([database.connect(), holder.connect()]);
});
afterAll(async () => {
  // A suspended process cannot exit.
  owner?.child.kill('SIGCONT');
  await Promise.all([database?.end(), holder?.end()]);
  await services?.end();
});

const CASES = 500;
/** The number of cases that one request attaches, and that one transaction resolves. */
const AT_ONCE = 100;

test(`sends one case.resolved for each of ${CASES} cases if a process is killed while it resolves them`, async () => {
  const { program_id: theirs } = await client.programs.create({ name: 'Other', currency: 'USD' });
  const opened: string[] = [];
  const open = async (at: number) => {
    const options = at % 2 === 0 ? {} : { programId: theirs };
    opened.push((await client.cases.create({ text: 'Where is it?' }, options)).case_id);
  };
  for (let at = 0; at < CASES; at += 25) await Promise.all(Array.from({ length: 25 }, (_, next) => open(at + next)));
  const outage = { title: 'Transfers fail', public_text: 'We are on it.', scope: 'all' } as const;
  const { incident_id } = await client.incidents.create(outage);
  for (let at = 0; at < CASES; at += AT_ONCE) {
    await client.incidents.attach(incident_id, opened.slice(at, at + AT_ONCE));
  }

  // `owner` is suspended, so only `other`, which will be killed, resolves cases. Its third hundred cases must wait,
  // because `holder` locks one of them.
  const [waitedFor = ''] = opened.toSorted().slice(2.5 * AT_ONCE);
  await holder.query('begin');
  await holder.query('select from support_case where case_id = $1 for update', [waitedFor.slice('case_'.length)]);
  owner.child.kill('SIGSTOP');
  await patientClient(other.url).incidents.resolve(incident_id, { text: 'A server was replaced.', outcome: 'retry' });
  await waitFor('the third hundred cases to wait', async () => {
    const { rows } = await database.query(
      "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%support_case%'",
    );
    return rows.length > 0;
  });
  await other.kill();
  await holder.query('commit');
  const { rows } = await database.query("select count(*)::int as resolved from support_case where status = 'resolved'");
  expect(rows).toEqual([{ resolved: 2 * AT_ONCE }]);

  owner.child.kill('SIGCONT');
  await waitFor('all cases to be resolved', async () => {
    const { unresolved_case_count } = await client.incidents.inspect(incident_id);
    return unresolved_case_count === 0;
  });
  // Creates a last event in each program. Once that event has a position, all earlier events have one too.
  const resolved: string[] = [];
  for (const options of [{}, { programId: theirs }]) {
    const { card_id } = await client.cards.create({}, options);
    await waitFor('positions of the events', async () => {
      const { data } = await client.events.list({ after: 0, subject_id: card_id }, options);
      return data.length > 0;
    });
    for await (const { subject_id } of client.events.listAll({ type: 'case.resolved', limit: 100 }, options)) {
      resolved.push(subject_id);
    }
  }
  expect(resolved.toSorted()).toEqual(opened.toSorted());
  const { resolution } = await client.cases.inspect(opened[0] ?? '');
  expect(resolution).toBe('A server was replaced.');
});
