import { randomBytes, randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { codeOf, StartupProblem } from '../../foundation/startup-problem.ts';
import { KEY_BYTES, openVault, type Vault } from './vault.ts';

/** The keys that encrypt the secrets of webhooks: those of WEBHOOK_KEY, or one in a file that is created when needed. */
export type WebhookKeys = {
  /** The existing keys; none before one was needed. */
  readonly read: () => readonly Buffer[];
  /** The same; creates a key if there is none. */
  readonly readOrCreate: () => readonly Buffer[];
  /** Where the keys come from, for messages. */
  readonly origin: string;
};

/** The name of the file, in the data directory. */
const FILE = 'webhook-key';

/** The keys of this process. `configured` are those of the setting; null if it is not set. */
export function openWebhookKeys(configured: readonly Buffer[] | null, dataDirectory: string): WebhookKeys {
  if (configured !== null) {
    return { read: () => configured, readOrCreate: () => configured, origin: 'WEBHOOK_KEY' };
  }
  const file = join(dataDirectory, FILE);
  let known: readonly Buffer[] = [];
  const read = (): readonly Buffer[] => {
    if (known.length === 0) known = readKeyFile(file);
    return known;
  };
  const readOrCreate = (): readonly Buffer[] => {
    if (read().length === 0) createKeyFile(file);
    return read();
  };
  return { read, readOrCreate, origin: file };
}

/** A vault that uses the keys that exist at each use. */
export function vaultOf(keys: WebhookKeys): Vault {
  return {
    seal: (text, webhookId) => openVault(keys.readOrCreate()).seal(text, webhookId),
    open: (sealed, webhookId) => openVault(keys.read()).open(sealed, webhookId),
  };
}

function readKeyFile(file: string): readonly Buffer[] {
  try {
    const key = Buffer.from(readFileSync(file, 'utf8').trim(), 'base64');
    if (key.length === KEY_BYTES) return [key];
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw new StartupProblem('webhook-key', `The key of webhooks in ${file} cannot be read: ${String(error)}.`, {
      cause: error,
    });
  }
  throw new StartupProblem(
    'webhook-key',
    `${file} does not contain a key: 32 bytes in Base64. Restore it from a backup; without it, the secrets of webhooks cannot be read.`,
  );
}

/** Linked once it is complete: another process finds the whole key or none, and of two new keys the first one is kept. */
function createKeyFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true });
  const draft = `${file}-${randomUUID()}`;
  const descriptor = openSync(draft, 'wx', 0o600);
  try {
    writeSync(descriptor, `${randomBytes(KEY_BYTES).toString('base64')}\n`);
    fsyncSync(descriptor);
    linkSync(draft, file);
    syncDirectory(dirname(file));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    closeSync(descriptor);
    rmSync(draft);
  }
}

function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
