import type { Call, Reply } from '../operations/call.ts';
import { answerPage } from '../operations/page.ts';
import { toProgramRecord } from '../operations/records.ts';
import type { Service } from '../operations/service.ts';
import { listPrograms as listProgramsStatement, type Program, toProgram } from '../store/program.ts';

/** list_programs: a page, newest first. */
export function listPrograms(service: Service, call: Call): Promise<Reply> {
  return answerPage<Program>(service, call, {
    prefix: 'prog',
    statement: listProgramsStatement,
    read: toProgram,
    idOf: (program) => program.programId,
    show: toProgramRecord,
  });
}
