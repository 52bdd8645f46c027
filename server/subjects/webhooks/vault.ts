import { createCipheriv, createDecipheriv, hash, randomBytes, randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { codeOf, StartupProblem } from '../../foundation/startup-problem.ts';
import type { Database } from '../../store/connection/database.ts';
import { READ_KEY_IDS, readSealedByOthers, reseal, toKeyIds, toSealed } from '../../store/webhooks/secret.ts';

const KEY_BYTES = 32;

const VERSION = 1;
const KEY_ID_BYTES = 4;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + KEY_ID_BYTES + IV_BYTES + TAG_BYTES;

/** Encrypts data that the service must be able to decrypt again: the secrets and the headers of webhooks. */
export type Vault = {
  /** Encrypts with the first key. The same webhook id is needed for decryption. */
  readonly seal: (text: string, webhookId: string) => Buffer;
  /** @throws if the text was encrypted with a different key, was changed, or belongs to a different webhook */
  readonly open: (sealed: Uint8Array, webhookId: string) => string;
};

/**
 * Opens a vault with keys of 32 bytes. The first key encrypts, and all keys decrypt. The format is a version byte, 4 bytes that
 * identify the key, 12 bytes of initialization vector, 16 bytes of tag, and then the text, encrypted with AES-256-GCM.
 */
export function openVault(keys: readonly Uint8Array[]): Vault {
  const named = keys.map((key) => ({ key, id: keyIdOf(key) }));
  return {
    seal: (text, webhookId) => {
      const [first] = named;
      if (first === undefined) throw new Error('there is no key to encrypt with');
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', first.key, iv).setAAD(Buffer.from(webhookId));
      const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(VERSION), first.id, iv, cipher.getAuthTag(), encrypted]);
    },
    open: (sealed, webhookId) => {
      const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
      const id = bytes.subarray(1, 1 + KEY_ID_BYTES);
      const known = named.find((one) => one.id.equals(id));
      if (bytes.length < HEAD_BYTES || bytes[0] !== VERSION || known === undefined) {
        throw new Error('the value was not encrypted with a key of this process');
      }
      const iv = bytes.subarray(1 + KEY_ID_BYTES, 1 + KEY_ID_BYTES + IV_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', known.key, iv, { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(webhookId))
        .setAuthTag(bytes.subarray(HEAD_BYTES - TAG_BYTES, HEAD_BYTES));
      return Buffer.concat([decipher.update(bytes.subarray(HEAD_BYTES)), decipher.final()]).toString('utf8');
    },
  };
}

/** Returns the bytes that identify a key: the beginning of its SHA-256. */
function keyIdOf(key: Uint8Array): Buffer {
  return hash('sha256', key, 'buffer').subarray(0, KEY_ID_BYTES);
}

/** Returns a new signing secret for a webhook, in the format of Standard Webhooks. */
export function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/**
 * The keys that encrypt the webhook secrets: the keys in WEBHOOK_KEY, or a key in a file. The file is created when it is
 * needed.
 */
export type WebhookKeys = {
  /** Returns the existing keys. There are none until a key is needed. */
  readonly read: () => readonly Buffer[];
  /** Returns the existing keys, and creates one if there is none. */
  readonly readOrCreate: () => readonly Buffer[];
  readonly origin: string;
};

const FILE = 'webhook-key';

/** Opens the keys of this process. `configured` are the keys of the setting, or null if it is not set. */
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

/** Opens a vault. At each use, it reads the keys that exist at that time. */
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
    throw new StartupProblem('webhook-key', `The webhook key in ${file} cannot be read: ${String(error)}.`, {
      cause: error,
    });
  }
  throw new StartupProblem(
    'webhook-key',
    `${file} does not contain a key: 32 bytes in Base64. Restore it from a backup; without it, the webhook secrets cannot be read.`,
  );
}

/**
 * Creates a key file. The file is linked only when it is complete, so other processes find the whole key or none. If two processes
 * create it, the first file is kept.
 */
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

/**
 * Checks that this process can decrypt the secrets and headers of all webhooks. Without this check, two processes could each
 * generate a key, and encrypt secrets that the other cannot read.
 *
 * @throws {StartupProblem} if anything is encrypted with a key that this process does not have
 */
export async function requireKeys(database: Database, { read, origin }: WebhookKeys): Promise<void> {
  const used = toKeyIds(await database.read(READ_KEY_IDS));
  // The keys are read last, because a request that creates the first key stores it before using it.
  const keys = read().map(keyIdOf);
  if (used.some((id) => !keys.some((key) => key.equals(id)))) throw unknownKey(origin, keys.length);
}

/**
 * Makes the same check at startup. Then everything that is encrypted with a different key is encrypted again with the
 * first key.
 */
export async function resealSecrets(database: Database, keys: WebhookKeys): Promise<void> {
  await requireKeys(database, keys);
  const [first] = keys.read();
  if (first === undefined) return;
  const vault = openVault(keys.read());
  for (const { webhookId, sealed } of (await database.read(readSealedByOthers(keyIdOf(first)))).map(toSealed)) {
    await database.writeUnguarded(reseal(webhookId, sealed, vault.seal(vault.open(sealed, webhookId), webhookId)));
  }
}

function unknownKey(origin: string, count: number): StartupProblem {
  const here = count === 0 ? `there is none in ${origin}` : `it is not in ${origin}`;
  return new StartupProblem(
    'webhook-key',
    `The webhook secrets in the database are encrypted with a key that this process does not have: ${here}. ` +
      'Set WEBHOOK_KEY to that key, or to change the key, to the new key, a comma, and the previous key. ' +
      'The key of a service without WEBHOOK_KEY is in the file webhook-key of its DATA_DIR.',
  );
}
