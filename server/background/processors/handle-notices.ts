import { formatMoney } from '../../../domain/ledger/money.ts';
import { type Attempt, isEnded } from '../../../domain/processors/attempt.ts';
import type { Answer } from '../../../domain/processors/order.ts';
import { newId } from '../../foundation/ids.ts';
import {
  markNoticeForeign,
  markNoticeHandled,
  type NoticeBody,
  readWaitingNotices,
  toWaitingNotice,
  type WaitingNotice,
} from '../../store/processors/notices.ts';
import { type RunningJob, startRounds, takeAllSteps } from '../jobs/rounds.ts';
import type { Connector } from './http-connector.ts';
import { recordContradiction } from './record-contradiction.ts';
import { type ReportParts, readAgain, recordAnswer } from './report.ts';

/** Maximum delay before notices are found that another process has received. */
const INTERVAL_MILLISECONDS = 1_000;

/** Maximum number of notices in one round. */
const PORTION = 100;

/**
 * Handles what processors sent by themselves, once it is stored. Several processes may handle the same notice: the second one
 * changes nothing.
 */
export function startHandlingNotices(connectors: ReadonlyMap<string, Connector>, parts: ReportParts): RunningJob {
  return startRounds({
    firstPauseMilliseconds: 0,
    retryMilliseconds: INTERVAL_MILLISECONDS,
    onFailure: parts.onFailure,
    run: async (signal) => {
      const rows = await parts.database.read(readWaitingNotices([...connectors.keys()], PORTION));
      const readAt = performance.now();
      const steps = rows.map((row) => () => handle(toWaitingNotice(row), readAt, signal));
      await takeAllSteps(steps, signal);
      return rows.length === PORTION ? 0 : INTERVAL_MILLISECONDS;
    },
  });

  async function handle(notice: WaitingNotice, readAt: number, signal: AbortSignal): Promise<void> {
    const { connectorId, noticeId, body } = notice;
    const connector = connectors.get(connectorId);
    if (connector === undefined) return;
    // Another connector must not end what it was never asked.
    if (notice.attempt === undefined || notice.attempt.connectorId !== connectorId) {
      await parts.database.read(markNoticeForeign(notice, newId()));
      return;
    }
    const now = (): number => notice.now + performance.now() - readAt;
    const attempt = await asItIs(notice.attempt);
    const amount = BigInt(body.amount);
    if (amount !== attempt.amount || body.currency !== attempt.currency) {
      const found = `${body.status} of ${formatMoney(amount, body.currency)}`;
      await recordContradiction(
        parts.database,
        attempt,
        { kind: 'contradiction', expected: attempt.status, found },
        now(),
      );
    } else {
      const { traits } = connector;
      const answered = { attempt, question: 'notice' as const, answer: toAnswer(body), traits, now };
      if (!(await recordAnswer(parts, answered, signal))) return;
    }
    await parts.database.read(markNoticeHandled(connectorId, noticeId));
  }

  /** What has ended does not change any more, but a notice of the same round may have said that it moved money all the same. */
  async function asItIs(attempt: Attempt): Promise<Attempt> {
    if (!isEnded(attempt.status)) return attempt;
    return (await readAgain(parts.database, attempt)) ?? attempt;
  }
}

function toAnswer(body: NoticeBody): Answer {
  return {
    outcome: body.status,
    processorReference: body.processor_reference ?? null,
    code: body.code ?? null,
    retryAfterSeconds: body.retry_after_seconds ?? null,
    detail: null,
  };
}
