import { randomUUID } from 'node:crypto';
import { TRANSFER_TYPES, type TransferType } from '../../../domain/transfers/transfer.ts';
import { databaseTime, hourOf } from '../../foundation/database-clock.ts';
import type { Database } from '../../store/connection/database.ts';
import { storeTransferCounts, type TransferCount } from '../../store/overview/transfer-count.ts';

// Invariant: A transfer is counted once, in the hour of its creation, even if counts are stored twice
// Kept by: each process stores its own totals, not increments
// Tested by: `test/api/overview.test.ts`

/**
 * Maximum number of rows in a statement. With this limit, it takes only a few milliseconds, even with thousands of busy card
 * programs.
 */
const MAX_ROWS = 1_000;

type OfProgram = { readonly counts: Record<TransferType, number>; readonly stored: Record<TransferType, number> };

/**
 * Counts the transfers that this process creates, in memory, until a job stores the counts. Each transfer costs one look-up in a
 * map. If the process is killed, at most the counts of ten seconds are lost.
 */
export class TransferCounts {
  readonly #processId = randomUUID();
  /** Counts by hour and the program's inner UUID: the current hour, and earlier hours that are not completely stored. */
  readonly #hours = new Map<number, Map<string, OfProgram>>();
  #hour: number;
  #programs: Map<string, OfProgram>;
  #total = 0;

  constructor() {
    this.#hour = hourOf(databaseTime());
    this.#programs = new Map();
    this.#hours.set(this.#hour, this.#programs);
  }

  get total(): number {
    return this.#total;
  }

  /** Counts a transfer that was just committed. Must not throw, and must cost next to nothing. */
  readonly note = (programId: string, type: TransferType): void => {
    this.#total += 1;
    const program = this.#programs.get(programId) ?? this.#begin(programId);
    program.counts[type] += 1;
  };

  /** Begins the next hour when it is due. Called every second. */
  tick(now = databaseTime()): void {
    const hour = hourOf(now);
    if (hour === this.#hour) return;
    this.#hour = hour;
    this.#programs = this.#hours.get(hour) ?? new Map();
    this.#hours.set(hour, this.#programs);
  }

  /** Stores the changed counts. After a failure, the next call stores them. */
  async store(database: Pick<Database, 'writeUnguarded'>): Promise<void> {
    for (const [hour, programs] of [...this.#hours]) {
      const changed = this.#changed(hour, programs);
      for (let at = 0; at < changed.length; at += MAX_ROWS) {
        const rows = changed.slice(at, at + MAX_ROWS);
        await database.writeUnguarded(storeTransferCounts(rows));
        for (const { programId, type, count } of rows) {
          const program = programs.get(programId);
          if (program !== undefined) program.stored[type] = count;
        }
      }
      if (hour !== this.#hour && this.#changed(hour, programs).length === 0) this.#hours.delete(hour);
    }
  }

  #changed(hour: number, programs: ReadonlyMap<string, OfProgram>): readonly TransferCount[] {
    const processId = this.#processId;
    return [...programs].flatMap(([programId, { counts, stored }]) =>
      TRANSFER_TYPES.filter((type) => counts[type] > stored[type]).map((type) => ({
        hour,
        programId,
        type,
        processId,
        count: counts[type],
      })),
    );
  }

  #begin(programId: string): OfProgram {
    const program: OfProgram = {
      counts: { load: 0, unload: 0, card_to_card: 0 },
      stored: { load: 0, unload: 0, card_to_card: 0 },
    };
    this.#programs.set(programId, program);
    return program;
  }
}
