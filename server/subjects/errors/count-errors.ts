import type { ErrorCounts } from '../../../contract/error-log.ts';
import { ERRORS, isErrorCode } from '../../../contract/errors/catalogue.ts';
import { clampToLastMoment } from '../../../contract/reading/times.ts';
import type { Call, Reply } from '../../calls/call.ts';
import { readProgramFilter } from '../../calls/program.ts';
import { readRows } from '../../calls/read-rows.ts';
import type { Service } from '../../calls/service.ts';
import { databaseTime } from '../../foundation/database-clock.ts';
import { countDrops, countErrors as countErrorsStatement, toErrorCount } from '../../store/error.ts';
import { invalidParameter, requireCode } from './error-filter.ts';

const HOUR_MILLISECONDS = 3_600_000;
const INTERVAL_MILLISECONDS = { hour: HOUR_MILLISECONDS, day: 24 * HOUR_MILLISECONDS } as const;

/** Number of intervals when the request has no `from`. */
const DEFAULT_INTERVALS = { hour: 24, day: 30 } as const;

/** Maximum number of intervals in one response. */
const MAX_INTERVALS = 1_000;

/** count_errors: the number of errors per code and hour or day (UTC). Intervals without errors are omitted. */
export async function countErrors(service: Service, call: Call<'count_errors'>): Promise<Reply<'count_errors'>> {
  const { query } = call;
  const { interval = 'hour', code } = query;
  const length = INTERVAL_MILLISECONDS[interval];
  if (code !== undefined) requireCode(call, code);
  const programId = readProgramFilter(call, query.program_id);
  const end = query.to === undefined ? databaseTime() : Date.parse(query.to);
  const to = clampToLastMoment(Math.ceil(end / length) * length);
  const earliest = query.from === undefined ? to - DEFAULT_INTERVALS[interval] * length : Date.parse(query.from);
  const from = Math.floor(earliest / length) * length;
  if (from >= to) throw invalidParameter(call, 'from', "'from' must be earlier than 'to'.");
  if ((to - from) / length > MAX_INTERVALS) {
    throw invalidParameter(
      call,
      'from',
      `'from' and 'to' are more than ${MAX_INTERVALS} intervals apart. Use days, or a shorter period.`,
    );
  }
  const bounds = [new Date(from), new Date(to)] as const;
  const statement = countErrorsStatement(interval, ...bounds, programId, code ?? null);
  const counts = (await readRows(service.database, statement)).map(toErrorCount);
  const [drops] = await readRows(service.database, countDrops(...bounds));
  const record: ErrorCounts = {
    interval,
    from: bounds[0].toISOString(),
    to: bounds[1].toISOString(),
    data: counts.map((counted) => ({
      start: new Date(counted.start).toISOString(),
      code: counted.code,
      type: isErrorCode(counted.code) ? ERRORS[counted.code].type : null,
      count: counted.count,
    })),
    dropped: Number(drops?.count ?? 0n),
  };
  return { record };
}
