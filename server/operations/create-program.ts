import { randomUUIDv7 } from 'node:crypto';
import type { CreateProgramBody } from '../../contract/operator-schemas.ts';
import { toWireId } from '../../domain/identifier.ts';
import { Refusal } from '../../domain/refusal.ts';
import { createFundingAccounts } from '../store/account.ts';
import { insertEvents } from '../store/event.ts';
import { insertProgram, knowsTimeZone, type Program } from '../store/program.ts';
import { auditOf } from './audit.ts';
import type { Call, Reply } from './call.ts';
import { checkCurrency } from './program-funding.ts';
import { toProgramRecord } from './records.ts';
import type { Service } from './service.ts';
import { transact } from './transaction.ts';

/** create_program: 201 with the program and its empty funding account. */
export async function createProgram(service: Service, call: Call, programId = randomUUIDv7()): Promise<Reply> {
  const body = call.members as CreateProgramBody;
  const currency = checkCurrency(call, body.currency);
  const timeZone = body.time_zone ?? 'UTC';
  const accountIds = { funding: randomUUIDv7(), world: randomUUIDv7() };
  const record = await transact(
    service.database,
    call.deadline,
    { timeZone: knowsTimeZone(timeZone) },
    (loaded, batchId) => {
      const [row] = loaded.timeZone;
      if (row?.known !== true) {
        const message = `'time_zone' is '${timeZone}', which is no IANA time zone, such as UTC or Europe/Berlin.`;
        throw new Refusal(`${call.operation}_schema`, message, { field: '/time_zone' });
      }
      const now = row.now as Date;
      const funding = [{ currency, balance: 0n, held: 0n }];
      const program: Program = {
        programId,
        name: body.name,
        currency,
        timeZone,
        createdAt: now,
        today: '',
        funding,
        limits: null,
        cardLimits: null,
      };
      const made = toProgramRecord(program);
      const event = {
        type: 'program.created' as const,
        programId,
        subjectId: made.program_id,
        payload: JSON.stringify(made),
      };
      const writes = [
        insertProgram(program, now),
        createFundingAccounts(programId, currency, accountIds),
        insertEvents(batchId, [event], now.getTime()),
        auditOf(call, { programId, subjectId: made.program_id, details: event.payload }),
      ];
      return { result: made, writes };
    },
  );
  return {
    status: 201,
    body: JSON.stringify(record),
    location: `/api/v0.1/operator/program/${toWireId('prog', programId)}`,
  };
}
