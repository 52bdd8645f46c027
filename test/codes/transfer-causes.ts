import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { type ErrorCode, OPERATION_IDS, OPERATIONS } from '../../contract/operations.ts';
import { DEMO_PROGRAM } from '../../contract/samples.ts';
import type { SharedCode } from '../../domain/error-codes.ts';
import { MAXIMUM_AMOUNT, MAXIMUM_BALANCE } from '../../domain/ledger/money.ts';
import type { UpdateCardBody } from '../../sdk/client.ts';
import { held, made, newCard, spent } from '../api/arrange.ts';
import { partsOf, toRaw } from '../fixtures/operations.ts';
import { thingsOf } from '../fixtures/service-things.ts';
import { waitFor } from '../harness/process.ts';
import { sendRaw } from '../harness/raw-request.ts';
import { MOVE_IN_CAUSES } from './move-in-causes.ts';
import {
  type Attempt,
  about,
  aboutNone,
  atField,
  byPrepared,
  byRequests,
  hasError,
  NO_ID,
  type RealCause,
  type Result,
  runAll,
  runRefused,
  together,
  withMembers,
} from './real-cause.ts';
import { sampleRequest } from './sample.ts';
import { toRequest } from './send.ts';
import { CASE_ABOUT_NO_TRANSFER } from './support-causes.ts';
import type { World } from './world.ts';

/** Returns the request for a transfer of one cent with these fields and a new key. */
export const transfer = (members: object): Attempt =>
  withMembers('create_transfer', { amount: 1, ...members }, { 'Idempotency-Key': randomUUID() });

const to = (card: string): Attempt =>
  atField(
    '/destination_card_id',
    transfer({ type: 'card_to_card', card_id: 'card_active', destination_card_id: card }),
  );

/** Returns a request about a record. Its error must name no field. */
const aboutOnly = (...args: Parameters<typeof about>): Attempt => atField(undefined, about(...args));

/** Changes a card while it has incoming holds, which can then no longer be captured. */
function whileHeld(code: ErrorCode, change: UpdateCardBody, field?: string): RealCause {
  return byPrepared(code, async (client) => {
    const card = await newCard(client);
    const hold = await held(client, card);
    await client.cards.update(card, change);
    return [atField(field, about('capture_transfer', hold, {}))];
  });
}

/** Causes of the codes of transfers, cards and their limits, in addition to their samples. */
export const TRANSFER_CAUSES = {
  card_not_found: together(
    byRequests('card_not_found', [to('card_missing')]),
    aboutNone('card_not_found', 'card_id', 'card_missing'),
    MOVE_IN_CAUSES.card_not_found,
  ),
  transfer_not_found: together(
    aboutNone('transfer_not_found', 'transfer_id', 'tr_missing', `tr_${NO_ID}`),
    CASE_ABOUT_NO_TRANSFER,
  ),
  connector_not_supported: together(
    byRequests('connector_not_supported', [
      atField('/capture', transfer({ card_id: 'card_processor', capture: 'manual' })),
    ]),
    byPrepared('connector_not_supported', async (client) => {
      const { transfer_id: id } = await client.transfers.create({ amount: 7, card_id: 'card_processor' });
      await waitFor('the processor', async () => (await client.transfers.get(id)).status === 'completed');
      return [aboutOnly('reverse_transfer', id, {})];
    }),
  ),
  processor_unavailable: {
    run: async (world) => {
      const { client } = world.sandbox;
      const card = await client.cards.create({ connector_id: 'simulator', processor_token: 'sim_approve' });
      await world.ledger.removeConnectorOf(card.card_id);
      const attempt = atField('/card_id', transfer({ card_id: card.card_id }));
      return runRefused(world, 'processor_unavailable', [attempt]);
    },
  },
  reversal_not_found: aboutNone('reversal_not_found', 'reversal_id', `rev_${NO_ID}`),
  invalid_transfer_status: byPrepared('invalid_transfer_status', async (client) => {
    const card = await newCard(client);
    const [completed, pending, canceled] = [
      await made(client, card),
      await held(client, card),
      await held(client, card),
    ];
    await client.transfers.cancel(canceled);
    const reversed = await made(client, card);
    await client.transfers.reverse(reversed);
    return [
      about('capture_transfer', completed, {}),
      about('cancel_transfer', completed),
      about('reverse_transfer', pending, {}),
      about('capture_transfer', canceled, {}),
      about('cancel_transfer', canceled),
      about('reverse_transfer', canceled, {}),
      about('reverse_transfer', reversed, {}),
    ].map((attempt) => atField(undefined, attempt));
  }),
  card_not_activated: byRequests('card_not_activated', [to('card_preactive')]),
  card_suspended: together(
    byRequests('card_suspended', [
      to('card_inactive'),
      atField('/card_id', transfer({ card_id: 'card_inactive', type: 'unload' })),
    ]),
    whileHeld('card_suspended', { status: 'inactive' }),
  ),
  card_closed: together(
    byRequests('card_closed', [to('card_closed')]),
    byPrepared('card_closed', async (client) => {
      const card = await newCard(client);
      const { unload } = await spent(client, card);
      await client.cards.update(card, { status: 'closed' });
      return [aboutOnly('reverse_transfer', unload, {})];
    }),
  ),
  card_expired: together(
    byRequests('card_expired', [to('card_expired')]),
    whileHeld('card_expired', { expires_on: '2020-12-31' }),
  ),
  card_lost: together(
    byRequests('card_lost', [
      to('card_lost'),
      atField('/card_id', transfer({ card_id: 'card_stolen' })),
      to('card_stolen'),
    ]),
    whileHeld('card_lost', { status: 'lost' }),
    whileHeld('card_lost', { status: 'stolen' }),
  ),
  card_suspected_fraud: together(
    byRequests('card_suspected_fraud', [
      to('card_fraud'),
      atField('/card_id', transfer({ card_id: 'card_fraud', type: 'unload' })),
    ]),
    whileHeld('card_suspected_fraud', { status: 'fraud' }),
  ),
  invalid_card_status: byRequests('invalid_card_status', [
    atField('/status', about('update_card', 'card_stolen', { status: 'active' })),
  ]),
  card_not_empty: byPrepared('card_not_empty', async (client) => {
    const card = await newCard(client);
    await held(client, card);
    return [
      atField('/status', about('update_card', card, { status: 'closed' })),
      about('update_card', card, { status: 'closed', balance_to: 'funding' }),
    ];
  }),
  invalid_amount: byRequests(
    'invalid_amount',
    OPERATION_IDS.filter((id) => hasError(id, 'invalid_amount')).flatMap((operation) =>
      [0, -1, 85.5, '85.50', '1.5', 1e12].map((amount) => atField('/amount', withMembers(operation, { amount }))),
    ),
  ),
  amount_too_large: byPrepared('amount_too_large', async (client) => {
    const card = await newCard(client);
    const partly = await made(client, card);
    await client.transfers.reverse(partly, { amount: 3 });
    return [
      about('capture_transfer', await held(client, card), { amount: 6 }),
      about('reverse_transfer', await made(client, card), { amount: 6 }),
      about('reverse_transfer', partly, { amount: 3 }),
    ].map((attempt) => atField('/amount', attempt));
  }),
  limit_exceeded: together(
    byRequests('limit_exceeded', [
      atField('/amount', transfer({ card_id: 'card_full' })),
      withMembers('create_deposit', { amount: 1, currency: 'GBP' }, { 'Idempotency-Key': randomUUID() }),
    ]),
    whileHeld('limit_exceeded', { limits: { maximum_balance: 4 } }, '/amount'),
    // The balance exceeds the maximum amount of one transfer.
    byRequests('limit_exceeded', [
      atField('/balance_to', about('update_card', 'card_full', { status: 'closed', balance_to: 'funding' })),
    ]),
    byPrepared('limit_exceeded', async (client) => {
      // The reversal would return money to a card that is already full again.
      const unload = await made(client, 'card_full', 1, { type: 'unload' });
      await made(client, 'card_full', 1);
      return [atField('/amount', about('reverse_transfer', unload, {}))];
    }),
    whenBooked('limit_exceeded', 'loss'),
    MOVE_IN_CAUSES.limit_exceeded,
  ),
  operator_limit_exceeded: { run: runOperatorLimit },
  currency_mismatch: byRequests('currency_mismatch', [to('card_eur')]),
  insufficient_funds: together(
    byRequests('insufficient_funds', [
      atField('/amount', transfer({ amount: 999_999_999_999 })),
      withMembers('create_withdrawal', { amount: 1, currency: 'GBP' }, { 'Idempotency-Key': randomUUID() }),
    ]),
    byPrepared('insufficient_funds', async (client) => {
      const card = await newCard(client);
      const { load } = await spent(client, card);
      return [atField('/amount', about('reverse_transfer', load, {}))];
    }),
    whenBooked('insufficient_funds', 'funding'),
    MOVE_IN_CAUSES.insufficient_funds,
  ),
  duplicate_reference: together(
    byPrepared('duplicate_reference', async (client) => {
      const reference = `used before ${randomUUID()}`;
      await client.deposits.create(DEMO_PROGRAM, { amount: 1, reference });
      return (['create_deposit', 'create_withdrawal'] as const).map((operation) =>
        atField('/reference', withMembers(operation, { amount: 1, reference }, { 'Idempotency-Key': randomUUID() })),
      );
    }),
    MOVE_IN_CAUSES.duplicate_reference,
  ),
  duplicate_card: MOVE_IN_CAUSES.duplicate_card,
  idempotency_key_exists: { run: runUsedKeys },
} as const satisfies Partial<Record<SharedCode, RealCause>>;

/** Sends requests with keys that the same operation has already used for other requests. */
async function runUsedKeys(world: World): Promise<readonly Result[]> {
  const { url, client } = world.sandbox;
  const things = thingsOf(client);
  const attempts: Attempt[] = [];
  try {
    for (const operation of OPERATION_IDS.filter((id) => hasError(id, 'idempotency_key_exists'))) {
      const headers = { 'Idempotency-Key': randomUUID() };
      const first = await sendRaw(url, { ...toRaw(operation, await partsOf(operation, things)), headers });
      expect(first.status, `${operation}: ${first.text}`).toBe(OPERATIONS[operation].status);
      const { method = '', path = '', body } = toRaw(operation, await partsOf(operation, things));
      const request = toRequest({ method, path, headers, ...(body && { body: JSON.stringify(body) }) });
      attempts.push(atField(undefined, { operation, request }));
    }
    return await runRefused(world, 'idempotency_key_exists', attempts);
  } finally {
    await client.sandbox.moveClock({ seconds_ahead: 0 });
    for await (const { webhook_id } of client.operatorWebhooks.listAll())
      await client.operatorWebhooks.delete(webhook_id);
  }
}

/** Disables the whole service with and without an end time, then the program, and then one type of transfer. */
export async function runSwitch(world: World): Promise<readonly Result[]> {
  const { client } = world.sandbox;
  const card = await newCard(client);
  const [completed, pending] = [await made(client, card), await held(client, card)];
  const emptied = await newCard(client);
  await made(client, emptied);
  const scopes: readonly { readonly until?: string; readonly program_id?: string; readonly type?: 'load' }[] = [
    {},
    { until: new Date(Date.now() + 3_600_000).toISOString() },
    { program_id: DEMO_PROGRAM },
    { program_id: DEMO_PROGRAM, type: 'load' },
  ];
  const results: Result[] = [];
  for (const { until, ...scope } of scopes) {
    const more = until === undefined ? {} : { opensWithin: 3600 };
    const attempts = [
      transfer({}),
      about('capture_transfer', pending, {}),
      about('reverse_transfer', completed, {}),
      // Closing a card with a balance is an unload.
      ...(scope.type === undefined ? [about('update_card', emptied, { status: 'closed', balance_to: 'funding' })] : []),
    ];
    await client.switch.change({ ...scope, disabled: true, reason: 'a test', ...(until && { until }) });
    try {
      results.push(
        ...(await runRefused(
          world,
          'service_disabled',
          attempts.map((attempt) => ({ ...attempt, more })),
        )),
      );
    } finally {
      await client.switch.change({ ...scope, disabled: false });
    }
  }
  return results;
}

/** Sends an operator's withdrawals and reversals, under the limit of 500 JPY a day in the world's sandbox. */
async function runOperatorLimit(world: World): Promise<readonly Result[]> {
  const code = 'operator_limit_exceeded';
  const { url, client } = world.sandbox;
  await client.deposits.create(DEMO_PROGRAM, { amount: 2_000, currency: 'JPY' });
  const load = await made(client, await newCard(client, 0, 'JPY'), 501);
  const headers = { Authorization: `Bearer ${world.operatorKey}` };
  const sample = { operation: 'create_withdrawal', request: sampleRequest(code, headers) } as const;
  const [withdrawal] = await runAll(url, code, [sample]);
  const reversal = about('reverse_transfer', load, {}, { ...headers, 'Program-Id': DEMO_PROGRAM });
  const results = await runRefused(world, code, [atField('/amount', reversal)]);
  return [...(withdrawal === undefined ? [] : [{ ...withdrawal, isSample: true }]), ...results];
}

/**
 * Books a break's difference when funding lacks the money, or when the booking would take the card above its maximum
 * balance.
 */
function whenBooked(code: ErrorCode, against: 'funding' | 'loss'): RealCause {
  return {
    run: async (world) => {
      const { sandbox, ledger } = world;
      const { transfer_id: id } = await sandbox.client.transfers.create({ amount: 1, card_id: 'card_processor' });
      await waitFor('the load', async () => (await sandbox.client.transfers.get(id)).status === 'completed');
      const attemptId = (await sandbox.client.transfers.attempts(id)).data[0]?.attempt_id ?? '';
      const breakId = await ledger.insertBreak(attemptId, MAXIMUM_AMOUNT + 1n);
      const body = { note: 'a test', book_against: against, amount: Number(MAXIMUM_AMOUNT) };
      if (against === 'loss') await ledger.setIncoming(attemptId, MAXIMUM_BALANCE - MAXIMUM_AMOUNT);
      const results = await runRefused(world, code, [atField('/book_against', about('close_break', breakId, body))]);
      await ledger.setIncoming(attemptId, 0n);
      return results;
    },
  };
}
