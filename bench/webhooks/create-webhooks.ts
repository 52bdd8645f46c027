export type NewWebhook = {
  readonly program_id: string;
  readonly url: string;
  readonly rate?: number;
  readonly concurrency?: number;
  /** The webhook begins after this position. If omitted, it begins after the newest event. */
  readonly after?: number;
};

export type Access = { readonly url: string; readonly key: string };

const PATH = '/api/v0.1/operator/webhook';

/** Simultaneous calls. */
const CALLS = 8;

export async function createWebhooks(access: Access, webhooks: readonly NewWebhook[]): Promise<readonly string[]> {
  const ids: string[] = [];
  const left = [...webhooks];
  const create = async (): Promise<void> => {
    for (let webhook = left.pop(); webhook !== undefined; webhook = left.pop()) {
      const { webhook_id } = await call<{ readonly webhook_id: string }>(access, 'POST', PATH, webhook);
      ids.push(webhook_id);
    }
  };
  await Promise.all(Array.from({ length: CALLS }, create));
  return ids;
}

export async function deleteWebhook(access: Access, webhookId: string): Promise<void> {
  await call(access, 'DELETE', `${PATH}/${webhookId}`);
}

async function call<Result>({ url, key }: Access, method: string, path: string, body?: object): Promise<Result> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${text}`);
  return JSON.parse(text) as Result;
}
