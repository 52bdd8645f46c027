import { TransferService } from '../../sdk/client.ts';
import { workedCase } from './location.ts';

const listeners = new Set<() => void>();

/** Calls `listener` when the service no longer accepts the session. Returns a function that unsubscribes. */
export function onUnauthenticated(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

const signInListeners = new Set<() => void>();

/** Calls `listener` when the user has signed in again after a session ended. Returns a function that unsubscribes. */
export function onSignedInAgain(listener: () => void): () => void {
  signInListeners.add(listener);
  return () => void signInListeners.delete(listener);
}

export function announceSignIn(): void {
  for (const returner of signInListeners) returner();
}

const changeListeners = new Set<() => void>();

/** Calls `listener` when this console has changed something. Returns a function that unsubscribes. */
export function onChange(listener: () => void): () => void {
  changeListeners.add(listener);
  return () => void changeListeners.delete(listener);
}

export function announceChange(): void {
  for (const listener of changeListeners) listener();
}

const outdatedListeners = new Set<() => void>();

/** Calls `listener` when the service has more recent data than a screen. Returns a function that unsubscribes. */
export function onOutdated(listener: () => void): () => void {
  outdatedListeners.add(listener);
  return () => void outdatedListeners.delete(listener);
}

export function announceOutdated(): void {
  for (const listener of outdatedListeners) listener();
}

/** The service accepts the session cookie only with this header. Background requests don't keep the session alive. */
function fetchAs(kind: '1' | 'background') {
  return async (url: string, init: RequestInit): Promise<Response> => {
    const headers = new Headers(init.headers);
    headers.set('Console', kind);
    const caseId = workedCase();
    if (caseId !== undefined) headers.set('Case-Id', caseId);
    const response = await fetch(url, { ...init, headers, credentials: 'same-origin', cache: 'no-store' });
    // Only the sign-in form sends a key, and it handles a refusal itself.
    if (response.status === 401 && !headers.has('Authorization')) for (const listener of listeners) listener();
    return response;
  };
}

const baseUrl = window.location.origin;

/** The client for requests that the user makes. */
export const client = new TransferService({ baseUrl, fetch: fetchAs('1') });

/** The client for polling. It never retries, because the next poll does. */
export const backgroundClient = new TransferService({ baseUrl, fetch: fetchAs('background'), maxRetries: 0 });

/** Returns a client with a key, to exchange it for a session. The key is only in memory. */
export function clientWithKey(key: string): TransferService {
  return new TransferService({ baseUrl, key, fetch: fetchAs('1'), maxRetries: 0 });
}

/** Returns a random key of 128 bits. `crypto.randomUUID` is missing on plain HTTP. */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
