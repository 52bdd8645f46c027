import type { Database } from '../../store/connection/database.ts';
import { noteKeyUses } from '../../store/key.ts';

/** After a use of a key was written, its further uses are not written for this time. */
const WRITTEN_MILLISECONDS = 60_000;

/** Maximum number of keys in one statement, which keeps it well within its time limit. */
const PORTION = 1000;

/** Uses of keys that are written by a job, not by the requests. */
export type KeyUses = {
  /** Notes a use; costs the request a map look-up. */
  readonly note: (keyId: string) => void;
  /** Writes the uses of keys of which none was written within the last minute. */
  readonly write: () => Promise<void>;
};

/** Opens an empty record of uses. A use that could not be written is written the next time. */
export function openKeyUses(database: Database): KeyUses {
  const written = new Map<string, number>();
  const noted = new Set<string>();
  return {
    note: (keyId) => {
      const last = written.get(keyId);
      if (last === undefined || last + WRITTEN_MILLISECONDS <= performance.now()) noted.add(keyId);
    },
    write: async () => {
      const now = performance.now();
      for (const [keyId, time] of written) if (time + WRITTEN_MILLISECONDS <= now) written.delete(keyId);
      while (noted.size > 0) {
        const portion = [...noted].slice(0, PORTION);
        await database.read(noteKeyUses(portion));
        for (const keyId of portion) {
          noted.delete(keyId);
          written.set(keyId, now);
        }
      }
    },
  };
}
