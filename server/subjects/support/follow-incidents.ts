import { performance } from 'node:perf_hooks';
import { toWireId } from '../../../domain/identifier.ts';
import { type Covered, covers } from '../../../domain/support/incident.ts';
import { transact } from '../../commit/transaction.ts';
import type { Database } from '../../store/connection/database.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import { lockUnresolvedCases, toCase, updateCases, writeResolution } from '../../store/support/case.ts';
import {
  type Incident,
  lockIncident,
  moveSettling,
  READ_CURRENT_INCIDENTS,
  readSettling,
  toIncident,
  toSettlingIncident,
} from '../../store/support/incident.ts';
import { READ_SWITCH, toSwitchReading } from '../../store/switch.ts';
import { afterResolution } from './end-case.ts';
import { toCaseRecord } from './record.ts';

// Invariant: Each case of a resolved incident gets exactly one case.resolved, even if a process is killed in the meantime
// Kept by: a transaction under the lock of the incident writes a batch of cases, its events and the new cursor
// Tested by: `test/store/support`, `test/crashes/incident-end.test.ts`

/** Number of cases that one transaction resolves. The transaction ends well within the statement timeout. */
const BATCH_SIZE = 100;

const DEADLINE_MILLISECONDS = 5000;

/** If the last reading is older than this, in milliseconds, the open incidents count as unknown. */
const FORGOTTEN_MILLISECONDS = 5000;

/**
 * The incidents that were open at the last reading. Error responses can name them without a statement to the database. While the
 * database cannot be read, the open incidents are unknown, and responses name none.
 */
export class OpenIncidents {
  #open: readonly Incident[] | undefined;
  #readAt = 0;
  readonly #forgottenMilliseconds: number;

  constructor(forgottenMilliseconds = FORGOTTEN_MILLISECONDS) {
    this.#forgottenMilliseconds = forgottenMilliseconds;
  }

  /**
   * Returns the incident (wire id) that covers an error. If several do, returns the newest. Returns undefined while the open
   * incidents are unknown, because no case can be opened then.
   */
  readonly find = (error: Covered): { readonly incidentId: string | undefined } | undefined => {
    if (this.#open === undefined || performance.now() - this.#readAt > this.#forgottenMilliseconds) return undefined;
    const incident = this.#open.find((one) => covers(one, error));
    return { incidentId: incident === undefined ? undefined : toWireId('inc', incident.incidentId) };
  };

  /**
   * Reads the incidents again, and resolves the cases of resolved incidents. Rejects if that fails. Then the open incidents are
   * unknown.
   */
  async follow(database: Database, signal: AbortSignal): Promise<void> {
    try {
      const current = (await database.read(READ_CURRENT_INCIDENTS)).map(toIncident);
      this.#open = current.filter(({ resolvedAt }) => resolvedAt === null);
      this.#readAt = performance.now();
      for (const { incidentId, resolvedAt } of current) {
        if (resolvedAt !== null) await settle(database, incidentId, signal);
      }
    } catch (error) {
      this.#open = undefined;
      throw error;
    }
  }
}

async function settle(database: Database, incidentId: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && (await settleBatch(database, incidentId))) {
    // The next batch gets its own transaction.
  }
}

/** Resolves the next cases of a resolved incident. Returns whether there may be more. */
export function settleBatch(database: Database, incidentId: string, count = BATCH_SIZE): Promise<boolean> {
  const load = {
    lock: lockIncident({ incidentId }),
    incident: readSettling({ incidentId }),
    cases: lockUnresolvedCases({ incidentId, count }),
    clock: READ_SWITCH,
  };
  return transact(database, performance.now() + DEADLINE_MILLISECONDS, load, (loaded, batchId) => {
    const [row] = loaded.incident;
    // Another process has already resolved them.
    if (row === undefined) return { result: false, writes: [] };
    const { outcome, resolution, settledUpTo } = toSettlingIncident(row);
    const { now } = toSwitchReading(loaded.clock);
    const cases = loaded.cases.map(toCase).map((one) => afterResolution(one, outcome ?? 'nothing', now));
    const last = cases.at(-1)?.caseId ?? settledUpTo;
    const isSettled = cases.length < count;
    const writes = [moveSettling({ incidentId, settledUpTo: last, isSettled })];
    if (cases.length === 0) return { result: false, writes };
    const events = cases.map((one) => {
      const record = toCaseRecord(one);
      const payload = JSON.stringify(record);
      return { type: 'case.resolved' as const, programId: one.programId, subjectId: record.case_id, payload };
    });
    writes.push(
      updateCases(cases),
      writeResolution({ caseIds: cases.map(({ caseId }) => caseId), resolution }),
      insertEvents(batchId, events, now),
    );
    return { result: !isSettled, writes };
  });
}
