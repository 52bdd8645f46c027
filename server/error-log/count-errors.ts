import type { ErrorCounts } from '../../contract/error-log.ts';
import type { QueryOf } from '../../contract/operations.ts';
import { atMostLastMoment } from '../../contract/reading/times.ts';
import { CATALOGUE, isErrorCode } from '../../domain/errors.ts';
import { readRows } from '../commit/transaction.ts';
import { databaseTime } from '../ids.ts';
import type { Call, Reply } from '../operations/call.ts';
import type { Service } from '../operations/service.ts';
import { countDrops, countErrors as countErrorsStatement, toErrorCount } from '../store/error.ts';
import { insistOnCode, readProgramFilter, refuse } from './error-filter.ts';

const HOUR = 3_600_000;
const LENGTHS = { hour: HOUR, day: 24 * HOUR } as const;

/** Intervals that are counted when the caller does not say from when on. */
const USUAL = { hour: 24, day: 30 } as const;

/** Intervals in one answer at most: more than any chart can show. */
const INTERVALS_MOST = 1_000;

/** count_errors: how many errors of each code each hour or day (UTC) had. Intervals without errors are left out. */
export async function countErrors(service: Service, call: Call): Promise<Reply> {
  const query = call.members as QueryOf<'count_errors'>;
  const { interval = 'hour', code } = query;
  const length = LENGTHS[interval];
  if (code !== undefined) insistOnCode(call, code);
  const programId = readProgramFilter(call, query.program_id);
  const end = query.to === undefined ? databaseTime() : Date.parse(query.to);
  const to = atMostLastMoment(Math.ceil(end / length) * length);
  const earliest = query.from === undefined ? to - USUAL[interval] * length : Date.parse(query.from);
  const from = Math.floor(earliest / length) * length;
  if (from >= to) throw refuse(call, 'from', "'from' must be earlier than 'to'.");
  if ((to - from) / length > INTERVALS_MOST) {
    throw refuse(
      call,
      'from',
      `'from' and 'to' are more than ${INTERVALS_MOST} intervals apart. Count by day, or less.`,
    );
  }
  const bounds = [new Date(from), new Date(to)] as const;
  const statement = countErrorsStatement(interval, ...bounds, programId, code ?? null);
  const counts = (await readRows(service.database, statement)).map(toErrorCount);
  const [drops] = await readRows(service.database, countDrops(...bounds));
  const reply: ErrorCounts = {
    interval,
    from: bounds[0].toISOString(),
    to: bounds[1].toISOString(),
    data: counts.map((counted) => ({
      start: new Date(counted.start).toISOString(),
      code: counted.code,
      type: isErrorCode(counted.code) ? CATALOGUE[counted.code].type : null,
      count: counted.count,
    })),
    dropped: Number(drops?.count ?? 0n),
  };
  return { status: 200, body: JSON.stringify(reply) };
}
