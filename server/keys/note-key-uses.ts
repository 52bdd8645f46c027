import type { Database } from '../store/connection/database.ts';
import { noteKeyUses } from '../store/key.ts';

/** How long a use that was written lets others go unwritten, in milliseconds. */
const WRITTEN_FOR = 60_000;

/** Keys in one statement: few enough to be done well within its time limit. */
const PORTION = 1000;

/** Which keys were used, until it is written beside the requests. */
export type KeyUses = {
  /** Notes a use; costs the request a look into a map. */
  readonly note: (keyId: string) => void;
  /** Writes what was noted, and not written within the last minute. */
  readonly write: () => Promise<void>;
};

/** Opens an empty memory of uses. A use that could not be written is noted still, and written the next time. */
export function openKeyUses(database: Database): KeyUses {
  const written = new Map<string, number>();
  const noted = new Set<string>();
  return {
    note: (keyId) => {
      const last = written.get(keyId);
      if (last === undefined || last + WRITTEN_FOR <= performance.now()) noted.add(keyId);
    },
    write: async () => {
      const now = performance.now();
      for (const [keyId, time] of written) if (time + WRITTEN_FOR <= now) written.delete(keyId);
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
