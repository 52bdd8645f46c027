import { readlinkSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { nodeOrSkip } from './nodes.ts';
import { newFolder, programIn, runProgram, startService } from './started.ts';

// Tests the Node versions in `engines`. The command line runs on all of them, and the service runs on the pinned one.

describe.each([20, 22, 24])('on a machine with Node %d', (version) => {
  test('the command line runs, and starts the service on the pinned Node', async (context) => {
    const program = [nodeOrSkip(version, context), programIn(await newFolder())];
    const folder = await newFolder();
    const { url, processId } = await startService(folder, { command: [...program, 'start'] });
    expect(readlinkSync(`/proc/${processId}/exe`)).toMatch(/\/node-linux-(?:x64|arm64)\/bin\/node$/);
    const run = (...line: string[]) => runProgram([...program, '--url', url, ...line], folder);
    const created = await run('transfers', 'create', '--card', 'card_active', '--amount', '1000', '--json');
    expect([created.exitCode, JSON.parse(created.output)]).toEqual([0, expect.objectContaining({ amount: 1000 })]);
    const refused = await run('transfers', 'create', '--card', 'card_lost', '--amount', '1000');
    expect(refused).toEqual({ exitCode: 1, output: expect.stringContaining('card_lost') });
    expect((await run('events', 'tail', '--help')).exitCode).toBe(0);
    expect((await run('errors', 'explain', 'card_lost')).output).toContain('Request Error');
    expect((await run('config')).output).toContain(`In force in process ${processId}`);
  });
});
