import { isTypeOrGroup } from '../../../domain/event.ts';
import { parseJson } from '../../../domain/parse-json.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { HEADER_NAME, HEADER_VALUE, MAX_WEBHOOK_HEADERS } from '../../../domain/webhooks/webhook.ts';
import { type CallContext, type Service, schemaRefusal } from '../../calls/call.ts';
import { toOperationFailure } from '../../calls/read-rows.ts';
import type { AddressRules } from '../../foundation/networks.ts';
import type { Database } from '../../store/connection/database.ts';
import type { Webhook } from '../../store/webhooks/webhook.ts';
import { type AddressSettings, openAddressRules } from './addresses.ts';
import { requireKeys, type Vault, vaultOf, type WebhookKeys } from './vault.ts';

/** The tools that the webhook handlers need, in addition to the database. */
export type WebhookTools = {
  readonly rules: AddressRules;
  /** Encrypts secrets and headers. */
  readonly vault: Vault;
  /** Called before something is encrypted. Rejects if stored data is encrypted with a key that this process lacks. */
  readonly requireKeys: () => Promise<void>;
  /** Wakes delivery after a webhook was created, changed or deleted, or when there is something to send. */
  readonly changed: () => void;
};

export type WebhookService = Service & { readonly webhooks: WebhookTools };

/** Opens the tools. `database` must have access to all webhooks. */
export function openWebhookTools(
  database: Database,
  keys: WebhookKeys,
  addresses: AddressSettings,
  changed: WebhookTools['changed'],
): WebhookTools {
  return {
    rules: openAddressRules(addresses),
    vault: vaultOf(keys),
    requireKeys: () => requireKeys(database, keys).catch((error) => Promise.reject(toOperationFailure(error))),
    changed,
  };
}

/** Refuses a URL that webhooks must not be sent to. */
export function checkUrl({ findUrlProblem }: AddressRules, url: string): void {
  const problem = findUrlProblem(url);
  if (problem !== undefined) throw new Refusal('webhook_url_refused', problem, { field: '/url' });
}

/** Returns the types and groups of a request, without duplicates. Refuses anything else. */
export function readTypes(call: CallContext, types: readonly unknown[]): readonly string[] {
  const unknown = types.findIndex((type) => typeof type !== 'string' || !isTypeOrGroup(type));
  if (unknown === -1) return [...new Set(types as readonly string[])];
  const message =
    `Item ${unknown + 1} of 'types' is neither a type of event nor a group of types such as 'transfer.*'. ` +
    'All types are at /events.';
  throw schemaRefusal(call, message, `/types/${unknown}`);
}

/** Headers by name, in the caller's spelling. */
export type WebhookHeaders = Readonly<Record<string, string>>;

const NAME = new RegExp(HEADER_NAME);
const VALUE = new RegExp(HEADER_VALUE);

/** Headers that the service sets itself, or that delimit the request. */
const RESERVED: ReadonlySet<string> = new Set([
  ...['host', 'content-type', 'content-length', 'content-encoding', 'transfer-encoding', 'connection', 'keep-alive'],
  ...['te', 'trailer', 'upgrade', 'expect', 'user-agent', 'proxy-authorization', 'proxy-connection'],
]);

const OWN_PREFIX = 'webhook-';

/** Returns the headers of a request. Refuses headers that cannot be sent. In a change, null removes a header. */
export function readHeaders<Value extends string | null>(
  call: CallContext,
  sent: Readonly<Record<string, Value>>,
): Readonly<Record<string, Value>> {
  const seen = new Set<string>();
  for (const [name, value] of Object.entries(sent)) {
    const lower = name.toLowerCase();
    const problem = findProblem(name, value, seen.has(lower));
    if (problem !== undefined) throw schemaRefusal(call, problem, '/headers');
    seen.add(lower);
  }
  return sent;
}

/** Returns a message about an invalid header. It never quotes the value, which may be a secret. */
function findProblem(name: string, value: string | null, isRepeated: boolean): string | undefined {
  if (!NAME.test(name)) return `'headers' has '${name}', which is not the name of an HTTP header.`;
  const lower = name.toLowerCase();
  if (RESERVED.has(lower) || lower.startsWith(OWN_PREFIX)) {
    return `'headers' has '${name}', which the service sets itself.`;
  }
  if (isRepeated) return `'headers' has '${name}' twice.`;
  if (value === null || VALUE.test(value)) return undefined;
  return `'headers' has '${name}' with a value that is not visible ASCII, or begins or ends with a space.`;
}

/**
 * Returns the headers after a change. A string sets a header, and null removes it. Names are compared regardless of case.
 */
export function changeHeaders(
  call: CallContext,
  before: WebhookHeaders,
  change: Readonly<Record<string, string | null>> | null,
): WebhookHeaders {
  if (change === null) return {};
  const changed = new Set(Object.keys(change).map((name) => name.toLowerCase()));
  const kept = Object.entries(before).filter(([name]) => !changed.has(name.toLowerCase()));
  const set = Object.entries(change).filter((pair): pair is [string, string] => pair[1] !== null);
  const after = Object.fromEntries([...kept, ...set]);
  const count = Object.keys(after).length;
  if (count <= MAX_WEBHOOK_HEADERS) return after;
  const message = `'headers' would leave ${count} headers, but a webhook can have at most ${MAX_WEBHOOK_HEADERS}.`;
  throw schemaRefusal(call, message, '/headers');
}

/** Returns the columns for headers: the plain names, and the encrypted names and values. */
export function sealHeaders(
  vault: Vault,
  webhookId: string,
  headers: WebhookHeaders,
): Pick<Webhook, 'headerNames' | 'headers'> {
  const headerNames = Object.keys(headers);
  return { headerNames, headers: headerNames.length === 0 ? null : vault.seal(JSON.stringify(headers), webhookId) };
}

/** Returns the headers of a webhook. Throws if the vault has no key for them. */
export function openHeaders(
  vault: Vault,
  { webhookId, headers }: Pick<Webhook, 'webhookId' | 'headers'>,
): WebhookHeaders {
  return headers === null ? {} : (parseJson(vault.open(headers, webhookId)) as WebhookHeaders);
}
