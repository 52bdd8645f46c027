/** The shortest pause between two polls. Automatic work, such as a delivery, takes about as long. */
export const MIN_PAUSE_MILLISECONDS = 1_000;

/** How long after its due time a change has usually happened and been stored. */
const USUAL_DELAY_MILLISECONDS = 500;

/**
 * Returns the pause before the next poll, in milliseconds. This is `every`, or less if the result will change earlier, at
 * `changesAt` (ISO 8601; `now` is in milliseconds since 1970). If the change is overdue by a whole poll, it no longer shortens
 * the pause.
 */
export function pauseUntilPoll(every: number, changesAt: string | null, now: number): number {
  if (changesAt === null) return every;
  const pause = Date.parse(changesAt) + USUAL_DELAY_MILLISECONDS - now;
  if (pause < -every) return every;
  return Math.min(every, Math.max(MIN_PAUSE_MILLISECONDS, pause));
}
