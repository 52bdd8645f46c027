import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Client, type ClientOptions } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { onTestFinished } from 'vitest';
import { COMPILED } from '../../harness/process.ts';

const PROJECT = resolve(import.meta.dirname, '../../..');
const PINNED = resolve(PROJECT, 'node_modules/.bin/node');

/** The pinned version of Node if it is installed, because the tests can run on a version without TypeScript support. */
export const NODE = existsSync(PINNED) ? PINNED : process.execPath;

/** The arguments of Node that start the command line. */
export const MCP = [resolve(PROJECT, 'cli/main.ts'), 'mcp'];

export type Settings = { readonly url: string; readonly key?: string; readonly program?: string };

export function environmentOf({ url, key = '', program = '' }: Settings): Record<string, string> {
  return {
    ...COMPILED,
    TRANSFER_SERVICE_URL: url,
    TRANSFER_SERVICE_KEY: key,
    TRANSFER_SERVICE_PROGRAM: program,
  };
}

/** The result of a call, as the model gets it. */
export type Result = {
  readonly isError: boolean;
  readonly data: Readonly<Record<string, unknown>>;
  readonly text: string;
};

/**
 * Starts the command with the protocol's own client, until the end of the test. With `afterAll` as `atEnd`, it runs until the end
 * of the file.
 */
export async function connect(
  settings: Settings,
  options: readonly string[] = [],
  client: ClientOptions = {},
  atEnd: (end: () => Promise<void>) => void = onTestFinished,
) {
  const transport = new StdioClientTransport({
    command: NODE,
    args: [...MCP, ...options],
    env: environmentOf(settings),
    stderr: 'pipe',
  });
  let errors = '';
  transport.stderr?.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const connected = new Client({ name: 'test', version: '1.0.0' }, client);
  atEnd(() => connected.close());
  await connected.connect(transport);
  const call = async (name: string, given: Readonly<Record<string, unknown>> = {}): Promise<Result> => {
    const { content, structuredContent, isError } = await connected.callTool({ name, arguments: { ...given } });
    const [first] = content;
    if (first?.type !== 'text' || content.length !== 1) throw new Error('the result is not one text');
    return { isError: isError === true, data: Object(structuredContent), text: first.text };
  };
  return { client: connected, call, errors: () => errors };
}
