import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readConfiguration } from '../../../server/foundation/configuration/configuration.ts';
import { embeddedServerOf, runCommand, startInVain } from '../../harness/process.ts';
import { directoryForTest, startForTest, useDirectory } from '../../harness/service.ts';

const KEY = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=';
const URL = 'postgresql://service:secret-word@db.bank.test/ledger';

const directory = await useDirectory();
let paths = 0;

/** Returns a path where no file exists. */
const newPath = () => join(directory.path, `${++paths}`);

async function fileOf(content: string): Promise<string> {
  const file = newPath();
  await writeFile(file, content);
  return file;
}

test.each([
  ['no line break', ''],
  ['a line break', '\n'],
  ['a Windows line break', '\r\n'],
])('a secret is read from its file, with %s at the end', async (_, end) => {
  const files = { DATABASE_URL_FILE: await fileOf(`${URL}${end}`), WEBHOOK_KEY_FILE: await fileOf(`${KEY}${end}`) };
  expect(readConfiguration(files)).toMatchObject({
    databaseUrl: URL,
    databaseUrlFile: files.DATABASE_URL_FILE,
    webhookKeys: [Buffer.from(KEY, 'base64')],
    webhookKeysFile: files.WEBHOOK_KEY_FILE,
  });
});

test('a service runs with both files, and shows their paths but no secrets in its settings', async () => {
  const [DATA_DIR, other] = [await directoryForTest(), newPath()];
  await startForTest({ DATA_DIR });
  const { databaseUrl } = await embeddedServerOf(DATA_DIR);
  const files = { DATABASE_URL_FILE: await fileOf(`${databaseUrl}\n`), WEBHOOK_KEY_FILE: await fileOf(`${KEY}\n`) };
  const service = await startForTest({ DATA_DIR: other, ...files });
  await service.client.transfers.create({ amount: 1, card_id: 'card_active' });
  const { output } = await runCommand(['config'], { DATA_DIR: other });
  expect(output).toContain(`\nDATABASE_URL_FILE=${files.DATABASE_URL_FILE}\n`);
  expect(output).toContain(`\nWEBHOOK_KEY=(set)\nWEBHOOK_KEY_FILE=${files.WEBHOOK_KEY_FILE}\n`);
  expect(output).not.toContain(KEY);
});

describe.each([
  ['DATABASE_URL', URL],
  ['WEBHOOK_KEY', KEY],
])('%s_FILE is refused', (name, value) => {
  async function expectRefusal(settings: Readonly<Record<string, string>>, sentence: string): Promise<void> {
    const { exitCode, output, errors } = await startInVain({ DATA_DIR: newPath(), ...settings });
    expect(errors).toBe(`\nThe service cannot start: ${sentence}\nRunbook: docs/runbook/invalid-setting.md\n`);
    expect([exitCode, output]).toEqual([1, '']);
  }

  test(`if ${name} is also set`, async () => {
    const settings = { [name]: value, [`${name}_FILE`]: await fileOf(value) };
    await expectRefusal(settings, `${name} and ${name}_FILE are both set. Unset one of them.`);
  });

  test('if the file is missing or cannot be read', async () => {
    const file = await fileOf(value);
    await rm(file);
    const expectCode = (code: string): Promise<void> =>
      expectRefusal({ [`${name}_FILE`]: file }, `${name}_FILE is '${file}', but that file cannot be read: ${code}.`);
    await expectCode('ENOENT');
    await mkdir(file);
    await expectCode('EISDIR');
    await rm(file, { recursive: true });
    // Permissions would not stop root, so the file is a link to itself.
    await symlink(file, file);
    await expectCode('ELOOP');
  });

  test.each([
    ['', 'is empty'],
    ['\n', 'is empty'],
    [`${value}\n${value}\n`, `must contain the ${name} on a single line`],
    [`${value}\n\n`, `must contain the ${name} on a single line`],
  ])('with the content %j', async (content, problem) => {
    const file = await fileOf(content);
    await expectRefusal({ [`${name}_FILE`]: file }, `${name}_FILE is '${file}', but that file ${problem}.`);
  });

  test('with invalid content, which the error does not quote', async () => {
    const { errors } = await startInVain({
      DATA_DIR: newPath(),
      [`${name}_FILE`]: await fileOf('secret-word'),
    });
    expect(errors).toContain(`The service cannot start: The content of ${name}_FILE must be `);
    expect(errors).not.toContain('secret-word');
  });
});

test('BACKUP_DIR is refused if DATABASE_URL comes from a file', async () => {
  const settings = { BACKUP_DIR: newPath(), DATABASE_URL_FILE: await fileOf(URL) };
  expect(() => readConfiguration(settings)).toThrow(/^BACKUP_DIR is .* but DATABASE_URL is set as well/);
});
