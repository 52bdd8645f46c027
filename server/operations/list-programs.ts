import { listPrograms as listProgramsStatement, type Program, toProgram } from '../store/program.ts';
import type { Call, Reply } from './call.ts';
import { answerPage } from './page.ts';
import { toProgramRecord } from './records.ts';
import type { Service } from './service.ts';

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
