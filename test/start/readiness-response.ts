import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { waitFor } from '../harness/process.ts';

export type ReadinessResponse = {
  readonly status: number;
  readonly reason: string | null;
  /** The runbook page for the state. Null if no action is needed. */
  readonly runbook: string | null;
  readonly retryAfter: string | null;
  readonly body: Readonly<Record<string, unknown>>;
};

/** Asks a service whether it is ready. Throws if the response names a runbook page that does not exist. */
export async function readinessOf(url: string): Promise<ReadinessResponse> {
  const response = await fetch(`${url}/health/ready`);
  const body = (await response.json()) as Readonly<Record<string, unknown>>;
  const { status, headers } = response;
  const runbook = headers.get('runbook');
  if (runbook !== null && !existsSync(resolve(import.meta.dirname, '../..', runbook)))
    throw new Error(`the response names the page ${runbook}, which does not exist`);
  return { status, reason: headers.get('readiness'), runbook, retryAfter: headers.get('retry-after'), body };
}

/** Waits until a service is in a state, and returns the response. */
export async function untilReadinessIs(url: string, reason: string): Promise<ReadinessResponse> {
  let found = await readinessOf(url);
  await waitFor(`readiness ${reason}`, async () => {
    found = await readinessOf(url);
    return found.reason === reason;
  });
  return found;
}
