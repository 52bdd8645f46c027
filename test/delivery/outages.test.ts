import { expect, test } from 'vitest';
import { embeddedServerOf, waitFor } from '../harness/process.ts';
import { directoryForTest, startForTest } from '../harness/service.ts';
import { connect, createWebhook, newProgram, webhookWhen } from './arrange.ts';
import { receiverForTest } from './receiver.ts';

test('an event is neither lost nor miscounted if the database stops during delivery', async () => {
  const service = await startForTest({ DATA_DIR: await directoryForTest() });
  const program = await newProgram({ service });
  const receiver = await receiverForTest();
  receiver.respond = () => (response) => setTimeout(() => response.writeHead(204).end(), 20);
  const last = await program.transfer(60);
  const { webhook_id } = await createWebhook(program, receiver, { concurrency: 4 });
  await waitFor('some events', async () => receiver.received.length > 8);
  await service.database.stop();
  // Waits until the events in flight have arrived. After that, nothing can be stored.
  await waitFor('the report', async () => service.output().includes('cannot deliver events to webhooks'));
  await service.database.start();
  await receiver.all(program.start + 1, last);
  await webhookWhen(program, webhook_id, ({ position, backlog }) => position === last && backlog === 0);
  const repeated = receiver.positions.length - new Set(receiver.positions).size;
  expect(repeated).toBeLessThanOrEqual(4);
  const attempts: unknown[] = [];
  for await (const attempt of program.client.webhooks.attemptsAll(webhook_id)) attempts.push(attempt);
  expect(attempts.length).toBe(receiver.received.length);
  expect(service.output().split('cannot deliver events to webhooks').length - 1).toBeLessThanOrEqual(2);
});

test('the outcomes in flight are stored when the service stops, and an event without a response is resent', async () => {
  const directory = await directoryForTest();
  const service = await startForTest({ DATA_DIR: directory });
  const program = await newProgram({ service });
  const [slow, hanging] = [await receiverForTest(), await receiverForTest()];
  let respond = (): void => undefined;
  slow.respond = () => (response) => {
    respond = () => void response.writeHead(204).end();
  };
  hanging.respond = () => () => undefined;
  await createWebhook(program, slow);
  const { webhook_id } = await createWebhook(program, hanging);
  const last = await program.transfer(1);
  await waitFor('both requests', async () => slow.open === 1 && hanging.open === 1);
  const stopped = service.stop();
  await waitFor('the stop', async () => service.output().includes('Stopping.'));
  respond();
  expect(await stopped).toBe(0);
  // The test may see that the process has ended before it sees that its connections are closed.
  await waitFor('the end of the requests', async () => slow.open + hanging.open === 0);

  const again = await startForTest({ DATA_DIR: directory });
  const sql = await connect((await embeddedServerOf(directory)).databaseUrl);
  const { rows } = await sql.query('select count(*)::int as count from webhook_attempt');
  await sql.end();
  expect(rows).toEqual([{ count: 1 }]);
  hanging.respond = () => 204;
  await hanging.all(last, last);
  const client = again.client;
  await waitFor('the position', async () => {
    const { position } = await client.operatorWebhooks.get(webhook_id);
    return position === last;
  });
  expect(slow.received.length).toBe(1);
  expect(hanging.received.length).toBe(2);
});

test('delivery uses at most DATABASE_CONNECTIONS, and does not start if that is below 8', async () => {
  const directory = await directoryForTest();
  const service = await startForTest({ DATA_DIR: directory, DATABASE_CONNECTIONS: '8' });
  const program = await newProgram({ service });
  const receiver = await receiverForTest();
  await createWebhook(program, receiver);
  await Promise.all(
    Array.from({ length: 20 }, () => program.client.transfers.create({ card_id: program.cardId, amount: 1 })),
  );
  await receiver.all(program.start + 1, program.start + 20);
  const sql = await connect((await embeddedServerOf(directory)).databaseUrl);
  // Idle connections are closed after a few seconds.
  await waitFor('the connections', async () => {
    const { rows } = await sql.query(
      `select count(*)::int as count from pg_stat_activity where application_name = 'transfer-service'`,
    );
    return rows[0]?.count <= 8;
  });
  await sql.end();
  await service.stop();

  const small = await startForTest({ DATA_DIR: directory, DATABASE_CONNECTIONS: '7' });
  await waitFor('the error', async () => small.output().includes('too few to deliver to webhooks'));
  await small.client.cards.list();
});
