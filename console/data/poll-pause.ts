/** The shortest pause between two polls: what happens by itself, such as a delivery, takes about as long. */
export const MIN_PAUSE_MILLISECONDS = 1_000;

/** How long after its time something has usually happened, and is stored. */
const USUAL_DELAY_MILLISECONDS = 500;

/**
 * The pause until a result is asked for again, in milliseconds: `every`, or less where it is known to change before, at
 * `changesAt` (ISO 8601; `now` is in milliseconds since 1970). What should have come a whole poll ago hurries nobody.
 */
export function pauseUntilPoll(every: number, changesAt: string | null, now: number): number {
  if (changesAt === null) return every;
  const pause = Date.parse(changesAt) + USUAL_DELAY_MILLISECONDS - now;
  if (pause < -every) return every;
  return Math.min(every, Math.max(MIN_PAUSE_MILLISECONDS, pause));
}
