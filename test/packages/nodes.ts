import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'vitest';

const TOOLS = join(import.meta.dirname, 'tools', 'node_modules');

/**
 * Returns the path of a version of Node: one fetched for these tests, the Node that runs them, or the machine's own.
 */
function nodeOf(version: number): string | undefined {
  if (process.versions.node.startsWith(`${version}.`)) return process.execPath;
  const fetched = join(TOOLS, `node-${version}-${process.platform}-${process.arch}`, 'bin', 'node');
  if (existsSync(fetched)) return fetched;
  const own = execFileSync('/bin/sh', ['-c', 'command -v -p node || true'], { encoding: 'utf8' }).trim();
  const isIt = own !== '' && execFileSync(own, ['--version'], { encoding: 'utf8' }).startsWith(`v${version}.`);
  return isIt ? own : undefined;
}

/**
 * Returns the path of a version of Node, or skips the test. On platforms for which no Node is fetched, a machine has at
 * most one version.
 */
export function nodeOrSkip(version: number, { task, skip }: TestContext): string {
  const node = nodeOf(version);
  if (node !== undefined) return node;
  const notRun = `there is no Node ${version} on this machine, and tools/fetch-packages.mjs fetches none for its platform`;
  Object.assign(task.meta, { notRun });
  return skip(notRun);
}
