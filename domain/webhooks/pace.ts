/** How many requests may be in flight at first, and after a time-out: a receiver that never responds occupies no more. */
export const FIRST_WINDOW = 1;

/** The number of requests in flight that a webhook is allowed after a success, of at most `limit`: it doubles every round. */
export function widenWindow(window: number, limit: number): number {
  return window < limit ? window + 1 : limit;
}

/** The number of requests in flight that a webhook is allowed after a failure. */
export function narrowWindow(window: number, hasTimedOut: boolean): number {
  return hasTimedOut || window < 4 ? FIRST_WINDOW : (window - (window % 2)) / 2;
}
