import { describe, expect, it } from 'vitest';
import { type ExampleRequest, exampleOf } from '../../contract/examples.ts';
import { OPERATION_IDS, OPERATIONS } from '../../contract/operations.ts';
import { DEMO_PROGRAM, EXAMPLE_CASE_ID, EXAMPLE_EVENT_ID } from '../../contract/samples.ts';
import { DEMO_CARDS, shownStatus } from '../../contract/sandbox/demo-cards.ts';
import { toWireId } from '../../domain/identifier.ts';
import { DEMO_PROGRAM_ID } from '../../domain/sandbox.ts';
import { partsOf, toRaw } from '../fixtures/operations.ts';
import { callerOf, thingsOf } from '../fixtures/service-things.ts';
import { useOwnService } from '../harness/service.ts';

const service = useOwnService('Its examples move the clock, and change the cards and the switch.');

/** Sends a request as curl would, with its default Content-Type. */
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

  // A notice needs a current signature.
  it.each(OPERATION_IDS.filter((id) => id !== 'receive_notice'))('succeed with existing ids: %s', async (id) => {
    const { client } = service();
    const things = thingsOf(client);
    const example = exampleOf(id);
    const { path = '' } = toRaw(id, { ...(await partsOf(id, things)), body: undefined });
    const { status, body } = await send({
      ...example,
      path,
      headers: { ...example.headers, ...(await callerOf(id, client)) },
      ...(example.body && {
        body: example.body
          .replace(EXAMPLE_EVENT_ID, await things.event())
          .replace(EXAMPLE_CASE_ID, await things.case()),
      }),
    });
    expect(`${status} ${body}`).toMatch(new RegExp(`^${OPERATIONS[id].status} `));
    if (id === 'stop_database') await client.sandbox.startDatabase();
    if (id === 'change_switch') await client.switch.change({ disabled: false });
  });
});

describe('the demo cards', () => {
  it.each(DEMO_CARDS)('$name refuses its request, or accepts an ordinary load', async ({ name, refuses }) => {
    const body = JSON.stringify({ card_id: name, ...(refuses?.body ?? { amount: 1_000 }) });
    const answer = await send({
      method: 'POST',
      path: '/api/v0.1/core/transfer',
      headers: { Prefer: 'wait=10' },
      body,
    });
    expect(JSON.parse(answer.body)).toMatchObject(
      refuses === undefined ? { status: 'completed' } : { Code: refuses.code },
    );
  });

  it.each(DEMO_CARDS.filter(({ refuses }) => refuses?.body.amount === 1_000))(
    '$name has its initial balance',
    async (card) => {
      const answer = await send({ method: 'GET', path: `/api/v0.1/core/card/${card.name}`, headers: {} });
      const { name, currency, balance } = card;
      const status = shownStatus(card);
      expect(JSON.parse(answer.body)).toMatchObject({ card_id: name, status, currency, balance: Number(balance) });
    },
  );
});
