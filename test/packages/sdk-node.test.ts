import { copyFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useOwnService } from '../harness/service.ts';
import { nodeOrSkip } from './nodes.ts';
import { folderWith, packedSdk, runAsUser } from './packed.ts';

// Tests the SDK from its tarball, in a folder outside the clone, on each supported version of Node.

const service = useOwnService('A reader begins with a new sandbox.');
let folder: Awaited<ReturnType<typeof folderWith>>;
beforeAll(async () => {
  folder = await folderWith(await packedSdk());
  copyFileSync(join(import.meta.dirname, 'programs', 'use-sdk.mjs'), join(folder.path, 'use-sdk.mjs'));
});
afterAll(() => folder.remove());

describe.each([20, 22, 24])('Node %d', (version) => {
  test('runs the SDK as it runs from source', async (context) => {
    const node = nodeOrSkip(version, context);
    const before = (await service().client.transfers.list({ limit: 100 })).data.length;
    const { stdout, stderr } = await runAsUser(node, ['use-sdk.mjs', service().url, `order-${version}`], {
      cwd: folder.path,
    });
    const { amounts, lines, types, ...seen } = JSON.parse(stdout);
    expect(seen).toEqual({
      node: expect.stringMatching(new RegExp(`^${version}\\.`)),
      created: 'completed',
      requestId: 'string',
      replayed: [false, true],
      refused: [true, 'card_lost', 409, 'no'],
      unreachable: [true, 'no'],
      aborted: [true, 'aborted', 'enough'],
      verified: 'transfer.completed',
      forged: [true, 'no_matching_signature'],
    });
    expect(amounts).toHaveLength(before + 1);
    expect(lines).toBe(amounts.length + 1);
    expect(types.at(-1)).toBe('transfer.completed');
    // This is the output of `console.log(error)`.
    expect(stderr).toMatch(/^RequestError \[card_lost\]: .* \(request req_\w+, money moved: no\)\n {4}at /);
    expect(stderr).toMatch(/at async file:.*use-sdk\.mjs:\d+/);
  });

  test('can be loaded by a CommonJS application', async (context) => {
    const node = nodeOrSkip(version, context);
    await writeFile(
      join(folder.path, 'load.cjs'),
      "console.log(typeof require('@transfer-service/sdk').TransferService);",
    );
    const { stdout } = await runAsUser(node, ['load.cjs'], { cwd: folder.path });
    expect(stdout).toBe('function\n');
  });
});
