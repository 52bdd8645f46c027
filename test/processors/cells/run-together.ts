import type { Stage } from '../stage.ts';
import { type Counts, Trial } from '../trial.ts';
import type { Cell } from './cell.ts';
import { CAUSE } from './incidents.ts';

/** The problems of each cell by name, and the moved amounts. */
export type Together = Counts & { readonly problems: readonly string[] };

/** Runs the cells of a group together. The incident happens when the transfers of all cells have reached their step. */
export async function runTogether(stage: Stage, cells: readonly Cell[]): Promise<Together> {
  const trials = cells.map((cell) => ({ cell, trial: new Trial(stage, stage.nextConnector(cell.way)) }));
  const problems: string[] = [];
  const inAll = async (act: (cell: Cell, trial: Trial) => Promise<void> | undefined): Promise<void> => {
    const acts = trials.map(async ({ cell, trial }) => {
      try {
        await act(cell, trial);
      } catch (error) {
        problems.push(`${cell.name}: ${error instanceof Error ? error.message : String(error)}`);
      }
    });
    await Promise.all(acts);
  };
  try {
    await inAll((cell, trial) => cell.arrive(trial));
    const later = trials.filter(({ cell }) => cell.approach !== undefined);
    for (const { cell, trial } of later) await cell.approach?.(trial);
    // At least one transfer has reached the gate. The others have also reached it, or wait behind this transfer.
    if (later.length > 0) await stage.gates.untilWaiting();
    const incident = cells[0]?.incident;
    const endIncident = incident === undefined ? undefined : await CAUSE[incident](stage);
    await stage.gates.release();
    await endIncident?.();
    await inAll(async (cell, trial) => {
      await cell.after?.(trial);
      await trial.check(cell.ends);
    });
  } finally {
    for (const { trial } of trials) trial.hold.release();
    await stage.gates.release();
    await stage.endOthers();
  }
  const sum = (count: (counts: Counts) => number) =>
    trials.reduce((total, { trial }) => total + count(trial.counts), 0);
  return {
    problems,
    executed: sum(({ executed }) => executed),
    doubled: sum(({ doubled }) => doubled),
    lost: sum(({ lost }) => lost),
  };
}
