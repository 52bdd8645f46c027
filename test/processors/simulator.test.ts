import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { readAnswer } from '../../contract/processors/read-answer.ts';
import { isSandboxBehavior, SANDBOX_BEHAVIORS } from '../../domain/sandbox.ts';
import { prepareSimulator, writeSettlementFile } from '../../server/background/processors/start-simulator.ts';
import { parseStrictJson } from '../../server/calls/strict-json.ts';
import { readBehavior } from '../../simulator/behavior.ts';
import { checked, newSecret, noticeReceiver, order, simulated } from './simulated.ts';

/** Values after the name of a behavior, at and beyond each limit. */
const VALUES = [
  ...[
    '',
    '=',
    '=0',
    '=51',
    '=51:',
    '=51:60',
    '=51:x',
    '=51:2678400',
    '=51:2678401',
    '=51:9999999',
    '=51:10000000',
    '=N7',
    '=12345678',
    '=123456789',
  ],
  ...['=05', '=05:07', '=00000', '=1.5', '=1.123', '=1.1234', '=1.', '=.5', '=-1', '=+1', '=1e3', '=0x1', '=9999.999'],
  ...['=10000', '=10000.5', '=79999', '=80000.5', '=85999', '=86399', '=86399.999', '=86400', '=86400.0', '=86400.001'],
  ...['=86401', '=99999', '=099999', '= 1', '=1 ', '=1\n', '=ä', '=1=1', '=SECONDS', '=CODE', '=٣'],
];

const PATIENCE = { timeout: 120_000, interval: 20 };

test('keeps every rule of the contract', async () => {
  const { process, secret } = await simulated();
  const { url } = await process.running();
  const results = await checked(url, secret);
  expect(results.filter(({ outcome }) => outcome !== 'passed')).toEqual([]);
  expect(results.length).toBeGreaterThan(20);
});

test.each([
  // Each row has the answer of /send, the answer of a later inquiry, and the moved amount.
  ['approve', { status: 'approved', amount: 1000 }, 'approved', 1000],
  ['slow=0.2', { status: 'approved', amount: 1000 }, 'approved', 1000],
  ['decline=51', { status: 'declined', code: '51', retry_after_seconds: null }, 'declined', 0],
  ['decline=65:3600', { status: 'declined', code: '65', retry_after_seconds: 3600 }, 'declined', 0],
  ['no_such_behavior', { status: 'declined', code: '12' }, 'declined', 0],
  ['partial', { status: 'approved', amount: 500 }, 'approved', 500],
  ['wrong_amount', { status: 'approved', amount: 1001 }, 'approved', 1000],
  ['malformed', undefined, 'approved', 1000],
  ['cut', undefined, 'approved', 1000],
  ['cut_before', undefined, 'not_found', 0],
  ['refused', undefined, 'not_found', 0],
  ['500', undefined, 'not_found', 0],
  ['not_found_then_found', undefined, 'not_found', 1000],
])('behaves as documented with %s', async (behavior, answered, inquired, moved) => {
  const { call, moved: movedFor } = await simulated();
  const one = order(behavior);
  const { record } = await call('send', one);
  if (answered === undefined) expect([record, record?.status]).not.toEqual([record, 'approved']);
  else expect(record).toMatchObject({ attempt_id: one.attempt_id, currency: 'USD', ...answered });
  expect((await call('inquire', one)).record?.status).toBe(inquired);
  expect(movedFor(one.attempt_id)).toBe(moved);
});

test.each([
  ...SANDBOX_BEHAVIORS.flatMap((name) => VALUES.map((value) => name.replace(/=.*/, '') + value)),
  ...VALUES,
  ...['Approve', ' approve', 'approve ', 'constructor', 'sim_approve', 'slow=SECONDS', 'decline=CODE'],
])('accepts the same behaviors as the API: %j', (text) => {
  expect(isSandboxBehavior(text)).toBe(readBehavior(text) !== undefined);
});

test("the adapters' contract accepts the sandbox's longest retry_after_seconds, and nothing longer", () => {
  const order = { attemptId: `pat_${'0'.repeat(32)}`, amount: 100n, currency: 'USD' };
  const outcomeFor = (retryAfterSeconds: number) => {
    const answer = { attempt_id: order.attemptId, status: 'declined', amount: 100, currency: 'USD' };
    const said = { ...answer, processor_reference: null, code: '51', retry_after_seconds: retryAfterSeconds };
    return readAnswer(parseStrictJson(Buffer.from(JSON.stringify(said))), 'send', order).outcome;
  };
  const [longest, longer] = [2_678_400, 2_678_401];
  expect([outcomeFor(longest), isSandboxBehavior(`decline=51:${longest}`)]).toEqual(['declined', true]);
  expect([outcomeFor(longer), isSandboxBehavior(`decline=51:${longer}`)]).toEqual(['unknown', false]);
});

test('has every behavior that the API lists', () => {
  const asked = SANDBOX_BEHAVIORS.map((name) => name.replace('CODE', '51').replace('SECONDS', '2'));
  expect(asked.filter((text) => readBehavior(text) === undefined)).toEqual([]);
});

test.each([
  ['approve', { kind: 'approve' }],
  ['slow=0.5', { kind: 'slow', seconds: 0.5 }],
  ['late=86400', { kind: 'late', seconds: 86_400 }],
  ['decline=N7', { kind: 'decline', code: 'N7', retryAfterSeconds: null }],
  ['decline=05:60', { kind: 'decline', code: '05', retryAfterSeconds: 60 }],
  ...['', 'Approve', 'approve=1', 'slow', 'slow=', 'slow=-1', 'slow=86401', 'late=1e9', 'pending=1.2345'].map(nothing),
  ...['decline', 'decline=', 'decline=51:', 'decline=51:x', 'decline=123456789', 'sim_approve'].map(nothing),
])('reads the behavior %j', (text, behavior) => {
  expect(readBehavior(text)).toEqual(behavior);
});

function nothing(text: string): [string, undefined] {
  return [text, undefined];
}

test('reads a behavior from a token, and declines the card of an unknown behavior as unknown', async () => {
  const { call } = await simulated();
  const answer = async (token: string) => (await call('send', order(null, { processor_token: token }))).record;
  expect(await answer('sim_decline=51')).toMatchObject({ status: 'declined', code: '51' });
  expect(await answer('sim_decine=51')).toMatchObject({ status: 'declined', code: '14' });
  expect(await answer('tok_of_a_user')).toMatchObject({ status: 'approved' });
});

test.each([
  ['silent_executed', 'approved', 1000],
  ['silent_not_executed', 'not_found', 0],
])('gives no answer for %s, but an inquiry returns the outcome', async (behavior, inquired, moved) => {
  const { call, process, moved: movedFor, facts } = await simulated();
  const one = order(behavior);
  const sending = call('send', one);
  await vi.waitFor(() => expect(facts(one.attempt_id)).toContain('answered send'), PATIENCE);
  expect((await call('inquire', one)).record?.status).toBe(inquired);
  expect(movedFor(one.attempt_id)).toBe(moved);
  await process.stop();
  expect((await sending).status).toBeUndefined();
});

test.each(['cut_before', 'refused', '500', 'cut', 'not_found_then_found', 'malformed'])(
  'executes a repeated order once after %s',
  async (behavior) => {
    const { call, moved } = await simulated();
    const one = order(behavior);
    await call('send', one);
    const again = await call('send', { ...one, repeat: true });
    expect(again.record).toMatchObject({ status: 'approved', amount: 1000 });
    expect((await call('send', { ...one, repeat: true })).record).toEqual(again.record);
    expect(moved(one.attempt_id)).toBe(1000);
  },
);

test('finds an order of not_found_then_found from the second inquiry on, even after a restart', async () => {
  const first = await simulated();
  const one = order('not_found_then_found');
  await first.call('send', one);
  expect((await first.call('inquire', one)).record?.status).toBe('not_found');
  await first.process.stop();
  const second = await simulated({ directory: first.directory });
  for (let again = 0; again < 2; again += 1)
    expect((await second.call('inquire', one)).record).toMatchObject({ status: 'approved', amount: 1000 });
});

test('sends notices for pending, late and duplicate until they are received', async () => {
  const secrets: string[] = [];
  const receiver = await noticeReceiver(() => secrets[0] ?? '', [500, 503]);
  const { call, secret, moved, process } = await simulated({ noticeUrl: receiver.url });
  secrets.push(secret);
  const [pending, late, duplicate] = [order('pending=0.1'), order('late=0.1'), order('duplicate')];
  expect((await call('send', pending)).record).toMatchObject({ status: 'pending', processor_reference: null });
  expect((await call('send', duplicate)).record).toMatchObject({ status: 'approved' });
  const sending = call('send', late);
  await vi.waitFor(() => expect(receiver.notices).toHaveLength(4), PATIENCE);
  const about = ({ attempt_id }: { attempt_id: string }) =>
    receiver.notices.filter((notice) => notice.attempt_id === attempt_id);
  for (const one of [pending, late]) {
    expect(about(one)).toEqual([expect.objectContaining({ status: 'approved', amount: 1000, currency: 'USD' })]);
    expect(moved(one.attempt_id)).toBe(1000);
  }
  const [notice, again] = about(duplicate);
  expect(again).toEqual(notice);
  expect(notice?.notice_id).toMatch(/^[\x20-\x7e]{1,128}$/);
  expect(notice).toMatchObject((await call('inquire', duplicate)).record ?? {});
  await process.stop();
  await sending;
});

test('reports a late order as not found before it executes it, and does not execute it after its not_after', async () => {
  const { call, facts, moved, process } = await simulated();
  const late = order('late=0.5', { not_after: new Date(Date.now() + 100).toISOString() });
  const sending = call('send', late);
  await vi.waitFor(() => expect(facts(late.attempt_id)).toContain('answered send'), PATIENCE);
  expect((await call('inquire', late)).record?.status).toMatch(/^not_(found|executed)$/);
  await vi.waitFor(() => expect(facts(late.attempt_id)).toContain('not_executed'), PATIENCE);
  expect((await call('inquire', late)).record?.status).toBe('not_executed');
  expect((await call('send', { ...late, not_after: order().not_after, repeat: true })).record?.status).toBe(
    'not_executed',
  );
  expect(moved(late.attempt_id)).toBe(0);
  await process.stop();
  await sending;
});

test('does not execute an order that was reversed while pending', async () => {
  const { call, facts, moved } = await simulated();
  const [one, other] = [order('pending=0.3'), order('pending=0.3')];
  await call('send', one);
  await call('send', other);
  expect((await call('reverse', one)).record?.status).toBe('reversed');
  // The other order is due after the reversed one, which would have been executed by then.
  await vi.waitFor(() => expect(facts(other.attempt_id)).toContain('executed'), PATIENCE);
  const reversed = facts(one.attempt_id).indexOf('reversed');
  expect(facts(one.attempt_id).slice(reversed)).toEqual(['reversed', 'answered reverse']);
  expect(moved(one.attempt_id)).toBe(0);
});

test('refuses connections to the second URL while it runs', async () => {
  const { process } = await simulated();
  const { refusedUrl, url } = await process.running();
  expect(refusedUrl).not.toBe(url);
  for (let again = 0; again < 3; again += 1)
    await expect(fetch(refusedUrl)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
});

test('remembers every answered order after a kill, and finishes orders in progress', async () => {
  const secrets: string[] = [];
  const receiver = await noticeReceiver(() => secrets.at(-1) ?? '');
  const first = await simulated();
  const sent = Array.from({ length: 20 }, () => order());
  const answers = await Promise.all(sent.map((one) => first.call('send', one)));
  const waiting = order('pending=0.2');
  await first.call('send', waiting);
  const { processId } = await first.process.running();
  process.kill(processId, 'SIGKILL');
  await vi.waitFor(() => expect(() => process.kill(processId, 0)).toThrow(), PATIENCE);
  // A kill can leave the last line incomplete.
  appendFileSync(join(first.directory, 'book.jsonl'), '{"at":"2030-01-31T12:00');
  const second = await simulated({ directory: first.directory, noticeUrl: receiver.url });
  secrets.push(second.secret);
  for (const [index, one] of sent.entries()) {
    expect((await second.call('send', { ...one, repeat: true })).record).toEqual(answers[index]?.record);
    expect(second.moved(one.attempt_id)).toBe(1000);
  }
  await vi.waitFor(() => expect(receiver.notices).toMatchObject([{ attempt_id: waiting.attempt_id }]), PATIENCE);
  expect(second.moved(waiting.attempt_id)).toBe(1000);
});

test('starts one process for several callers, restarts it after a kill, and stops it by its id', async () => {
  const { process: simulator, call } = await simulated();
  const started = await Promise.all([simulator.running(), simulator.running(), simulator.running()]);
  const [first] = started;
  expect(new Set(started.map(({ processId }) => processId)).size).toBe(1);
  const one = order();
  await call('send', one);
  process.kill(first.processId, 'SIGKILL');
  await vi.waitFor(async () => expect((await simulator.running()).processId).not.toBe(first.processId), PATIENCE);
  expect((await call('inquire', one)).record?.status).toBe('approved');
  const { processId } = await simulator.running();
  await simulator.stop();
  expect(() => process.kill(processId, 0)).toThrow();
  await expect(simulator.running()).rejects.toThrow('has been stopped');
});

test('waits until another simulator on the same book ends', async () => {
  const first = await simulated();
  const { processId } = await first.process.running();
  const second = await simulated({ directory: first.directory });
  const starting = second.process.running();
  const one = order();
  await first.call('send', one);
  await first.process.stop();
  expect((await starting).processId).not.toBe(processId);
  expect((await second.call('inquire', one)).record?.status).toBe('approved');
});

test('ends when the process that started it is killed', async () => {
  const { directory } = await simulated();
  const place = new URL('../../server/background/processors/start-simulator.ts', import.meta.url).pathname;
  const program = `import { prepareSimulator, writeSettlementFile } from ${JSON.stringify(place)};
    const simulator = prepareSimulator(${JSON.stringify({ directory, noticeUrl: null })});
    console.log((await simulator.running()).processId);
    setInterval(() => undefined, 1000);`;
  const parent = spawn(process.execPath, ['--input-type=module-typescript', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output] = (await once(parent.stdout, 'data')) as [Buffer];
  const processId = Number(output.toString());
  expect(() => process.kill(processId, 0)).not.toThrow();
  parent.kill('SIGKILL');
  await vi.waitFor(() => expect(() => process.kill(processId, 0)).toThrow(), PATIENCE);
});

test('reports the reason if a start fails', async () => {
  const simulator = prepareSimulator({ directory: '/dev/null/simulator', noticeUrl: null, secret: newSecret() });
  await expect(simulator.running()).rejects.toThrow(/could not be started.*(?:ENOTDIR|not a directory)/s);
  await simulator.stop();
});

test('writes each moved order into one settlement file, with the requested differences', async () => {
  const { call, directory } = await simulated();
  const send = async (behavior: string): Promise<string> => {
    const one = order(behavior);
    await call('send', one);
    return one.attempt_id;
  };
  const ids = [await send('approve'), await send('partial'), await send('cut'), await send('cut_before')];
  ids.push(await send('approve'), await send('decline=51'));
  // The clock of the sandbox was moved before this order.
  const undone = order('approve', { not_after: '2080-02-29T12:00:00.000Z' });
  await call('send', undone);
  await call('reverse', undone);
  const read = (number: number) =>
    readFileSync(join(directory, `settlement-${number}.csv`), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => line.split(','));
  const rows = (number: number) => read(number).map(([id, , kind, amount, , , status]) => [id, kind, amount, status]);
  expect(writeSettlementFile(directory, ['nonsense'])).toBe(1);
  expect(writeSettlementFile(directory, ['amount', 'duplicate', 'missing_in_file', 'missing_in_ledger'])).toBe(0);
  expect(rows(1)).toEqual([
    ['attempt_id', 'kind', 'amount', 'status'],
    [ids[0], 'push', '1001', 'settled'],
    [ids[1], 'push', '500', 'settled'],
    [ids[1], 'push', '500', 'settled'],
    [ids[4], 'push', '1000', 'settled'],
    [`unknown_${ids[4]}`, 'push', '1000', 'settled'],
    [undone.attempt_id, 'push', '1000', 'settled'],
    [undone.attempt_id, 'push', '1000', 'reversed'],
  ]);
  expect(read(1).map((line) => line.at(-1) === '2080-02-29')).toEqual([...Array(6).fill(false), true, true]);
  expect(writeSettlementFile(directory, ['amount', 'amount'])).toBe(1);
  expect(writeSettlementFile(directory, [])).toBe(0);
  expect(rows(2).slice(1)).toEqual([[ids[2], 'push', '1000', 'settled']]);
  expect(writeSettlementFile(directory, [])).toBe(1);
});
