import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from './order.ts';
import { sign } from './signature.ts';

type Notice = Answer & { readonly notice_id: string };

const TIMEOUT_MILLISECONDS = 10_000;
/** The first waits are short, because a developer may be waiting for the result. The last one repeats. */
const WAITS_MILLISECONDS = [200, 500, 1_000, 2_000, 5_000, 10_000];

/** Sends a notice until the service has received it. Resolves to false if the signal stopped it, or if there is no URL. */
export async function sendNotice(
  notice: Notice,
  { url, secret, signal }: { readonly url: string | null; readonly secret: string; readonly signal: AbortSignal },
): Promise<boolean> {
  if (url === null) return false;
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    if ((await post(url, JSON.stringify(notice), secret, signal)) === 200) return true;
    const wait = WAITS_MILLISECONDS[Math.min(attempt, WAITS_MILLISECONDS.length - 1)];
    await sleep(wait, undefined, { signal }).catch(() => undefined);
  }
  return false;
}

/** Returns the status of the answer, or undefined if there is none. */
function post(url: string, body: string, secret: string, signal: AbortSignal): Promise<number | undefined> {
  const id = `msg_${randomUUID().replaceAll('-', '')}`;
  return new Promise((resolve) => {
    const outgoing = request(
      url,
      {
        method: 'POST',
        agent: false,
        headers: { 'content-type': 'application/json', ...sign(id, body, secret) },
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MILLISECONDS)]),
      },
      (response) => {
        response.resume();
        resolve(response.statusCode);
      },
    );
    outgoing.on('error', () => resolve(undefined));
    outgoing.end(body);
  });
}
