import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';

/** A stand-in for a very old PostgreSQL. */
export type OldServer = { readonly databaseUrl: string; readonly close: () => void };

/**
 * Starts a server that responds like PostgreSQL 13, because a package of that version is no longer available. The
 * server refuses a startup option that was added later, and answers the first query with its version and settings. The
 * service asks nothing else before it checks the version.
 */
export async function startOldServer(): Promise<OldServer> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    let startedUp = false;
    socket.on('data', (bytes: Buffer) => {
      if (startedUp) {
        if (bytes[0] === 0x51) response(socket);
        return;
      }
      startedUp = true;
      if (bytes.includes('idle_session_timeout')) refuse(socket);
      else socket.write(Buffer.concat([message('R', int32(0)), READY]));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return { databaseUrl: `postgresql://someone@127.0.0.1:${port}/ledger`, close: () => server.close() };
}

const TEXT = 25;
const FACTS: readonly (readonly [name: string, type: number, value: string])[] = [
  ['versionNumber', 23, '130016'],
  ['version', TEXT, '13.16'],
  ['encoding', TEXT, 'LATIN1'],
  ['database', TEXT, 'ledger'],
  ['isStandby', 16, 'f'],
  ['readOnly', TEXT, 'off'],
  ['readOnlySource', TEXT, 'default'],
];

const text = (value: string): Buffer => Buffer.from(`${value}\0`);

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function message(kind: string, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(kind), int32(content.length + 4), content]);
}

const READY = message('Z', Buffer.from('I'));

function refuse(socket: Socket): void {
  const sentence = 'unrecognized configuration parameter "idle_session_timeout"';
  const fields = [`SFATAL`, 'VFATAL', 'C42704', `M${sentence}`].map(text);
  socket.end(message('E', ...fields, Buffer.alloc(1)));
}

function response(socket: Socket): void {
  const columns = FACTS.map(([name, type]) =>
    Buffer.concat([text(name), int32(0), int16(0), int32(type), int16(-1), int32(-1), int16(0)]),
  );
  const values = FACTS.map(([, , value]) => Buffer.concat([int32(value.length), Buffer.from(value)]));
  socket.write(
    Buffer.concat([
      message('T', int16(columns.length), ...columns),
      message('D', int16(values.length), ...values),
      message('C', text('SELECT 1')),
      READY,
    ]),
  );
}
