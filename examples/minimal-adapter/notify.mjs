// Reports the outcome of a pending order to the service, so that the service does not need to ask.
import { createHmac, randomUUID } from 'node:crypto';

/**
 * Sends a notice until the service has accepted it. `url` is https://…/api/v0.1/connector/<connector_id>/notice, with the id of
 * the connector. `answer` is the current answer of /inquire.
 */
export async function notify(answer, url, secret) {
  const body = JSON.stringify({ ...answer, notice_id: `${answer.attempt_id}-${answer.status}` });
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  for (let wait = 1_000; ; wait = Math.min(2 * wait, 60_000)) {
    const [id, time] = [`msg_${randomUUID()}`, Math.floor(Date.now() / 1000)];
    const signature = createHmac('sha256', key).update(`${id}.${time}.${body}`).digest('base64');
    const headers = {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(time),
      'webhook-signature': `v1,${signature}`,
    };
    const response = await fetch(url, { method: 'POST', headers, body }).catch(() => undefined);
    if (response?.status === 200) return;
    // It will never be accepted: an earlier notice with this id has other content.
    if (response?.status === 409) throw new Error(`The notice_id of ${body} is taken.`);
    await new Promise((done) => setTimeout(done, wait));
  }
}
