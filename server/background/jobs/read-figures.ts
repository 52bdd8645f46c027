import type { Database } from '../../store/connection/database.ts';
import {
  type LedgerFigures,
  readLedgerFigures,
  readServerFigures,
  readWebhookFigures,
  type ServerFigures,
  type WebhookFigures,
} from '../../store/figures.ts';
import { type RunningJob, startRounds } from './rounds.ts';

/** How old the figures on the page are at most, while the database responds. */
const INTERVAL_MILLISECONDS = 15_000;

/** What is read; each part by itself, so that one that fails does not hide the others. */
export type Figures = {
  readonly ledger: LedgerFigures;
  readonly webhooks: WebhookFigures;
  readonly server: ServerFigures;
};

/** Where the figures go, and what is done besides in every round. */
export type FigureReports = {
  readonly onFigures: <Part extends keyof Figures>(part: Part, figures: Figures[Part]) => void;
  /** Looks at what is not in the database, such as the free space on the disk. */
  readonly lookAround: () => Promise<void>;
  /** Called for the first of several failures in a row. */
  readonly onFailure: (error: unknown) => void;
};

/**
 * Reads what only the database knows, at intervals, on background connections: a request of the metrics never waits for
 * the database.
 */
export function startReadingFigures(
  database: Database,
  { onFigures, lookAround, onFailure }: FigureReports,
  intervalMilliseconds: number = INTERVAL_MILLISECONDS,
): RunningJob {
  const attempts: readonly (() => Promise<void>)[] = [
    async () => onFigures('ledger', await readLedgerFigures(database)),
    async () => onFigures('webhooks', await readWebhookFigures(database)),
    async () => onFigures('server', await readServerFigures(database)),
    lookAround,
  ];
  return startRounds({
    firstPauseMilliseconds: 0,
    retryMilliseconds: intervalMilliseconds,
    onFailure,
    run: async (signal) => {
      let failure: { readonly error: unknown } | undefined;
      for (const attempt of attempts) {
        if (signal.aborted) break;
        try {
          await attempt();
        } catch (error) {
          failure ??= { error };
        }
      }
      if (failure !== undefined) throw failure.error;
      return intervalMilliseconds;
    },
  });
}
