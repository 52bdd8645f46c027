import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { notify } from '../../../examples/minimal-adapter/notify.mjs';
import { temporaryDirectory } from '../../harness/process.ts';
import { checked, newSecret, noticeReceiver, order } from '../simulated.ts';
import { startExample } from './example.ts';

/** Starts an adapter with its files in a temporary directory. */
async function start() {
  const { path, remove } = await temporaryDirectory();
  onTestFinished(remove);
  const [attempts, processor] = [join(path, 'attempts.jsonl'), join(path, 'processor.jsonl')];
  const files = { ATTEMPTS_FILE: attempts, PROCESSOR_FILE: processor };
  const payments = (attemptId: string): number =>
    readFileSync(processor, 'utf8')
      .split('\n')
      .filter((line) => line.includes(attemptId)).length;
  return { files, attempts, processor, payments, adapter: await startExample('minimal-adapter', files) };
}

test('keeps every rule of the contract in fewer than 200 lines', async () => {
  const { adapter } = await start();
  const results = await checked(adapter.url, adapter.secret);
  expect(results.filter(({ outcome }) => outcome !== 'passed')).toEqual([]);
  const text = readFileSync(join(import.meta.dirname, '../../../examples/minimal-adapter/adapter.mjs'), 'utf8');
  expect(text.split('\n').length).toBeLessThan(200);
});

test('remembers its answers after it is killed', async () => {
  const { adapter, files, attempts, payments } = await start();
  const [approved, declined, reversed] = [order(), order(null, { processor_token: 'card_declined' }), order()];
  const first = [await adapter.call('send', approved), await adapter.call('send', declined)];
  await adapter.call('send', reversed);
  await adapter.call('reverse', reversed);
  await adapter.kill();
  appendFileSync(attempts, '{"attempt_id":"att_that was cut');
  // Starts twice, because the truncated line must not break the second start either.
  for (let again = 0; again < 2; again += 1) {
    const restarted = await startExample('minimal-adapter', files, adapter.secret);
    expect((await restarted.call('send', { ...approved, repeat: true })).record).toEqual(first[0]?.record);
    expect((await restarted.call('inquire', declined)).record).toMatchObject({ status: 'declined', code: '05' });
    expect((await restarted.call('inquire', reversed)).record?.status).toBe('reversed');
    await restarted.kill();
  }
  expect(payments(approved.attempt_id)).toBe(1);
});

test('executes an order once if it was killed just before or after it asked the processor', async () => {
  const { adapter, files, attempts, payments, processor } = await start();
  const [executed, lost] = [order(), order()];
  await adapter.call('send', executed);
  await adapter.kill();
  // Recreates the files after two kills: one between asking the processor and storing the answer, and one before
  // asking.
  const stored = readFileSync(attempts, 'utf8').split('\n');
  const sending = stored.filter((line) => line.includes('"sending"'));
  expect(sending).toHaveLength(1);
  const lostLine = { ...JSON.parse(sending[0] ?? ''), attempt_id: lost.attempt_id };
  Object.assign(lostLine, { program_id: lost.program_id, transfer_id: lost.transfer_id });
  writeFileSync(attempts, `${sending.join('\n')}\n${JSON.stringify(lostLine)}\n`);
  expect(readFileSync(processor, 'utf8')).toContain(executed.attempt_id);
  const restarted = await startExample('minimal-adapter', files, adapter.secret);
  expect((await restarted.call('inquire', executed)).record?.status).toBe('approved');
  expect((await restarted.call('inquire', lost)).record?.status).toBe('not_found');
  // The order may still be on its way to the processor, so the adapter cannot rule out that it will be executed.
  const late = { ...lost, repeat: true, not_after: new Date(0).toISOString() };
  expect((await restarted.call('send', late)).status).toBe(503);
  for (const one of [executed, lost]) {
    expect((await restarted.call('send', { ...one, repeat: true })).record?.status).toBe('approved');
    expect(payments(one.attempt_id)).toBe(1);
  }
});

test('asks the processor if its own file is missing, and never denies an executed order', async () => {
  const { adapter, files, attempts, payments } = await start();
  const [asked, sent] = [order(), order()];
  for (const one of [asked, sent]) await adapter.call('send', one);
  await adapter.kill();
  rmSync(attempts);
  const restarted = await startExample('minimal-adapter', files, adapter.secret);
  expect((await restarted.call('inquire', asked)).record?.status).toBe('approved');
  const late = { ...sent, repeat: true, not_after: new Date(Date.now() - 60_000).toISOString() };
  expect((await restarted.call('send', late)).record?.status).toBe('approved');
  for (const one of [asked, sent]) expect(payments(one.attempt_id)).toBe(1);
});

test("does not accept a processor's record with a different amount as the order", async () => {
  const { adapter, files, attempts, processor } = await start();
  const one = order();
  await adapter.call('send', one);
  await adapter.kill();
  writeFileSync(
    attempts,
    `${readFileSync(attempts, 'utf8')
      .split('\n')
      .filter((line) => line.includes('"sending"'))}\n`,
  );
  writeFileSync(processor, readFileSync(processor, 'utf8').replace('"amount":1000', '"amount":100000'));
  const restarted = await startExample('minimal-adapter', files, adapter.secret);
  expect((await restarted.call('inquire', one)).status).toBe(502);
});

test('signs a notice and sends it until the service has stored it', async () => {
  const secret = newSecret();
  const { url, notices } = await noticeReceiver(() => secret, [503]);
  await notify({ attempt_id: 'att_1', status: 'approved', amount: 1000, currency: 'USD' }, url, secret);
  expect(notices).toMatchObject([{ attempt_id: 'att_1', status: 'approved', notice_id: 'att_1-approved' }]);
});
