import type {
  CreateIncidentBody,
  IncidentRecord,
  ListIncidentsQuery,
  OperatorIncidentRecord,
  ResolveIncidentBody,
  UpdateIncidentBody,
} from '../../../sdk/client.ts';
import { type AddCommands, addCommand, addList, KEY_OPTION, type KeyOption, type OptionsFor } from '../../command.ts';
import { type Pair, pairsOf } from '../../output.ts';
import { showChanged } from '../../session.ts';
import { readEarlier } from '../../times.ts';
import { RESOLVE_OPTIONS } from './cases.ts';

const INCIDENT_ID = 'incident id, inc_...';

const add = (text: string, before: readonly string[] | undefined): string[] => [...(before ?? []), text];

const CODE_OPTION = {
  flag: '--code <code>',
  help: 'an error code that it covers; can be repeated (default: all)',
  read: add,
} as const;

const INTERNAL_OPTION = { flag: '--internal <text>', help: 'text for operators only' } as const;

type Opening = Omit<CreateIncidentBody, 'scope'> & KeyOption;

const OPENING_OPTIONS: OptionsFor<Opening> = {
  title: { flag: '--title <title>', help: 'what is wrong, in a few words', required: true },
  public_text: { flag: '--text <text>', help: 'what callers should know', required: true },
  internal_text: INTERNAL_OPTION,
  program_id: { flag: '--program <program_id>', help: 'only this card program', conflicts: ['operation'] },
  operation: { flag: '--operation <operation>', help: 'only this operation' },
  codes: CODE_OPTION,
  started_at: { flag: '--started-at <time>', help: 'when it began (default: now)', read: readEarlier },
  ...KEY_OPTION,
};

export const addIncidents: AddCommands = (program, context) => {
  const incidents = program.command('incidents').description('common causes of many errors and cases');
  addList<IncidentRecord, Omit<ListIncidentsQuery, 'limit' | 'cursor'>>(incidents, context, {
    name: 'list',
    description: 'list the incidents that the key may see, newest first',
    options: { status: { flag: '--status <status>', help: 'filter by status', choices: ['open', 'resolved'] } },
    columns: ['incident_id', 'status', 'title', 'scope', 'started_at', 'resolved_at'],
    list: (service, query) => service.incidents.list(query),
    empty: { text: 'No incidents.' },
  });
  addCommand<Opening>(incidents, context, {
    name: 'open',
    description: 'open an incident; for operators',
    options: OPENING_OPTIONS,
    run: async (session, { idempotencyKey, ...body }) => {
      const scope = body.program_id !== undefined ? 'program' : body.operation !== undefined ? 'operation' : 'all';
      const opened = await session.service.incidents.create({ ...body, scope }, { idempotencyKey });
      showChanged(session, opened, pairsOfIncident(opened));
    },
  });
  addCommand(incidents, context, {
    name: 'show <incident_id>',
    argument: INCIDENT_ID,
    description: 'show an incident, and cases that may belong to it; for operators',
    run: async ({ service, show }, _, incidentId) => {
      const found = await service.incidents.inspect(incidentId);
      show(found, [...pairsOfIncident(found), ['proposed cases', found.proposed_case_ids.join(', ')]]);
    },
  });
  addCommand<UpdateIncidentBody>(incidents, context, {
    name: 'update <incident_id>',
    argument: INCIDENT_ID,
    description: 'change the text or the scope of an incident; for operators',
    options: {
      title: { flag: '--title <title>', help: 'what is wrong, in a few words' },
      public_text: { flag: '--text <text>', help: 'what callers should know' },
      internal_text: INTERNAL_OPTION,
      codes: CODE_OPTION,
    },
    run: async (session, body, incidentId) => {
      const updated = await session.service.incidents.update(incidentId, body);
      showChanged(session, updated, pairsOfIncident(updated));
    },
  });
  addCommand<{ readonly case_ids: readonly string[] } & KeyOption>(incidents, context, {
    name: 'attach <incident_id>',
    argument: INCIDENT_ID,
    description: 'attach cases, which are resolved with the incident; for operators',
    options: {
      case_ids: { flag: '--case <case_id>', help: 'a case; can be repeated', read: add, required: true },
      ...KEY_OPTION,
    },
    run: async (session, { idempotencyKey, case_ids }, incidentId) => {
      const attached = await session.service.incidents.attach(incidentId, case_ids, { idempotencyKey });
      const { uncovered_case_ids: uncovered, ...incident } = attached;
      const not = uncovered.map((id): Pair => ['not covered', `${id}: the incident does not cover its error`]);
      showChanged(session, attached, [...pairsOfIncident(incident), ...not]);
    },
  });
  addCommand<ResolveIncidentBody & KeyOption>(incidents, context, {
    name: 'resolve <incident_id>',
    argument: INCIDENT_ID,
    description: 'end an incident and resolve its cases; for operators',
    options: RESOLVE_OPTIONS,
    run: async (session, { idempotencyKey, ...body }, incidentId) => {
      const ended = await session.service.incidents.resolve(incidentId, body, { idempotencyKey });
      showChanged(session, ended, pairsOfIncident(ended));
    },
  });
};

function pairsOfIncident({ codes, ...rest }: OperatorIncidentRecord): readonly Pair[] {
  const { proposed_case_ids: _, ...shown } = { proposed_case_ids: null, ...rest };
  return pairsOf({ ...shown, codes: codes.length === 0 ? 'all' : codes.join(', ') });
}
