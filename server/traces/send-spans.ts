// Beside server/delivery/send.ts the only file of the service that opens connections to other hosts. It sends to one URL,
// that of a setting, and follows no redirect.
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';

/** How long a collector may take for an answer. */
const TIMEOUT_MILLISECONDS = 5_000;

/** What sends the body of a request; rejects with why it was not taken. */
export type SendSpans = (body: string, timeoutMilliseconds?: number) => Promise<void>;

/** Opens a connection to a collector, which is kept between two requests; `close` ends it. */
export function openSender(
  endpoint: URL,
  headers: Readonly<Record<string, string>>,
): { readonly send: SendSpans; readonly close: () => void } {
  const isSecure = endpoint.protocol === 'https:';
  const agent = isSecure
    ? new HttpsAgent({ keepAlive: true, maxSockets: 1 })
    : new HttpAgent({ keepAlive: true, maxSockets: 1 });
  const send: SendSpans = (body, timeoutMilliseconds = TIMEOUT_MILLISECONDS) =>
    new Promise((resolve, reject) => {
      const request = (isSecure ? httpsRequest : httpRequest)(endpoint, {
        method: 'POST',
        agent,
        headers: { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      });
      const timer = setTimeout(
        () => request.destroy(new Error(`no answer in ${timeoutMilliseconds} ms`)),
        timeoutMilliseconds,
      ).unref();
      request.on('error', (error) => {
        clearTimeout(timer);
        reject(error);
      });
      request.on('response', (response) => {
        response.resume();
        response.on('error', reject);
        response.on('close', () => {
          clearTimeout(timer);
          const { statusCode = 0 } = response;
          if (statusCode >= 200 && statusCode < 300) resolve();
          else reject(new Error(`the answer has the status ${statusCode}`));
        });
      });
      request.on('socket', (socket) => socket.unref());
      request.end(body);
    });
  return { send, close: () => agent.destroy() };
}
