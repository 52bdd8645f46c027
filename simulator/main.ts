// The simulator: a processor for the sandbox, in a process of its own as a real one is. Whoever starts it writes one line of
// settings to its standard input, and reads one line with its addresses; it ends when that input ends, which is also how it
// notices that the process that started it was killed.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { Book } from './book.ts';
import { sendNotice } from './notices.ts';
import { Processor } from './processor.ts';
import { serve } from './server.ts';

/** The line of settings. */
export type SimulatorSettings = {
  /** Where the book is kept. */
  readonly directory: string;
  /** Where notices are sent; null if nowhere. */
  readonly notice_url: string | null;
  /** `whsec_…`; a new one if omitted. */
  readonly secret?: string;
};

/** The line that says where it is. */
export type SimulatorAddresses = {
  readonly port: number;
  /** A port that refuses every connection for as long as the simulator runs. */
  readonly refused_port: number;
  readonly secret: string;
};

// A signal to the whole group, as by Ctrl-C, is for the service: it may still be waiting for answers.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

const input = createInterface({ input: process.stdin });
const ended = new AbortController();
input.once('close', () => ended.abort());
// Until it has started there is nothing to be ended in order.
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

// The local end of an open connection has a port on which nobody listens, and on which nobody else can begin to.
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
