import { TransferService } from '../../sdk/client.ts';

const listeners = new Set<() => void>();

/** Calls `listener` when the service no longer accepts the session; gives what ends that. */
export function onUnauthenticated(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

const returners = new Set<() => void>();

/** Calls `listener` when somebody has signed in again over the view that was left; gives what ends that. */
export function onReturn(listener: () => void): () => void {
  returners.add(listener);
  return () => void returners.delete(listener);
}

/** Says that somebody has signed in again. */
export function announceReturn(): void {
  for (const returner of returners) returner();
}

const changeListeners = new Set<() => void>();

/** Calls `listener` when this console has changed something; gives what ends that. */
export function onChange(listener: () => void): () => void {
  changeListeners.add(listener);
  return () => void changeListeners.delete(listener);
}

/** Says that this console has changed something. */
export function announceChange(): void {
  for (const listener of changeListeners) listener();
}

/** The session's cookie counts only together with this header. A poll does not keep the session alive. */
function fetchAs(kind: '1' | 'background') {
  return async (url: string, init: RequestInit): Promise<Response> => {
    const headers = new Headers(init.headers);
    headers.set('Console', kind);
    const response = await fetch(url, { ...init, headers, credentials: 'same-origin', cache: 'no-store' });
    // A refused key is the sign-in's own affair.
    if (response.status === 401 && !headers.has('Authorization')) for (const listener of listeners) listener();
    return response;
  };
}

const baseUrl = window.location.origin;

/** The client for what a reader asks for. */
export const client = new TransferService({ baseUrl, fetch: fetchAs('1') });

/** The client for what the console asks by itself, again and again: it never retries, since the next poll does. */
export const backgroundClient = new TransferService({ baseUrl, fetch: fetchAs('background'), maxRetries: 0 });

/** A client with a key, to exchange it for a session. The key is only in memory. */
export function clientWithKey(key: string): TransferService {
  return new TransferService({ baseUrl, key, fetch: fetchAs('1'), maxRetries: 0 });
}

/** As the SDK makes keys; `crypto.randomUUID` is absent on plain HTTP. */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
