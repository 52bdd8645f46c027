import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { packedSdk, packedService } from '../packages/packed.ts';

const ROOT = resolve(import.meta.dirname, '../..');

export type ReaderFolder = {
  readonly path: string;
  /** A folder that must come first in PATH. Its `npx` runs installed commands without npm, which takes half a second to start. */
  readonly quickNpx: string;
  readonly remove: () => Promise<void>;
};

/** Runs a command that is installed in the folder, as npx does. */
const NPX = '#!/bin/sh\nprogram=$1\nshift\nnpm_command=exec exec "./node_modules/.bin/$program" "$@"\n';

/**
 * Creates a folder outside the clone with everything that the guides install: the service and the SDK from their
 * tarballs, and the libraries for webhooks.
 */
export async function readerFolder(needsSdk: boolean): Promise<ReaderFolder> {
  const path = await mkdtemp(join(tmpdir(), 'transfer-service-reader-'));
  const modules = join(path, 'node_modules');
  mkdirSync(modules);
  writeFileSync(join(path, 'package.json'), '{"private": true}\n');
  const service = join((await packedService()).folder, 'node_modules');
  for (const name of ['.bin', ...readdirSync(service).filter((name) => !name.startsWith('.'))])
    link(join(service, name), join(modules, name));
  for (const name of ['standardwebhooks']) link(join(ROOT, 'node_modules', name), join(modules, name));
  if (needsSdk) {
    const name = join('@transfer-service', 'sdk');
    link(join((await packedSdk()).folder, 'node_modules', name), join(modules, name));
  }
  const quickNpx = join(modules, '.quick-npx');
  mkdirSync(quickNpx);
  writeFileSync(join(quickNpx, 'npx'), NPX, { mode: 0o755 });
  return { path, quickNpx, remove: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
}

function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  if (!existsSync(path)) symlinkSync(target, path);
}
