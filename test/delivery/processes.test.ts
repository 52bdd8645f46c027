import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startTwoServices, type TwoServices } from '../../verification/environments/processes/services.ts';
import { type ServiceProcess, startService, waitFor } from '../harness/process.ts';
import { connect, createWebhook, newProgram, type Program, webhookWhen } from './arrange.ts';
import { type Receiver, receiverForTest } from './receiver.ts';

const key = { WEBHOOK_KEY: randomBytes(32).toString('base64') };
let services: TwoServices;
let first: ServiceProcess;
let second: ServiceProcess;
let database: pg.Client;
beforeAll(async () => {
  services = await startTwoServices(undefined, { ofBoth: key });
  [first, second] = services.both;
  database = await connect(services.databaseUrl);
});
afterAll(async () => {
  await database?.end();
  await services?.end();
});

/** Returns the number of shards that each process holds. */
async function shares(): Promise<readonly number[]> {
  const { rows } = await database.query<{ count: number }>(
    'select count(*)::int as count from webhook_shard where expires_at > clock_timestamp() group by owner order by 1',
  );
  return rows.map(({ count }) => count);
}

/** Makes the leases of a killed process expire now, instead of within ten seconds. */
const expireLeases = () => database.query('update webhook_shard set expires_at = clock_timestamp()');

const repeats = ({ positions }: Receiver): number => positions.length - new Set(positions).size;

/** Checks for strict order: an event may arrive more than once, but never before an earlier event. */
function expectStrict({ positions }: Receiver): void {
  for (const [index, position] of positions.entries()) {
    const before = positions[index - 1];
    if (before !== undefined) expect([before, before + 1]).toContain(position);
  }
}

async function strictAndParallel(program: Program) {
  const [strict, parallel] = [await receiverForTest(), await receiverForTest()];
  const pause = (response: { writeHead: (status: number) => { end: () => void } }) =>
    setTimeout(() => response.writeHead(204).end(), 3);
  strict.respond = () => pause;
  parallel.respond = () => pause;
  const webhooks = [
    await createWebhook(program, strict, { order: 'strict' }),
    await createWebhook(program, parallel, { concurrency: 5 }),
  ];
  return { strict, parallel, webhooks };
}

test('the running processes share the webhooks', async () => {
  const program = await newProgram({ service: first });
  const { strict, parallel } = await strictAndParallel(program);
  await waitFor('two shares', async () => (await shares()).join() === '8,8');
  const last = await program.transfer(10);
  await strict.all(program.start + 1, last);
  await parallel.all(program.start + 1, last);
  expectStrict(strict);
  const third = await startService({ ...services.settings(), ...key });
  await waitFor('three shares', async () => (await shares()).join() === '4,6,6');
  const more = await program.transfer(10);
  await third.stop();
  // The test does not wait for leases to expire, because a process that stops returns its leases.
  await waitFor('two shares', async () => (await shares()).join() === '8,8');
  await strict.all(program.start + 1, more);
  await parallel.all(program.start + 1, more);
  expectStrict(strict);
  expect(repeats(strict) + repeats(parallel)).toBe(0);
});

test('a frozen process sends no event that other processes have sent in the meantime', async () => {
  const program = await newProgram({ service: first });
  const webhooks: { readonly strict: Receiver; readonly webhookId: string }[] = [];
  // Creates so many webhooks that some of them belong to the process that is frozen below.
  for (let count = 0; count < 8; count += 1) {
    const strict = await receiverForTest();
    strict.respond = () => (response) => setTimeout(() => response.writeHead(204).end(), 3);
    webhooks.push({ strict, webhookId: (await createWebhook(program, strict, { order: 'strict' })).webhook_id });
  }
  await waitFor('two shares', async () => (await shares()).join() === '8,8');
  const transfers = program.transfer(30);
  await waitFor('some events', async () => webhooks.every(({ strict }) => strict.received.length > 2));
  second.child.kill('SIGSTOP');
  onTestFinished(() => void second.child.kill('SIGCONT'));
  const last = await transfers;
  for (const { strict } of webhooks) await strict.all(program.start + 1, last);
  second.child.kill('SIGCONT');
  const more = await program.transfer(5);
  for (const { strict, webhookId } of webhooks) {
    await strict.all(program.start + 1, more);
    await webhookWhen(program, webhookId, ({ position }) => position === more);
    expectStrict(strict);
    expect(repeats(strict)).toBeLessThanOrEqual(1);
  }
});

test('the events of a killed process are delivered by another process', async () => {
  const program = await newProgram({ service: first });
  await waitFor('two shares', async () => (await shares()).join() === '8,8');
  const { strict, parallel } = await strictAndParallel(program);
  const transfers = program.transfer(60);
  await waitFor('some events', async () => parallel.received.length > 10);
  await second.kill();
  await expireLeases();
  const last = await transfers;
  await strict.all(program.start + 1, last);
  await parallel.all(program.start + 1, last);
  expectStrict(strict);
  expect(repeats(strict)).toBeLessThanOrEqual(1);
  expect(repeats(parallel)).toBeLessThanOrEqual(5);
});
