import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';

/** How long the content of the file is used: changes take effect soon, and a burst of new connections reads it once. */
const KEPT_MILLISECONDS = 5_000;

/**
 * Opens the hosts file, which Node's resolver does not read. The returned function finds the addresses of a name in it; a
 * file that cannot be read counts as empty.
 */
export function openHostsFile(path: string): (name: string) => Promise<readonly string[]> {
  let reading: Promise<ReadonlyMap<string, readonly string[]>> | undefined;
  let readAt = 0;
  return async (name) => {
    const now = performance.now();
    if (reading === undefined || now - readAt > KEPT_MILLISECONDS) {
      readAt = now;
      reading = readFile(path, 'utf8').then(parseHosts, () => new Map());
    }
    return (await reading).get(name.toLowerCase()) ?? [];
  };
}

function parseHosts(text: string): ReadonlyMap<string, readonly string[]> {
  const hosts = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const name of names.map((each) => each.toLowerCase())) hosts.set(name, [...(hosts.get(name) ?? []), address]);
  }
  return hosts;
}
