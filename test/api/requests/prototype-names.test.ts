import { randomUUID } from 'node:crypto';
import { Command } from 'commander';
import { afterAll, expect, test, vi } from 'vitest';
import { usageAdvice } from '../../../cli/usage-advice.ts';
import { kindOf } from '../../../console/format/ids.ts';
import { nameOfActor } from '../../../console/format/names.ts';
import { OPERATION_IDS, OPERATIONS, type OperationId } from '../../../contract/operations.ts';
import { termsIn } from '../../../contract/search/words.ts';
import { codeOfDecline, isMappedCode } from '../../../domain/processors/decline-codes.ts';
import { isSandboxBehavior } from '../../../domain/processors/sandbox-behavior.ts';
import { jsonWithoutSecrets } from '../../../server/foundation/redaction.ts';
import { sendRaw } from '../../harness/raw-request.ts';
import { expectBalancedBooks, useService } from '../../harness/service.ts';

// Every object inherits these, so a table that is read with a text from outside "has" them.
const NAMES = Object.getOwnPropertyNames(Object.prototype);

const running = useService();
const client = () => running().client;
afterAll(() => expectBalancedBooks(running()));

test.each(NAMES)('a processor declines with the code %s', async (code) => {
  expect([codeOfDecline(code), isMappedCode(code)]).toEqual(['processor_declined', false]);
  if (!isSandboxBehavior(`decline=${code}`)) return;
  const card = { connector_id: 'simulator', processor_token: `sim_decline=${code}` };
  const { card_id } = await client().cards.create(card);
  const { transfer_id } = await client().transfers.create({ amount: 100, card_id });
  const read = () => client().transfers.get(transfer_id);
  await vi.waitUntil(async () => (await read()).status !== 'pending', { timeout: 60_000, interval: 50 });
  expect(await read()).toMatchObject({ status: 'failed', outcome: 'final', error: { Code: 'processor_declined' } });
});

// All operations for each name would take a minute.
test.each(['constructor', '__proto__'])(
  '%s is a text like any other for the lists of all operations and the pages',
  async (name) => {
    for (const id of OPERATION_IDS) {
      const { method, path, query }: (typeof OPERATIONS)[OperationId] = OPERATIONS[id];
      if (method !== 'GET') continue;
      const filled = path.replaceAll(/\{\w+\}/g, name);
      const named = Object.keys(query?.properties ?? {}).map((parameter) => `${filled}?${parameter}=${name}`);
      for (const one of [filled, `${filled}?${name}=1`, ...named]) {
        const { status } = await sendRaw(running().url, { method, path: one });
        expect([one, status]).toEqual([one, expect.toSatisfy((seen: number) => seen < 500)]);
      }
    }
    for (const page of [`/search?q=${name}`, ...['errors', 'docs', 'events', 'guides'].map((at) => `/${at}/${name}`)]) {
      const { status } = await sendRaw(running().url, { method: 'GET', path: page });
      expect([page, status]).toEqual([page, page.startsWith('/search') ? 200 : 404]);
    }
  },
);

test.each(NAMES.filter((name) => name !== '__proto__'))('%s names metadata, a reference and a card', async (name) => {
  const { card_id } = await client().cards.create({ card_id: `${name}-${randomUUID()}`, metadata: { [name]: 'a' } });
  const made = await client().transfers.create({ amount: 100, card_id, reference: name, metadata: { [name]: 'b' } });
  expect(made.metadata).toEqual({ [name]: 'b' });
  expect((await client().transfers.update(made.transfer_id, { metadata: { [name]: null } })).metadata).toEqual({});
  expect((await client().cards.get(card_id)).metadata).toEqual({ [name]: 'a' });
});

test.each(NAMES)('%s means nothing to the console, the command line, the search and the log', (name) => {
  expect(kindOf(`${name}_1`)).toBe('other');
  expect(nameOfActor(name)).toBeUndefined();
  const program = new Command('transfer-service').addCommand(new Command('cards'));
  expect(usageAdvice(program, [name], 'commander.unknownCommand')).toContain('The commands are cards.');
  expect(termsIn(name).every((term) => typeof term === 'string')).toBe(true);
  const sent: unknown = JSON.parse(`{"${name}":"a"}`);
  expect(JSON.stringify(jsonWithoutSecrets(sent, { left: 1_000 }, 3))).toBe(JSON.stringify(sent));
});
