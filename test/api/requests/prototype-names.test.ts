import { Command } from 'commander';
import { expect, test } from 'vitest';
import { usageAdvice } from '../../../cli/program.ts';
import { kindOf } from '../../../console/format/ids.ts';
import { nameOfActor } from '../../../console/format/names.ts';
import { termsIn } from '../../../contract/search/words.ts';
import { codeOfDecline, isMappedCode } from '../../../domain/processors/order.ts';
import { jsonWithoutSecrets } from '../../../server/foundation/redaction.ts';
import { sendRaw } from '../../harness/raw-request.ts';
import { useService } from '../../harness/service.ts';

// Every object inherits these names, so a look-up by a string from a request can find them by mistake.
const NAMES = Object.getOwnPropertyNames(Object.prototype);

const running = useService();

// test/contract sends such names to all operations in the OpenAPI document.
test.each(['constructor', '__proto__'])('treats %s on pages like any other text', async (name) => {
  for (const page of [`/search?q=${name}`, ...['errors', 'docs', 'events', 'guides'].map((at) => `/${at}/${name}`)]) {
    const { status } = await sendRaw(running().url, { method: 'GET', path: page });
    expect([page, status]).toEqual([page, page.startsWith('/search') ? 200 : 404]);
  }
});

test.each(NAMES)('treats %s like any other decline code', (code) => {
  expect([codeOfDecline(code), isMappedCode(code)]).toEqual(['processor_declined', false]);
});

test.each(NAMES)('does not recognize %s in the console, the command line, the search and the log', (name) => {
  expect(kindOf(`${name}_1`)).toBe('other');
  expect(nameOfActor(name)).toBeUndefined();
  const program = new Command('transfer-service').addCommand(new Command('cards'));
  expect(usageAdvice(program, [name], 'commander.unknownCommand')).toContain('The commands are cards.');
  expect(termsIn(name).every((term) => typeof term === 'string')).toBe(true);
  const sent: unknown = JSON.parse(`{"${name}":"a"}`);
  expect(JSON.stringify(jsonWithoutSecrets(sent, { left: 1_000 }, 3))).toBe(JSON.stringify(sent));
});
