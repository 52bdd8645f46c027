import type { Database } from '../../store/connection/database.ts';
import { noteSessionUses } from '../../store/session.ts';

/** Maximum number of sessions in one statement, which keeps it well within its time limit. */
const PORTION = 1000;

/** Uses of sessions, which a job writes, so that requests need not. */
export type SessionUseNotes = {
  /** Notes a use at this moment, at the cost of a map entry. */
  readonly note: (sessionId: string) => void;
  /** Writes when sessions were last used. What could not be written is written the next time. */
  readonly write: () => Promise<void>;
};

/** Opens an empty record of uses. */
export function openSessionUses(database: Database): SessionUseNotes {
  /** When each session was last used, by `performance.now()`. */
  const noted = new Map<string, number>();
  return {
    note: (sessionId) => noted.set(sessionId, performance.now()),
    write: async () => {
      const taken = [...noted];
      for (let at = 0; at < taken.length; at += PORTION) {
        const portion = taken.slice(at, at + PORTION);
        const now = performance.now();
        const uses = portion.map(([sessionId, usedAt]) => ({ sessionId, age: Math.round(now - usedAt) }));
        await database.writeUnguarded(noteSessionUses(uses));
        // A use that was noted meanwhile is kept for the next time.
        for (const [sessionId, usedAt] of portion) if (noted.get(sessionId) === usedAt) noted.delete(sessionId);
      }
    },
  };
}
