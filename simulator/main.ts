// The simulator: a processor for the sandbox, in a separate process like a real one. The starting process writes one
// line of settings to standard input, and reads one line with the simulator's addresses. The simulator ends when its
// input ends, which also happens when the starting process is killed. With the argument `settlement`, it writes a
// settlement file instead.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { Book } from './book.ts';
import { sendNotice } from './notices.ts';
import { Processor } from './processor.ts';
import { serve } from './server.ts';
import { settlementCommand } from './settlement.ts';

export type SimulatorSettings = {
  /** The directory of the book. */
  readonly directory: string;
  /** The URL for notices, or null to send none. */
  readonly notice_url: string | null;
  /** `whsec_…`. If omitted, a new one is generated. */
  readonly secret?: string;
};

export type SimulatorAddresses = {
  readonly port: number;
  /** A port that refuses every connection while the simulator runs. */
  readonly refused_port: number;
  readonly secret: string;
};

if (process.argv[2] === 'settlement') process.exit(settlementCommand(process.argv.slice(3)));

// Ignores signals to the whole group, such as Ctrl-C. They are for the service, which may still be waiting for answers.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

const input = createInterface({ input: process.stdin });
const ended = new AbortController();
input.once('close', () => ended.abort());
// Before the start is complete, nothing needs an orderly shutdown.
const exit = (): never => process.exit(0);
ended.signal.addEventListener('abort', exit);
const [line] = (await once(input, 'line')) as [string];
const {
  directory,
  notice_url,
  secret = `whsec_${randomBytes(32).toString('base64')}`,
} = JSON.parse(line) as SimulatorSettings;

const { book, facts } = await Book.open(directory);
const processor = new Processor({
  book,
  facts,
  sendNotice: (notice) => sendNotice(notice, { url: notice_url, secret, signal: ended.signal }),
});
const server = serve(processor, secret);
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;

// The local end of an open connection has a port that no process listens on, and that no other process can listen on.
const holder = createServer().listen(0, '127.0.0.1');
await once(holder, 'listening');
const placeholder = connect((holder.address() as AddressInfo).port, '127.0.0.1');
await once(placeholder, 'connect');
const addresses: SimulatorAddresses = { port, refused_port: placeholder.localPort ?? 0, secret };
process.stdout.write(`${JSON.stringify(addresses)}\n`);

ended.signal.removeEventListener('abort', exit);
await once(ended.signal, 'abort');
processor.stop();
server.close();
server.closeAllConnections();
await book.close();
process.exit(0);
