import { expect, test } from 'vitest';
import { operatorKey, withSecret } from '../harness/keys.ts';
import { waitFor } from '../harness/process.ts';
import { sendRaw } from '../harness/raw-request.ts';
import { useService } from '../harness/service.ts';

const running = useService();
const client = () => running().client;

const OWN = { Console: 'background', 'Sec-Fetch-Site': 'same-origin' };
const MISSING = `/api/v0.1/core/transfer/tr_${'0'.repeat(32)}`;

type Sent = { readonly method?: string; readonly path?: string; readonly headers: Readonly<Record<string, string>> };

/** Sends a request that fails, and returns its id. */
async function fail({ method = 'GET', path = MISSING, headers }: Sent): Promise<string> {
  const response = await sendRaw(client().baseUrl, { method, path, headers });
  expect(response.status).toBeGreaterThanOrEqual(400);
  return String(response.headers['request-id']);
}

const isRecorded = (requestId: string) =>
  client()
    .errors.inspect(requestId)
    .then(Boolean, () => false);

test("all errors are recorded except those of the console's background requests", async () => {
  const { key } = await withSecret(client().keys.create(operatorKey('of a program')));
  const badCookie = { Cookie: `console-${new URL(client().baseUrl).port}=none`, 'Sec-Fetch-Site': 'same-origin' };
  const own: readonly Sent[] = [
    { headers: OWN },
    { path: '/api/v0.1/operator/switch', headers: { ...OWN, 'Sandbox-Provoke': 'unknown_get_switch' } },
    // The console asks who is signed in, although the session has ended.
    { path: '/api/v0.1/console/session', headers: { ...badCookie, Console: '1' } },
  ];
  const others: readonly Sent[] = [
    // The user of the console causes this request.
    { headers: { ...OWN, Console: '1' } },
    // These come from a page of a different origin, or from an application that claims to be the console.
    { headers: { ...OWN, 'Sec-Fetch-Site': 'cross-site' } },
    { headers: { Console: 'background' } },
    { headers: { ...OWN, Authorization: `Bearer ${key}` } },
    { headers: { ...OWN, Authorization: 'Bearer none' } },
    // This request changes something.
    { method: 'POST', path: `${MISSING}/cancel`, headers: OWN },
    { headers: { ...badCookie, Console: '1' } },
  ];
  const [hidden, shown] = [[] as string[], [] as string[]];
  for (const one of own) hidden.push(await fail(one));
  for (const one of others) shown.push(await fail(one));
  // Errors are stored in order, so all earlier errors are stored too.
  for (const requestId of shown) await waitFor('the error to be recorded', () => isRecorded(requestId));
  expect(await Promise.all(hidden.map(isRecorded))).toEqual(own.map(() => false));
  const overview = await client().status.overview();
  expect(overview.proposed_incidents.map(({ code }) => code)).not.toContain('unknown_get_switch');
});
