import type { CreateProgramBody, ProgramRecord } from '../../contract/programs.ts';
import { Refusal } from '../../domain/refusal.ts';
import { auditOf } from '../audit/audit.ts';
import { readRows } from '../commit/transaction.ts';
import { transactUnderKey } from '../commit/under-key.ts';
import { idAt } from '../ids.ts';
import type { Call, Reply } from '../operations/call.ts';
import { toProgramRecord } from '../operations/records.ts';
import type { Service } from '../operations/service.ts';
import { insertEvents } from '../store/event.ts';
import { createFundingAccounts } from '../store/ledger/account.ts';
import { insertProgram, knowsTimeZone, type Program } from '../store/program.ts';
import { checkCurrency } from './program-funding.ts';

/** create_program: 201 with the program and its empty funding account. */
export async function createProgram(service: Service, call: Call, givenId?: string): Promise<Reply> {
  const body = call.members as CreateProgramBody;
  const currency = checkCurrency(call, body.currency);
  const timeZone = body.time_zone ?? 'UTC';
  await checkTimeZone(service, call, timeZone);
  return transactUnderKey(service, call, {
    load: {},
    decide: (_, { batchId, now }) => {
      const programId = givenId ?? idAt(now);
      const accountIds = { funding: idAt(now, 0), world: idAt(now, 1) };
      const program: Program = {
        programId,
        name: body.name,
        currency,
        timeZone,
        createdAt: new Date(now),
        today: '',
        funding: [{ currency, balance: 0n, held: 0n }],
        limits: null,
        cardLimits: null,
      };
      const made = toProgramRecord(program);
      const record = JSON.stringify(made);
      const event = { type: 'program.created' as const, programId, subjectId: made.program_id, payload: record };
      const writes = [
        insertProgram(program, program.createdAt),
        createFundingAccounts(programId, currency, accountIds),
        insertEvents(batchId, [event], now),
        auditOf(call, { programId, subjectId: made.program_id, details: record }),
      ];
      return { status: 201, body: record, subjectId: programId, writes };
    },
    locate: (record) => `/api/v0.1/operator/program/${(JSON.parse(record) as ProgramRecord).program_id}`,
  });
}

async function checkTimeZone({ database }: Service, call: Call, timeZone: string): Promise<void> {
  const [row] = await readRows(database, knowsTimeZone(timeZone));
  if (row?.known === true) return;
  const message = `'time_zone' is '${timeZone}', which is no IANA time zone, such as UTC or Europe/Berlin.`;
  throw new Refusal(`${call.operation}_schema`, message, { field: '/time_zone' });
}
