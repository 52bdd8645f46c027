import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createConnection } from 'node:net';
import { readSigningKey, signMessage } from '../../server/foundation/signature.ts';

/**
 * How a notice reaches the service: in one piece, byte by byte, or on a connection that its sender cuts before the
 * response.
 */
export type Delivery = 'whole' | 'slow' | 'cut';

export type NoticeToSend = {
  readonly url: string;
  readonly connectorId: string;
  readonly secret: string;
  readonly body: string;
  readonly delivery: Delivery;
};

/** Sends a notice as an adapter does. Returns the response's status, or undefined if no response arrived. */
export async function sendNotice(notice: NoticeToSend): Promise<number | undefined> {
  const { url, connectorId, secret, body, delivery } = notice;
  const { hostname, port } = new URL(url);
  const signature = signMessage({ id: `msg_${randomUUID()}`, sentAt: new Date(), body }, [readSigningKey(secret)]);
  const headers = { host: hostname, 'content-type': 'application/json', 'content-length': body.length, ...signature };
  const lines = Object.entries({ ...headers, connection: 'close' }).map(([name, value]) => `${name}: ${value}`);
  const text = `POST /api/v0.1/connector/${connectorId}/notice HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
  const socket = createConnection(Number(port), hostname);
  let answer = '';
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    answer += chunk.toString();
  });
  const closed = once(socket, 'close').catch(() => undefined);
  if (delivery === 'slow') {
    for (const byte of text) {
      if (socket.destroyed) break;
      socket.write(byte);
      await new Promise((turn) => setImmediate(turn));
    }
  } else {
    socket.write(text, () => {
      if (delivery === 'cut') socket.destroy();
    });
  }
  await closed;
  const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(answer) ?? [];
  return status === undefined ? undefined : Number(status);
}
