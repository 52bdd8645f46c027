import type { IncomingMessage } from 'node:http';

// Distinguishes requests from this machine from requests that come from other machines, proxies and web pages.

/** Headers that only proxies add. All headers that begin with X-Forwarded also count. */
const PROXY_HEADERS: ReadonlySet<string> = new Set([
  'forwarded',
  'via',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-original-forwarded-for',
  'true-client-ip',
  'cf-connecting-ip',
]);

/** Returns the first header that only a proxy adds, in lower case. */
export function headerOfProxy({ rawHeaders }: IncomingMessage): string | undefined {
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase();
    if (PROXY_HEADERS.has(name) || name.startsWith('x-forwarded')) return name;
  }
  return undefined;
}

/** Returns whether a Host header or the authority of an origin is a loopback name or address. */
export function isLoopbackAuthority(authority: string): boolean {
  const host = hostOf(authority.toLowerCase());
  return host === 'localhost' || /^[a-z0-9.-]+\.localhost$/.test(host) || host === '[::1]' || isLoopbackIPv4(host);
}

export function isLoopbackOrigin(origin: string): boolean {
  const lower = origin.toLowerCase();
  const scheme = ['http://', 'https://'].find((candidate) => lower.startsWith(candidate));
  return scheme !== undefined && isLoopbackAuthority(lower.slice(scheme.length));
}

export function isLoopbackAddress(address: string | undefined): boolean {
  if (address === undefined) return false;
  return address === '::1' || isLoopbackIPv4(address.startsWith('::ffff:') ? address.slice(7) : address);
}

function hostOf(authority: string): string {
  const port = /:[0-9]{0,5}$/.exec(authority);
  const host = port === null || authority === '[::1]' ? authority : authority.slice(0, port.index);
  return host.endsWith('.') ? host.slice(0, -1) : host;
}

function isLoopbackIPv4(host: string): boolean {
  const parts = host.split('.', 5);
  return parts.length === 4 && parts[0] === '127' && parts.every(isOctet);
}

function isOctet(part: string): boolean {
  return /^(?:0|[1-9][0-9]{0,2})$/.test(part) && Number(part) <= 255;
}
