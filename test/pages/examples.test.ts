import { describe, expect, it } from 'vitest';
import { type ExampleRequest, exampleOf } from '../../contract/examples.ts';
import { parametersOf } from '../../contract/operation.ts';
import { OPERATIONS, type OperationId } from '../../contract/operations.ts';
import { DEMO_PROGRAM } from '../../contract/samples.ts';
import { DEMO_CARDS, shownStatus } from '../../contract/sandbox/demo-cards.ts';
import { toWireId } from '../../domain/identifier.ts';
import { DEMO_PROGRAM_ID } from '../../server/sandbox/seed-sandbox.ts';
import { useService } from '../harness/service.ts';

const service = useService();

/** Sends what curl would send, including its default Content-Type. */
async function send({ method, path, headers, body }: ExampleRequest) {
  const label = body === undefined ? {} : { 'Content-Type': 'application/x-www-form-urlencoded' };
  const content = body === undefined ? {} : { body };
  const response = await fetch(service().url + path, { method, headers: { ...label, ...headers }, ...content });
  return { status: response.status, body: await response.text() };
}

describe('the examples of requests', () => {
  it('name the demo program of every sandbox', () => {
    expect(DEMO_PROGRAM).toBe(toWireId('prog', DEMO_PROGRAM_ID));
  });

  it.each([
    'create_transfer',
    'create_transfer_batch',
    'explain_transfer',
    'create_card',
    'create_program',
    'create_deposit',
    'create_key',
    'list_audit_entries',
    'list_transfers',
    'export_transfers',
    'get_card',
    'update_card',
    'get_card_limits',
    'list_holds',
    'list_postings',
    'export_postings',
    'update_program',
    'move_clock',
  ] as const)('are taken as they are: %s', async (id) => {
    const { status, body } = await send(exampleOf(id));
    expect(`${status} ${body}`).toMatch(new RegExp(`^${OPERATIONS[id].status} `));
  });

  it('are taken once their ids are those of something that is there', async () => {
    const make = async () => {
      const answer = await send({ ...held, headers: {} });
      expect(answer.status).toBe(201);
      return String(JSON.parse(answer.body).transfer_id);
    };
    const held = {
      ...exampleOf('create_transfer'),
      body: '{"amount": 1000, "card_id": "card_active", "capture": "manual"}',
    };
    const tryWith = async (id: OperationId, ids: Readonly<Record<string, string>>) => {
      const path = parametersOf(OPERATIONS[id].path).reduce(
        (filled, name) => filled.replace(`{${name}}`, ids[name] ?? ''),
        OPERATIONS[id].path,
      );
      const { status, body } = await send({ ...exampleOf(id), path });
      expect(`${id} ${status} ${body}`).toMatch(new RegExp(`^${id} ${OPERATIONS[id].status} `));
      return JSON.parse(body);
    };
    const ids = { transfer_id: await make() };
    await tryWith('capture_transfer', ids);
    const { reversal_id } = await tryWith('reverse_transfer', ids);
    await tryWith('update_transfer', ids);
    await tryWith('get_transfer', ids);
    await tryWith('list_reversals', ids);
    await tryWith('get_reversal', { reversal_id });
    await tryWith('cancel_transfer', { transfer_id: await make() });
  });
});

describe('the demo cards', () => {
  it.each(DEMO_CARDS)('$name refuses what it is for, and no usual load otherwise', async ({ name, refuses }) => {
    const body = JSON.stringify({ card_id: name, ...(refuses?.body ?? { amount: 1_000 }) });
    const answer = await send({ method: 'POST', path: '/api/v0.1/core/transfer', headers: {}, body });
    expect(JSON.parse(answer.body)).toMatchObject(
      refuses === undefined ? { status: 'completed' } : { Code: refuses.code },
    );
  });

  it.each(DEMO_CARDS.filter(({ refuses }) => refuses?.body.amount === 1_000))(
    '$name has the balance it was seeded with',
    async (card) => {
      const answer = await send({ method: 'GET', path: `/api/v0.1/core/card/${card.name}`, headers: {} });
      const { name, currency, balance } = card;
      const status = shownStatus(card);
      expect(JSON.parse(answer.body)).toMatchObject({ card_id: name, status, currency, balance: Number(balance) });
    },
  );
});
