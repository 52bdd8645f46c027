import { createServer } from 'node:net';

/** Below the ports that Linux and macOS give to whoever asks for any, so that no other program gets one by chance. */
const FIRST = 20_000;
const LAST = 32_000;

const given = new Set<number>();

/**
 * A port of the loopback on which nothing listens, and nothing will that does not ask for it by its number. One that was
 * listened on for a moment, as port 0, can be given to any other test of the machine.
 */
export async function lastingPort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
