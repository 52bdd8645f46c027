import { type Attempt, isEnded } from '../../../domain/processors/attempt.ts';
import { statedBy } from '../../../domain/processors/next-step.ts';
import type { Answer } from '../../../domain/processors/order.ts';
import { newId } from '../../foundation/ids.ts';
import { insertBreak } from '../../store/processors/contradiction.ts';
import {
  MAX_NOTICE_FAILURES,
  markNoticeFailed,
  markNoticeForeign,
  markNoticeHandled,
  type NoticeBody,
  readWaitingNotices,
  saidBy,
  toFailures,
  toWaitingNotice,
  type WaitingNotice,
} from '../../store/processors/notices.ts';
import { type RunningJob, startRounds } from '../jobs/rounds.ts';
import type { Connector } from './http-connector.ts';
import { recordContradiction } from './record-contradiction.ts';
import { type ReportParts, readAgain, recordNow } from './report.ts';

/** Maximum delay before the job finds notices that another process has received. */
const INTERVAL_MILLISECONDS = 1_000;

/** Maximum number of a connector's notices that are handled at the same time. */
const PORTION = 8;

type Parts = ReportParts & { readonly connectors: ReadonlyMap<string, Connector> };

/**
 * Handles the stored notices of processors. Each connector has its own queue. A failed notice is retried after the notices that
 * have failed less often, so it does not delay them. Several processes may handle the same notice: the second one changes nothing.
 */
export function startHandlingNotices(connectors: ReadonlyMap<string, Connector>, parts: ReportParts): RunningJob {
  const busy = new Map<string, Promise<void>>();
  const job = startRounds({
    firstPauseMilliseconds: 0,
    retryMilliseconds: INTERVAL_MILLISECONDS,
    onFailure: parts.onFailure,
    run: async (signal) => {
      const idle = [...connectors.keys()].filter((connectorId) => !busy.has(connectorId));
      if (idle.length === 0) return INTERVAL_MILLISECONDS;
      const rows = await parts.database.read(readWaitingNotices(idle, PORTION));
      const portion = new Portion({ ...parts, connectors }, performance.now(), signal);
      for (const [connectorId, notices] of Map.groupBy(rows.map(toWaitingNotice), (notice) => notice.connectorId)) {
        const done = portion.handleAll(notices).then(() => {
          busy.delete(connectorId);
          if (notices.length === PORTION) job.wake();
        });
        busy.set(connectorId, done);
      }
      return INTERVAL_MILLISECONDS;
    },
  });
  return {
    ...job,
    stop: async () => {
      await job.stop();
      await Promise.all(busy.values());
    },
  };
}

class Portion {
  readonly #parts: Parts;
  readonly #readAt: number;
  readonly #signal: AbortSignal;

  constructor(parts: Parts, readAt: number, signal: AbortSignal) {
    this.#parts = parts;
    this.#readAt = readAt;
    this.#signal = signal;
  }

  /** Handles notices about the same attempt in order, and others in parallel. Never rejects. */
  async handleAll(notices: readonly WaitingNotice[]): Promise<void> {
    const byAttempt = Map.groupBy(notices, ({ body }) => body.attempt_id);
    await Promise.all(
      [...byAttempt.values()].map(async (own) => {
        for (const notice of own) if (!(await this.#handle(notice))) return;
      }),
    );
  }

  /** Returns whether the notice was handled. If it was not, the other notices about its attempt wait, too. */
  async #handle(notice: WaitingNotice): Promise<boolean> {
    if (this.#signal.aborted) return false;
    try {
      await this.#record(notice);
      return true;
    } catch (error) {
      this.#parts.onFailure(error, notice.tries > 0);
      await this.#noteFailure(notice).catch((second: unknown) => this.#parts.onFailure(second, true));
      return false;
    }
  }

  async #record(notice: WaitingNotice): Promise<void> {
    const { database, connectors } = this.#parts;
    const { connectorId, noticeId, body } = notice;
    const connector = connectors.get(connectorId);
    if (connector === undefined) return;
    // A connector must not end another connector's attempt.
    if (notice.attempt === undefined || notice.attempt.connectorId !== connectorId) {
      await database.write(markNoticeForeign(notice, newId()));
      return;
    }
    const attempt = await this.#asItIs(notice.attempt);
    const amount = BigInt(body.amount);
    if (amount !== attempt.amount || body.currency !== attempt.currency) {
      const stated = body.currency === attempt.currency ? statedBy(body.status, amount) : null;
      const said = { kind: 'contradiction', expected: attempt.status, found: saidBy(body), stated } as const;
      await recordContradiction(database, attempt, said, this.#now(notice));
    } else {
      const { traits } = connector;
      const answer = toAnswer(body);
      await recordNow(this.#parts, { attempt, question: 'notice', answer, traits, now: () => this.#now(notice) });
    }
    await database.write(markNoticeHandled(connectorId, noticeId));
  }

  /**
   * Returns the current attempt. An ended attempt no longer changes, with one exception: an earlier notice in the same portion may
   * have said that the money moved anyway.
   */
  async #asItIs(attempt: Attempt): Promise<Attempt> {
    if (!isEnded(attempt.status)) return attempt;
    return (await readAgain(this.#parts.database, attempt)) ?? attempt;
  }

  /**
   * Postpones a notice, and creates a break for an operator if the notice keeps failing. A notice that matches no attempt needs
   * no such break: handling it creates one.
   */
  async #noteFailure(notice: WaitingNotice): Promise<void> {
    const { database } = this.#parts;
    const { connectorId, noticeId, body, tries, attempt } = notice;
    // Uses the database's count, because another process may also have failed to handle this notice since it was read.
    const failures = toFailures(await database.write(markNoticeFailed(notice)), notice) ?? tries + 1;
    if (failures < MAX_NOTICE_FAILURES || attempt === undefined) return;
    const { programId, attemptId, transferId, amount, currency, status } = attempt;
    const about = { connectorId, programId, attemptId, transferId, amount, currency };
    const said = { expected: status, found: `${saidBy(body)} (notice ${noticeId})` };
    const found = {
      breakId: newId(),
      kind: 'unhandled_notice' as const,
      createdAt: this.#now(notice),
      statedAmount: null,
      ...about,
      ...said,
    };
    await database.write(insertBreak(found));
  }

  #now({ now }: WaitingNotice): number {
    return now + performance.now() - this.#readAt;
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
