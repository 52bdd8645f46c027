import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { DEMO_PROGRAM_ID } from '../../../domain/sandbox.ts';
import { splitStatements } from '../../../server/store/migrations/migration-files.ts';
import { ERASURE_SETTINGS, eraseInBatches } from '../../../server/subjects/cards/erase-card-holder.ts';
import { useConnection, useLedger, useServer } from '../../harness/use-ledger.ts';

// Tests stored cases, including cases from earlier versions, which do not name their cards.

const server = await useServer();
const ledger = useLedger(server.connection);
const owner = await useConnection(server.connection);

async function call(
  operation: Parameters<typeof ledger.call>[0],
  members: object,
  params: Record<string, string> = {},
) {
  const more = { programId: DEMO_PROGRAM_ID, idempotencyKey: randomUUID(), params };
  return JSON.parse((await ledger.call(operation, members, more)).body) as Record<string, string>;
}

const HOLDER = `holder ${randomUUID()}`;
const TEXT = `text${randomUUID()}`;
const ERASED = {
  isErased: true,
  messages: [null],
};
const KEPT = { isErased: false, messages: [TEXT] };
let cardId = '';
let transferId = '';

type Planted = {
  readonly operation?: string;
  readonly transfer?: string;
  readonly request?: object;
  readonly text?: string;
  readonly at?: string;
};

/** Stores a case with a message, both a minute old, and returns the case's id. */
async function plant({ operation, transfer, request = {}, text = TEXT, at = '-1 min' }: Planted): Promise<string> {
  const caseId = randomUUIDv7();
  const snapshot = JSON.stringify({ summary: TEXT, error: { message: TEXT, request }, transfer: null });
  await owner.query(
    `insert into support_case (case_id, program_id, status, severity, urgency, operation, transfer_id, card_names, message_count,
        created_by, text, contact, summary, snapshot, created_at, updated_at)
      values ($1, $2, 'open', 'normal', 1, $3, $4, '{}', 1, 'sandbox', $5, $6, $6, $7, now() + $8::interval, now())`,
    [caseId, DEMO_PROGRAM_ID, operation, transfer && fromWireId('tr', transfer), text, TEXT, snapshot, at],
  );
  await owner.query(
    `insert into case_message (case_id, place, message_id, program_id, side, text, created_at)
      values ($1, 1, $2, $3, 'caller', $4, now() + $5::interval)`,
    [caseId, randomUUIDv7(), DEMO_PROGRAM_ID, TEXT, at],
  );
  return caseId;
}

async function stateOf(caseId: string): Promise<object> {
  const { rows } = await owner.query(
    `select snapshot is null and summary is null and text is null and contact is null as "isErased",
        array(select text from case_message where case_message.case_id = support_case.case_id) as messages
      from support_case where case_id = $1`,
    [caseId],
  );
  return rows[0];
}

/** Continues the erasures until they are complete. */
async function finish(): Promise<void> {
  const settings = { ...ERASURE_SETTINGS, maxCases: 2, settleMilliseconds: 0, retryMilliseconds: 0 };
  const onFailure = (error: unknown): never => {
    throw error;
  };
  await eraseInBatches(ledger.database, { onFailure, pause: async () => true }, settings);
  expect((await owner.query('select from card_erasure where completed_at is null')).rows).toEqual([]);
}

const about: readonly (readonly [string, () => Planted])[] = [
  ['the transfer of a refused reversal', () => ({ operation: 'reverse_transfer', transfer: transferId })],
  ['the transfer in the request', () => ({ operation: 'get_transfer', request: { transfer_id: transferId } })],
  ['the card in a row of the request', () => ({ request: { transfers: [{ card_id: cardId }] } })],
  [
    'the holder of a card that was not created',
    () => ({ operation: 'create_card', request: { holder_reference: HOLDER } }),
  ],
  ['the card in its text', () => ({ text: `Whose is ${cardId}?` })],
  ['the transfer in its text', () => ({ text: `Where is ${transferId}.` })],
];
const others: readonly (readonly [string, () => Planted])[] = [
  ['another card', () => ({ request: { card_id: 'card_active' }, text: `Whose is ${cardId}0?` })],
  ['another holder', () => ({ operation: 'create_card', request: { holder_reference: `${HOLDER}s` } })],
];

describe('the texts of a case', () => {
  const planted = new Map<string, string>();
  beforeAll(async () => {
    ({ card_id: cardId = '' } = await call('create_card', { holder_reference: HOLDER }));
    ({ transfer_id: transferId = '' } = await call('create_transfer', { amount: 5, card_id: cardId }));
    await call('update_card', { status: 'closed', balance_to: 'funding' }, { card_id: cardId });
    for (const [name, what] of [...about, ...others]) planted.set(name, await plant(what()));
    planted.set('later', await plant({ transfer: transferId, at: '1 hour' }));
    await call('erase_card_holder', {}, { card_id: cardId });
    await finish();
  });

  test.each(about)('are erased if the case is about the card: %s', async (name) => {
    expect(await stateOf(planted.get(name) ?? '')).toEqual(ERASED);
  });

  test.each(others)('stay if the case is about %s', async (name) => {
    expect(await stateOf(planted.get(name) ?? '')).toEqual(KEPT);
  });

  test('stay if they were written after the request to erase, although the case loses its snapshot', async () => {
    const caseId = planted.get('later') ?? '';
    expect(await stateOf(caseId)).toEqual(KEPT);
    const { rows } = await owner.query('select snapshot, text from support_case where case_id = $1', [caseId]);
    expect(rows).toEqual([{ snapshot: null, text: TEXT }]);
  });
});

test('the migration restarts completed erasures for cases: because the holder is no longer known, they erase cases about any refused create_card', async () => {
  const [transfer, holder, other] = [
    await plant({ operation: 'update_transfer', transfer: transferId, at: '-1 day' }),
    await plant({ operation: 'create_card', request: { holder_reference: `${HOLDER} as they were` }, at: '-1 day' }),
    await plant({ operation: 'create_transfer', transfer: toWireId('tr', randomUUIDv7()), at: '-1 day' }),
  ];
  const [migration] = splitStatements(readFileSync('server/store/migrations/0053_texts_of_holders.sql', 'utf8')).filter(
    (statement) => statement.startsWith('update card_erasure'),
  );
  await owner.query(String(migration));
  await finish();
  expect(await Promise.all([transfer, holder, other].map(stateOf))).toEqual([ERASED, ERASED, KEPT]);
});
