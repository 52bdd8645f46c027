import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { VERSION } from '../../installation.mjs';
import { root } from '../../tools/command.ts';
import { runCommand } from '../harness/process.ts';

const read = (file: string): string => readFileSync(join(root, file), 'utf8');

test('the service, the command line, the OpenAPI document and the changelog have the version of package.json', async () => {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  expect(VERSION).toBe(version);
  expect(JSON.parse(read('contract/openapi.json'))).toMatchObject({ info: { version } });
  expect(await runCommand(['--version'], {})).toMatchObject({ exitCode: 0, output: `${version}\n` });
  expect(/^## \[([^\]]+)\] - [0-9]{4}-[0-9]{2}-[0-9]{2}$/m.exec(read('CHANGELOG.md'))?.[1]).toBe(version);
});
