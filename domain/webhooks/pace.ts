/** Requests in flight at first and after a time-out. A receiver that never responds ties up no more than this. */
export const FIRST_WINDOW = 1;

/** How many requests a webhook may have in flight after a success, at most `limit`. The number doubles every round. */
export function widenWindow(window: number, limit: number): number {
  return window < limit ? window + 1 : limit;
}

/** How many requests a webhook may have in flight after a failure. */
export function narrowWindow(window: number, hasTimedOut: boolean): number {
  return hasTimedOut || window < 4 ? FIRST_WINDOW : (window - (window % 2)) / 2;
}
