import type { Database } from '../../store/connection/database.ts';
import { noteKeyUses } from '../../store/key.ts';

/** For this time after a use of a key was written, no other use of it is written. */
const WRITTEN_MILLISECONDS = 60_000;

/** Maximum number of keys in one statement, which keeps it well within its time limit. */
const PORTION = 1000;

/** Uses of keys, which a job writes, so that requests need not. */
export type KeyUses = {
  /** Notes a use, at the cost of a map look-up. */
  readonly note: (keyId: string) => void;
  /** Writes the noted uses: at most one for each key and minute. */
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
        await database.writeUnguarded(noteKeyUses(portion));
        for (const keyId of portion) {
          noted.delete(keyId);
          written.set(keyId, now);
        }
      }
    },
  };
}
