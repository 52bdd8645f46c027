import { type Call, type Reply, schemaRefusal } from '../../calls/call.ts';
import { checkCurrency } from '../../calls/program.ts';
import type { Service } from '../../calls/service.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { idAt } from '../../foundation/ids.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import { createFundingAccounts } from '../../store/ledger/account.ts';
import { insertProgram, type Program } from '../../store/program.ts';
import { auditOf, withoutMetadata } from '../audit/audit.ts';
import { toProgramRecord } from './read-programs.ts';
import { isTimeZone } from './time-zone.ts';

/** create_program: the program with its empty funding account. */
export async function createProgram(service: Service, call: Call<'create_program'>): Promise<Reply<'create_program'>> {
  const {
    name,
    currency: sentCurrency,
    time_zone: timeZone = 'UTC',
    funding_low_threshold: threshold,
    metadata = {},
  } = call.body;
  const currency = checkCurrency(call, sentCurrency);
  if (!(await isTimeZone(service.database, timeZone))) {
    const message = `'time_zone' is '${timeZone}', which is not an IANA time zone, such as UTC or Europe/Berlin.`;
    throw schemaRefusal(call, message, '/time_zone');
  }
  return transactUnderKey(service, call, {
    load: {},
    decide: (_, { batchId, now }) => {
      const programId = idAt(now);
      const accountIds = { funding: idAt(now, 0), world: idAt(now, 1) };
      const program: Program = {
        programId,
        name,
        currency,
        timeZone,
        createdAt: new Date(now),
        today: '',
        funding: [{ currency, balance: 0n, held: 0n }],
        limits: null,
        cardLimits: null,
        fundingLowThreshold: threshold === undefined ? null : BigInt(threshold),
        metadata,
      };
      const record = toProgramRecord(program);
      const json = JSON.stringify(record);
      const event = { type: 'program.created' as const, programId, subjectId: record.program_id, payload: json };
      const writes = [
        insertProgram(program, program.createdAt),
        createFundingAccounts(programId, currency, accountIds),
        insertEvents(batchId, [event], now, call),
        ...auditOf(call, { programId, subjectId: record.program_id, details: JSON.stringify(withoutMetadata(record)) }),
      ];
      return { record, json, subjectId: programId, writes };
    },
  });
}
