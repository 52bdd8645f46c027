import { createContext } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import { useSession } from './session.ts';
import { useOperation } from './use-operation.ts';

const POLL_MILLISECONDS = 5_000;

/** How far the sandbox clock is ahead of actual time, in milliseconds. 0 if it was not moved. */
export const ClockContext = createContext(0);

/** Polls how far the clock is ahead, because others can move it. A live service always follows actual time. */
export function useClockAhead(): number {
  const { mode } = useSession();
  const { data } = useOperation(
    mode === 'sandbox' ? (api, { programId: _, ...options }) => api.sessions.current(options) : undefined,
    { pollMilliseconds: POLL_MILLISECONDS },
  );
  const known = useRef(0);
  // Keep the last value while the database doesn't respond. The clock can't be moved without it.
  known.current = data?.sandbox_seconds_ahead ?? known.current;
  return known.current * 1000;
}

/**
 * Returns the current time of the service's clock, in milliseconds since 1970. Compare it with the times of cards, transfers,
 * programs, keys and the switch. The audit log, errors, requests, sessions, webhook deliveries and the overview follow actual
 * time even if a sandbox's clock was moved: compare those with `Date.now()`.
 */
export function useNow(): number {
  return Date.now() + useContext(ClockContext);
}

const TICK_MILLISECONDS = 10_000;

/** Renders the component again from time to time, so that a distance such as `5 min ago` stays true. */
export function useTicks(isNeeded: boolean): void {
  const [, setCount] = useState(0);
  useEffect(() => {
    if (!isNeeded) return;
    const timer = window.setInterval(() => setCount((count) => count + 1), TICK_MILLISECONDS);
    return () => window.clearInterval(timer);
  }, [isNeeded]);
}

/** Returns how far the sandbox clock is ahead, in milliseconds. */
export function useAhead(): number {
  return useContext(ClockContext);
}
