import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readBook } from '../../simulator/book.ts';
import { waitFor } from '../harness/process.ts';
import { expectBalancedBooks, useOwnService } from '../harness/service.ts';

const service = useOwnService("It reads the simulator's whole book.");

test('a sandbox starts its simulator when a card at a processor is first loaded', async () => {
  const { client, directory } = service();
  expect(readBook(join(directory, 'simulator'))).toEqual([]);
  const load = { type: 'load', card_id: 'card_processor', amount: 1000, currency: 'USD' } as const;
  const { transfer_id, status } = await client.transfers.create(load);
  expect(status).toBe('pending');
  const read = () => client.transfers.get(transfer_id);
  await waitFor('the end of the transfer', async () => (await read()).status !== 'pending');
  expect(await read()).toMatchObject({ status: 'completed', captured_amount: 1000, outcome: 'final' });
  const facts = readBook(join(directory, 'simulator')).filter(({ fact }) => fact === 'executed');
  expect(facts).toMatchObject([{ amount: 1000 }]);
  await expectBalancedBooks(service());
});
