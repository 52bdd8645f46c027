import type { ServiceProcess } from '../../test/harness/process.ts';
import { NoResponse, sendRaw } from '../../test/harness/raw-request.ts';
import type { Tally } from '../campaign.ts';
import type { BooksWithFaults } from '../checkers/transfers/books.ts';
import { findContradictions, isDone } from '../checkers/transfers/checker.ts';
import type { ReceivedResponse } from '../checkers/transfers/history.ts';
import type { Load } from './load.ts';

/** The members of an error record, in the order of the specification. */
const RECORD = ['Message', 'Status', 'Code', 'Type'];

export function responsesOf(load: Load): readonly ReceivedResponse[] {
  return [...load.stories, ...load.changes].flatMap(({ responses }) => responses);
}

/** Counts the requests of a load that may have arrived but got no response. */
export function silencesOf(load: Load): number {
  return [...load.stories, ...load.changes].reduce((sum, { silences }) => sum + silences, 0);
}

export async function makeCards(load: Load, service: ServiceProcess): Promise<void> {
  for (const card_id of load.cards) await service.client.cards.create({ card_id });
}

/** Returns problems within the books, and contradictions between the books and the responses. */
export function contradictionsIn(load: Load, { faults, ...books }: BooksWithFaults): readonly string[] {
  const broken = Object.entries(faults).map(([what, count]) => `${what}: ${count}`);
  return [...broken, ...findContradictions(load.stories, books, load.changes)];
}

/**
 * Counts problems of the books and the responses as violations. Every failure must be an error record, and a running
 * service must respond to every request.
 */
export function judge(tally: Tally, where: string, load: Load, books: BooksWithFaults): void {
  tally.violate(where, contradictionsIn(load, books));
  tally.violate(
    where,
    brokenRecordsIn(responsesOf(load)).map((text) => `no error record: ${text}`),
  );
  const { unansweredByTheLiving, unansweredCauses } = load;
  if (unansweredByTheLiving > 0) {
    const causes = [...unansweredCauses].join(', ');
    tally.violate(where, [`${unansweredByTheLiving} requests to a running service had no response: ${causes}`]);
  }
}

/** Returns the texts of failures that are not error records. */
export function brokenRecordsIn(responses: readonly ReceivedResponse[]): readonly string[] {
  return responses.filter(({ status, text }) => status >= 400 && !isRecord(status, text)).map(({ text }) => text);
}

function isRecord(status: number, text: string): boolean {
  try {
    const record = JSON.parse(text) as Record<string, unknown>;
    return JSON.stringify(Object.keys(record)) === JSON.stringify(RECORD) && record.Status === status;
  } catch {
    return false;
  }
}

/** Adds the figures of a load. */
export function tallyLoad(tally: Tally, load: Load, books: BooksWithFaults): void {
  const responses = responsesOf(load);
  tally.add('transfers', books.transfers.length);
  tally.add(
    'reversals',
    books.transfers.reduce((sum, { reversals }) => sum + reversals.length, 0),
  );
  tally.add('acknowledged', responses.filter(isDone).length);
  tally.add('replayed', responses.filter(({ replayed }) => replayed).length);
  tally.add('refused_409', responses.filter(({ status }) => status === 409).length);
  tally.add('failed_5xx', responses.filter(({ status }) => status >= 500).length);
  tally.add('unknown', responses.filter(({ moneyMoved }) => moneyMoved === 'unknown').length);
  tally.add('unanswered', silencesOf(load));
  tally.add('unanswered_by_the_living', load.unansweredByTheLiving);
}

/** Waits until the service makes a transfer. Returns the time in milliseconds, or Infinity after `most` milliseconds. */
export async function untilAtWork(url: string, most = 60_000): Promise<number> {
  const started = performance.now();
  while (performance.now() - started < most) {
    try {
      const { status } = await sendRaw(url, { body: { amount: 1, card_id: 'card_active' } });
      if (status === 201) return performance.now() - started;
    } catch (error) {
      if (!(error instanceof NoResponse)) throw error;
    }
    await new Promise((wake) => setTimeout(wake, 20));
  }
  return Number.POSITIVE_INFINITY;
}
