import type { Database } from '../../store/connection/database.ts';
import {
  type LedgerFigures,
  type ProcessorFigures,
  readLedgerFigures,
  readProcessorFigures,
  readServerFigures,
  readSupportFigures,
  readWebhookFigures,
  type ServerFigures,
  type SupportFigures,
  type WebhookFigures,
} from '../../store/figures.ts';
import { readYesterday, type YesterdayFigures } from '../../store/ledger/day-check.ts';
import { type OnFailure, type RunningJob, startRounds, takeAllSteps } from './rounds.ts';

/** Maximum age of the figures on the metrics page while the database responds. */
const INTERVAL_MILLISECONDS = 15_000;

/** The parts of the figures. Each is read separately, so that a failure does not affect the others. */
export type Figures = {
  readonly ledger: LedgerFigures;
  readonly webhooks: WebhookFigures;
  readonly support: SupportFigures;
  readonly processors: ProcessorFigures;
  readonly server: ServerFigures;
  readonly days: YesterdayFigures;
};

export type FigureReports = {
  readonly onFigures: <Part extends keyof Figures>(part: Part, figures: Figures[Part]) => void;
  /** Reads figures that are not in the database, such as the free space on the disk. */
  readonly readOthers: () => Promise<void>;
  readonly onFailure: OnFailure;
};

/** Reads figures from the database at intervals, so that a request for the metrics never waits for the database. */
export function startReadingFigures(
  database: Database,
  { onFigures, readOthers, onFailure }: FigureReports,
  intervalMilliseconds: number = INTERVAL_MILLISECONDS,
): RunningJob {
  const attempts: readonly (() => Promise<void>)[] = [
    async () => onFigures('ledger', await readLedgerFigures(database)),
    async () => onFigures('webhooks', await readWebhookFigures(database)),
    async () => onFigures('support', await readSupportFigures(database)),
    async () => onFigures('processors', await readProcessorFigures(database)),
    async () => onFigures('server', await readServerFigures(database)),
    async () => onFigures('days', await readYesterday(database)),
    readOthers,
  ];
  return startRounds({
    firstPauseMilliseconds: 0,
    retryMilliseconds: intervalMilliseconds,
    onFailure,
    run: async (signal) => {
      await takeAllSteps(attempts, signal);
      return intervalMilliseconds;
    },
  });
}
