import { createServer } from 'node:net';

/** The first port to try. Linux and macOS assign ports from a higher range, so no other process gets one of these by chance. */
const FIRST = 20_000;
const LAST = 32_000;

const given = new Set<number>();

/**
 * Returns a loopback port where nothing listens, and where nothing will listen unless it asks for this number. A port
 * assigned by the system for port 0 could also go to any other test on the machine.
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
