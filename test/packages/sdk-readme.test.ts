import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useOwnService } from '../harness/service.ts';
import { folderWith, packedSdk, runAsUser } from './packed.ts';

// Runs every sample of the SDK's README unchanged, with the SDK from its tarball.

const README = readFileSync(join(import.meta.dirname, '..', '..', 'sdk', 'README.md'), 'utf8');

/** The first lines of every sample except the first one. */
const OPENING = `import { TransferService } from '@transfer-service/sdk';
const service = new TransferService({ baseUrl: process.env.TRANSFER_SERVICE_URL });
`;

/** The output of each sample, in the order of the README. */
const PRINTED = [
  /^completed\n$/,
  /^completed\n$/,
  /^Not enough money on the card\. req_\w+\n$/,
  /^true true\n$/,
  /^true\n$/,
  /^card_active 200 1 true\n$/,
  /^1000\n$/,
  /^1 transfer\.completed\n$/,
  /^true\n$/,
  /^$/,
];

const samples = [...README.matchAll(/^```(js|ts)\n(.*?)^```/gms)].map(([, language = '', text = '']) => ({
  language,
  text: /\bnew TransferService\(/.test(text) ? text : `${OPENING}${text}`,
}));

const service = useOwnService('A reader begins with a new sandbox.');
let folder: Awaited<ReturnType<typeof folderWith>>;
beforeAll(async () => {
  folder = await folderWith(await packedSdk());
});
afterAll(() => folder.remove());

describe('the README of the SDK', () => {
  test('has the number of samples that this test checks', () => {
    expect(samples).toHaveLength(PRINTED.length);
  });

  test.each(samples.map((sample, at) => [at + 1, sample] as const))('sample %i', async (number, { language, text }) => {
    const file = `sample-${number}.m${language}`;
    // Without a URL, a sample would call port 8080, where a different service may run.
    const url = `new TransferService({ baseUrl: '${service().url}' })`;
    await writeFile(join(folder.path, file), text.replaceAll('new TransferService()', url));
    const env = { TRANSFER_SERVICE_URL: service().url };
    const { stdout } = await runAsUser(process.execPath, [file], { cwd: folder.path, env });
    expect(stdout).toMatch(PRINTED[number - 1] ?? /^never$/);
  });

  test('names every error class and every option', async () => {
    const program = `import * as sdk from '@transfer-service/sdk';
console.log(JSON.stringify(Object.keys(sdk).filter((name) => Error.prototype.isPrototypeOf(sdk[name].prototype))));`;
    await writeFile(join(folder.path, 'classes.mjs'), program);
    const { stdout } = await runAsUser(process.execPath, ['classes.mjs'], { cwd: folder.path });
    const classes: readonly string[] = JSON.parse(stdout);
    expect(classes.length).toBeGreaterThan(5);
    expect(classes.filter((name) => !README.includes(`\`${name}\``))).toEqual([]);
    const types = readFileSync(join(folder.path, 'node_modules/@transfer-service/sdk/dist/client.d.ts'), 'utf8');
    const [, options = ''] = /type TransferServiceOptions = \{(.*?)\n\};/s.exec(types) ?? [];
    const names = [...options.matchAll(/readonly (\w+)\?/g)].map(([, name]) => name);
    expect(names).toHaveLength(7);
    for (const name of names) expect(README).toMatch(new RegExp(`^\\| \`${name}\` \\|`, 'm'));
  });
});
