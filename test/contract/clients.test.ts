import { expect, test } from 'vitest';
import { runHere } from '../cli/in-process.ts';
import { useService } from '../harness/service.ts';
import { readDocument } from './document.ts';
import { PROTOTYPE, TEXTS } from './values.ts';

// The SDK and the command line must be able to read, change and close every record that a create operation accepted.
// Only cards can have ids that the caller chooses. The service chooses all others.

const running = useService();

test('the SDK and the command line find cards with every id that the document allows', async () => {
  const { client, url } = running();
  const document = await readDocument(url);
  const idSchema = document.operations.get('create_card')?.body?.properties?.card_id ?? {};
  const ids = [...TEXTS, ...PROTOTYPE, '--help', '-h', "a'b", '"', '\\', '%'.repeat(255), '~'.repeat(255)];
  const allowed = ids.filter((id) => document.problemOf(idSchema, id) === undefined);
  expect(allowed.length).toBeGreaterThan(20);
  const { program_id: programId } = await client.programs.create({ name: 'Clients', currency: 'USD' });
  await client.deposits.create(programId, { amount: 100_000 });
  const inProgram = { programId };
  const runCli = async (...words: readonly string[]): Promise<Readonly<Record<string, unknown>>> => {
    const line = ['--json', '--program', programId, ...words];
    const { exitCode, output, errors } = await runHere(url, line);
    expect(exitCode, `${words.join(' ')}: ${errors}${output}`).toBe(0);
    return JSON.parse(output);
  };
  for (const card_id of allowed) {
    await client.cards.create({ card_id }, inProgram);
    expect(await client.cards.get(card_id, inProgram)).toMatchObject({ card_id, status: 'active' });
    expect(await client.cards.update(card_id, { last_four: '1234' }, inProgram)).toMatchObject({ card_id });
    expect(await runCli('cards', 'get', '--', card_id)).toMatchObject({ card_id, last_four: '1234' });
    expect(await runCli('cards', 'limits', '--', card_id)).toBeTypeOf('object');
    expect(await runCli('transfers', 'create', '--amount', '100', `--card=${card_id}`)).toMatchObject({ card_id });
    const { data } = await client.transfers.list({ card_id }, inProgram);
    expect(data).toHaveLength(1);
    const closing = ['cards', 'update', '--status', 'closed', '--balance-to', 'funding', '--', card_id];
    expect(await runCli(...closing)).toMatchObject({ card_id, status: 'closed' });
    expect(await client.cards.get(card_id, inProgram)).toMatchObject({ card_id, status: 'closed' });
  }
});
