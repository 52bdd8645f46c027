import { createContext } from 'preact';
import { useContext, useRef } from 'preact/hooks';
import { useSession } from './session.ts';
import { useOperation } from './use-operation.ts';

const POLL_MILLISECONDS = 5_000;

/** How far the clock of the sandbox is ahead of actual time, in milliseconds; 0 where nobody has moved it. */
export const ClockContext = createContext(0);

/** Polls that, because others may move the clock. A live service has only actual time. */
export function useClockAhead(): number {
  const { mode } = useSession();
  const { data } = useOperation(
    mode === 'sandbox' ? (api, { programId: _, ...options }) => api.sessions.current(options) : undefined,
    { pollMilliseconds: POLL_MILLISECONDS },
  );
  const known = useRef(0);
  // While the database does not respond the clock is unknown, but cannot have been moved either.
  known.current = data?.sandbox_seconds_ahead ?? known.current;
  return known.current * 1000;
}

/**
 * The current time by the clock of the service, in milliseconds since 1970, to compare with the times of cards, transfers,
 * programs, keys and the switch. The audit log, errors, requests, sessions, deliveries to webhooks and the overview follow
 * actual time even if the clock of a sandbox was moved: compare those with `Date.now()`.
 */
export function useNow(): number {
  return Date.now() + useContext(ClockContext);
}

/** How far the clock of the sandbox is ahead, in milliseconds. */
export function useAhead(): number {
  return useContext(ClockContext);
}
