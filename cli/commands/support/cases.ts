import type { Command } from 'commander';
import { CASE_STATUSES, OUTCOMES, SEVERITIES } from '../../../domain/support/case.ts';
import {
  type AnswerSandboxCaseBody,
  type CaseDetails,
  type CaseRecord,
  type CreateCaseBody,
  type InspectedCase,
  InvalidArgument,
  type ListCasesQuery,
  type QueuedCase,
  type ReplyToCaseBody,
  type ResolveCaseBody,
  type SearchCasesQuery,
} from '../../../sdk/client.ts';
import { type AddCommands, addCommand, addList, KEY_OPTION, type KeyOption, type OptionsFor } from '../../command.ts';
import { alignedLines, type Column, type Pair, pairsOf, table } from '../../output.ts';
import { type CommandContext, type Session, showChanged } from '../../session.ts';
import { plainTime } from '../../times.ts';

const CASE_ID = 'case id, case_...';

const COLUMNS = [
  'case_id',
  'created_at',
  'status',
  'severity',
  'operation',
  'code',
  'message_count',
] as const satisfies readonly Column<CaseRecord>[];

const QUEUE_COLUMNS: readonly Column<QueuedCase>[] = ['urgency', ...COLUMNS, 'program_id', 'summary'];

const STATUS_OPTION = { flag: '--status <status>', help: 'filter by status', choices: CASE_STATUSES } as const;

const MESSAGE_OPTIONS: OptionsFor<ReplyToCaseBody & KeyOption> = {
  text: { flag: '--text <text>', help: 'the message', required: true },
  external_author: { flag: '--external-author <name>', help: 'who wrote it in another system' },
  external_id: {
    flag: '--external-id <id>',
    help: 'its id in another system; a message is added only once under the same id',
  },
  ...KEY_OPTION,
};

export const RESOLVE_OPTIONS: OptionsFor<ResolveCaseBody & KeyOption> = {
  text: { flag: '--text <text>', help: 'what was found and done, for the caller', required: true },
  outcome: { flag: '--outcome <outcome>', help: 'outcome of the case', choices: OUTCOMES, required: true },
  ...KEY_OPTION,
};

export const addCases: AddCommands = (program, context) => {
  const cases = program.command('cases').description('contact support about a request, a transfer or anything else');
  addCommand<Omit<CreateCaseBody, 'request_id' | 'transfer_id'> & KeyOption>(cases, context, {
    name: 'open [id]',
    argument: 'the subject: a request id, req_..., or a transfer id, tr_...; if omitted, --text is required',
    description: 'open a case with support',
    options: {
      text: { flag: '--text <text>', help: 'what happened' },
      severity: { flag: '--severity <severity>', help: 'how much it matters to you', choices: SEVERITIES },
      contact: { flag: '--contact <contact>', help: 'how to reach you outside the case' },
      ...KEY_OPTION,
    },
    run: async (session, { idempotencyKey, ...body }, id) => {
      const opened = await session.service.cases.create({ ...aboutOf(id), ...body }, { idempotencyKey });
      showChanged(session, opened, pairsOfCase(opened));
    },
  });
  addList<CaseRecord, Omit<ListCasesQuery, 'limit' | 'cursor'>>(cases, context, {
    name: 'list',
    description: 'list the cases of the card program, newest first',
    options: {
      status: STATUS_OPTION,
      request_id: { flag: '--request <request_id>', help: 'filter by request' },
    },
    columns: COLUMNS,
    list: (service, query) => service.cases.list(query),
    empty: { text: 'No cases.', next: [['about a request', 'cases open <request_id>']] },
  });
  addCommand(cases, context, {
    name: 'show <case_id>',
    argument: CASE_ID,
    description: 'show a case with its messages',
    run: async (session, _, caseId) => showCase(session, await session.service.cases.get(caseId)),
  });
  addCommand<ReplyToCaseBody & KeyOption>(cases, context, {
    name: 'reply <case_id>',
    argument: CASE_ID,
    description: 'add a message; it reopens a case that was resolved within 30 days',
    options: MESSAGE_OPTIONS,
    run: async (session, { idempotencyKey, ...body }, caseId) => {
      const replied = await session.service.cases.reply(caseId, body, { idempotencyKey });
      showChanged(session, replied, pairsOfCase(replied));
    },
  });
  addCommand<KeyOption>(cases, context, {
    name: 'close <case_id>',
    argument: CASE_ID,
    description: 'close a case permanently',
    options: KEY_OPTION,
    run: async (session, { idempotencyKey }, caseId) => {
      const closed = await session.service.cases.close(caseId, { idempotencyKey });
      showChanged(session, closed, pairsOfCase(closed));
    },
  });
  addSupport(cases, context);
};

function aboutOf(id: string | undefined): Pick<CreateCaseBody, 'request_id' | 'transfer_id'> {
  if (id === undefined || id === '') return {};
  if (id.startsWith('req_')) return { request_id: id };
  if (id.startsWith('tr_')) return { transfer_id: id };
  throw new InvalidArgument(`'${id}' is not a request id (req_...) or a transfer id (tr_...)`);
}

function addSupport(cases: Command, context: CommandContext): void {
  addList<QueuedCase, Omit<SearchCasesQuery, 'limit' | 'cursor'>>(cases, context, {
    name: 'queue',
    description: 'list the cases of all card programs, most urgent first; for operators',
    options: {
      status: { ...STATUS_OPTION, help: 'filter by status; open if omitted' },
      code: { flag: '--code <code>', help: 'filter by error code' },
      program_id: { flag: '--program <program_id>', help: 'filter by card program' },
      incident_id: { flag: '--incident <incident_id>', help: 'filter by incident' },
    },
    columns: QUEUE_COLUMNS,
    list: (service, query) => service.cases.search(query),
    empty: { text: 'No cases.' },
  });
  addCommand(cases, context, {
    name: 'inspect <case_id>',
    argument: CASE_ID,
    description: 'show any case with what is known about its request, and similar cases; for operators',
    run: async (session, _, caseId) => showCase(session, await session.service.cases.inspect(caseId)),
  });
  addCommand<ReplyToCaseBody & KeyOption>(cases, context, {
    name: 'answer <case_id>',
    argument: CASE_ID,
    description: "add support's message; for operators",
    options: MESSAGE_OPTIONS,
    run: async (session, { idempotencyKey, ...body }, caseId) => {
      const answered = await session.service.cases.answer(caseId, body, { idempotencyKey });
      showChanged(session, answered, pairsOfCase(answered));
    },
  });
  addCommand<ResolveCaseBody & KeyOption>(cases, context, {
    name: 'resolve <case_id>',
    argument: CASE_ID,
    description: 'resolve a case; for operators',
    options: RESOLVE_OPTIONS,
    run: async (session, { idempotencyKey, ...body }, caseId) => {
      const resolved = await session.service.cases.resolve(caseId, body, { idempotencyKey });
      showChanged(session, resolved, pairsOfCase(resolved));
    },
  });
}

export const addSandboxAnswer: AddCommands = (sandbox, context) =>
  addCommand<AnswerSandboxCaseBody & KeyOption>(sandbox, context, {
    name: 'answer <case_id>',
    argument: CASE_ID,
    description: 'play support: answer a case, or resolve it',
    options: {
      text: { flag: '--text <text>', help: "support's message" },
      outcome: { flag: '--outcome <outcome>', help: 'resolves the case, with this outcome', choices: OUTCOMES },
      ...KEY_OPTION,
    },
    run: async (session, { idempotencyKey, ...body }, caseId) => {
      const answered = await session.service.sandbox.answerCase(caseId, body, { idempotencyKey });
      showChanged(session, answered, pairsOfCase(answered));
    },
  });

/** Returns the fields of a case. `last_message` is left out, because it is among the messages. */
function pairsOfCase({ last_message: _, ...rest }: CaseRecord): readonly Pair[] {
  return pairsOf(rest);
}

function showCase({ showText, width }: Session, found: CaseDetails | InspectedCase): void {
  const { messages, snapshot, ...head } = found;
  const { last_message: _, similar = [], incidents = [], ...lines } = { ...head } as InspectedCase;
  const parts = [
    alignedLines(pairsOf({ ...lines, what_happened: snapshot?.summary ?? null })),
    ...messages.map(
      ({ created_at, from, author, text }) =>
        `\n${alignedLines([
          ['from', `${from}${author === null ? '' : ` (${author})`}, ${plainTime(created_at)}`],
          ['text', text ?? '(erased)'],
        ])}`,
    ),
    incidents.length === 0 ? '' : `\n${table(['incident_id', 'title', 'started_at'], incidents, width)}`,
    similar.length === 0 ? '' : `\n${table(COLUMNS, similar, width)}`,
  ];
  showText(found, parts.join(''));
}
