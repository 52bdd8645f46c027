import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TransferService } from '../../sdk/client.ts';
import { patientClient } from '../harness/client/patience.ts';
import { operatorKey, withSecret } from '../harness/keys.ts';
import { embeddedServerOf, type ServiceProcess, startService } from '../harness/process.ts';
import { sendRaw } from '../harness/raw-request.ts';
import { expectBalancedBooks, refusalOf, useDirectory, useOwnService } from '../harness/service.ts';
import { setClock } from './transfers/limited.ts';

const settings = { OPERATOR_DAILY_LIMITS: 'USD 10.00' };
const running = useOwnService('It sets limits for operators, and moves the clock.', settings);
const { path: otherDirectory } = await useDirectory();
/** A second process on the same ledger. */
let other: ServiceProcess;
const urls = () => [running().url, other.url] as const;

const NOON = new Date(Date.now() + 86_400_000).setUTCHours(12, 0, 0, 0);

beforeAll(async () => {
  const { databaseUrl } = await embeddedServerOf(running().directory);
  other = await startService({ ...settings, DATABASE_URL: databaseUrl, DATA_DIR: otherDirectory });
  await setClock(running().client, NOON);
});
afterAll(async () => {
  await running().client.sandbox.moveClock({ seconds_ahead: 0 });
  await expectBalancedBooks(running());
  await other.stop();
});

/** Creates a card program with 1,000.00 USD and a card. Loads these amounts onto the card with the program's key. */
async function programWith(...amounts: readonly number[]) {
  const { client } = running();
  const { program_id: programId } = await client.programs.create({ name: 'Limited', currency: 'USD' });
  await client.deposits.create(programId, { amount: 100_000 });
  const { card_id } = await client.cards.create({}, { programId });
  const loads = await Promise.all(
    amounts.map(async (amount) => (await client.transfers.create({ amount, card_id }, { programId })).transfer_id),
  );
  return { programId, loads };
}

/** Creates an operator, and returns the operator's client for each process. */
async function newOperator(): Promise<readonly [TransferService, TransferService]> {
  const { key } = await withSecret(running().client.keys.create(operatorKey('Ada')));
  const [first, second] = urls();
  return [patientClient(first, key), patientClient(second, key)];
}

const codeOf = async (call: Promise<unknown>): Promise<string> => (await refusalOf(call)).Code;

test('limits the total withdrawals and reversals of one operator across all card programs and processes', async () => {
  const [one, two] = [await programWith(300, 301), await programWith()];
  const [operator, elsewhere] = await newOperator();
  await operator.withdrawals.create(one.programId, { amount: 600 });
  const refused = await refusalOf(elsewhere.withdrawals.create(two.programId, { amount: 401 }));
  expect(refused).toMatchObject({ Code: 'operator_limit_exceeded', Status: 409, moneyMoved: 'no' });
  const ends = new Date(NOON + 43_200_000).toISOString().replace('.000Z', 'Z');
  expect(refused.Message).toBe(
    'You may withdraw and reverse 10.00 USD per day: 6.00 USD used, 4.00 USD left; this withdrawal is for 4.01 USD. ' +
      `The limit is the setting OPERATOR_DAILY_LIMITS and resets at ${ends}.`,
  );
  const within = { programId: one.programId };
  const [small = '', large = ''] = one.loads;
  await elsewhere.transfers.reverse(small, undefined, within);
  expect(await codeOf(operator.transfers.reverse(large, undefined, within))).toBe('operator_limit_exceeded');
  await operator.transfers.reverse(large, { amount: 100 }, within);
  expect(await codeOf(operator.withdrawals.create(two.programId, { amount: 1 }))).toBe('operator_limit_exceeded');
});

test('counts a request once, even if it is repeated with its key', async () => {
  const { programId, loads } = await programWith(500);
  const [operator] = await newOperator();
  const key = { idempotencyKey: 'the-same' };
  const [withdrawn, again] = [
    await operator.withdrawals.create(programId, { amount: 500 }, key),
    await operator.withdrawals.create(programId, { amount: 500 }, key),
  ];
  expect({ ...again }).toEqual({ ...withdrawn });
  const reverse = async () => ({
    ...(await operator.transfers.reverse(loads[0] ?? '', undefined, { programId, ...key })),
  });
  expect(await reverse()).toEqual(await reverse());
  expect(await codeOf(operator.withdrawals.create(programId, { amount: 1 }))).toBe('operator_limit_exceeded');
});

test('does not limit other operators, card programs, deposits or other currencies', async () => {
  const { programId, loads } = await programWith(2_000);
  const [operator] = await newOperator();
  await operator.withdrawals.create(programId, { amount: 1_000 });
  const [colleague] = await newOperator();
  await colleague.withdrawals.create(programId, { amount: 1_000 });
  await operator.deposits.create(programId, { amount: 5_000 });
  await operator.deposits.create(programId, { amount: 5_000, currency: 'EUR' });
  await operator.withdrawals.create(programId, { amount: 5_000, currency: 'EUR' });
  const { client } = running();
  const scopes = ['transfers:write'] as const;
  const { key } = await withSecret(client.keys.create({ name: 'shop', program_id: programId, scopes: [...scopes] }));
  await patientClient(running().url, key).transfers.reverse(loads[0] ?? '');
});

test('counts all sessions and keys of a person together', async () => {
  const { programId } = await programWith();
  const { url, client } = running();
  const page = { 'Sec-Fetch-Site': 'same-origin', Console: '1', 'Content-Type': 'application/json' };
  const send = (path: string, body: object, headers: object = {}) =>
    sendRaw(url, { method: 'POST', path, headers: { ...page, ...headers }, body });
  const withdraw = async (amount: number) => {
    const session = await send('/api/v0.1/sandbox/sign-in', { person: 'treasurer' });
    const [cookie = ''] = (session.headers['set-cookie']?.[0] ?? '').split(';');
    const headers = { Cookie: cookie, 'Idempotency-Key': `withdraw-${amount}` };
    return send(`/api/v0.1/operator/program/${programId}/withdrawal`, { amount }, headers);
  };
  expect((await withdraw(900)).status).toBe(201);
  const refused = await withdraw(101);
  expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('9.00 USD used, 1.00 USD left')]);
  const person = (await client.people.list()).data.find(({ subject }) => subject === 'treasurer');
  const body = { ...operatorKey('Tariq'), person_id: person?.person_id ?? '' };
  const { key } = await withSecret(client.keys.create(body));
  const own = patientClient(url, key);
  expect(await codeOf(own.withdrawals.create(programId, { amount: 101 }))).toBe('operator_limit_exceeded');
  await own.withdrawals.create(programId, { amount: 100 });
});

test('resets the limit on the next day', async () => {
  const { programId } = await programWith();
  const [operator] = await newOperator();
  await operator.withdrawals.create(programId, { amount: 1_000 });
  await setClock(running().client, NOON + 43_200_000 - 5_000);
  expect(await codeOf(operator.withdrawals.create(programId, { amount: 1 }))).toBe('operator_limit_exceeded');
  await setClock(running().client, NOON + 43_200_000);
  await operator.withdrawals.create(programId, { amount: 1_000 });
  expect(await codeOf(operator.withdrawals.create(programId, { amount: 1 }))).toBe('operator_limit_exceeded');
});

test('keeps to the limit when twenty requests arrive at two processes at once', async () => {
  const { programId, loads } = await programWith(...Array.from({ length: 10 }, () => 150));
  const clients = await newOperator();
  const outcomes = await Promise.all(
    loads.flatMap((load, index) => {
      const [one, two] = index % 2 === 0 ? clients : clients.toReversed();
      return [
        one?.withdrawals.create(programId, { amount: 150 }),
        two?.transfers.reverse(load, undefined, { programId }),
      ].map((call) =>
        Promise.resolve(call).then(
          () => 'moved',
          (error: { readonly Code?: string }) => error.Code,
        ),
      );
    }),
  );
  expect(outcomes.filter((outcome) => outcome === 'moved')).toHaveLength(6);
  expect(outcomes.filter((outcome) => outcome === 'operator_limit_exceeded')).toHaveLength(14);
});
