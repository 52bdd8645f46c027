import type { Role } from '../../../contract/scope.ts';
import { fetchPatiently } from '../../harness/client/patience.ts';

/**
 * Creates a key with a role for every card program. Only a live service needs `by`, a key that can create keys.
 */
export async function createKey(url: string, role: Role, by?: string): Promise<string> {
  const response = await fetchPatiently(`${url}/api/v0.1/operator/key`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...(by === undefined ? {} : { Authorization: `Bearer ${by}` }) },
    body: JSON.stringify({ name: `The ${role} of the tests`, all_programs: true, role }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`no key for ${role}: ${text}`);
  return (JSON.parse(text) as { readonly key: string }).key;
}

/** Exchanges a key for a session and returns its cookie. */
export async function cookieOfSession(url: string, key: string) {
  const response = await fetchPatiently(`${url}/api/v0.1/console/session`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, Console: '1', 'Sec-Fetch-Site': 'same-origin' },
  });
  const [name, value] = /^([^=]+)=([^;]*)/.exec(response.headers.getSetCookie()[0] ?? '')?.slice(1) ?? [];
  if (name === undefined || value === undefined) throw new Error(`no session: ${await response.text()}`);
  return {
    name,
    value,
    url: url.replace('http:', 'https:'),
    httpOnly: true,
    secure: true,
    sameSite: 'Strict' as const,
  };
}
