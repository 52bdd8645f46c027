import { call } from '../error.ts';
import { EXAMPLE_TIME } from '../samples.ts';
import { CaseRecord, EXAMPLE_CASES } from '../support/cases.ts';
import { EXAMPLE_INCIDENTS, IncidentRecord } from '../support/incidents.ts';
import { eventType } from './definition.ts';

const CASE = { data: CaseRecord, subject: 'case_id', operation: 'get_case' } as const;
const INCIDENT = { data: IncidentRecord, subject: 'incident_id', operation: 'inspect_incident' } as const;

const OPEN = call('create_case', { body: { text: 'Where is my transfer?' } });
const CLOSE = call('close_case');
const OPEN_INCIDENT = call('create_incident', {
  body: { title: 'Explanations fail', public_text: 'We are on it.', scope: 'operation', operation: 'explain_transfer' },
});
const END = call('resolve_incident', { body: { text: 'A server was replaced.', outcome: 'nothing' } });

const NO_TEXTS = 'The event contains no text that a person wrote. get_case returns that text.';
const REACH =
  'An incident of one card program has its event there. The event of any other incident is sent to every card program, and ' +
  'operators get an event of the service itself.';

export const SUPPORT_EVENTS = {
  'case.opened': eventType({
    ...CASE,
    summary: 'A case was opened.',
    sent: ['create_case opens a case. If the request already has an open case, there is no event.'],
    notes: [NO_TEXTS],
    example: { ...EXAMPLE_CASES.opened, updated_at: EXAMPLE_TIME },
    sample: { reproduce: 'Open a case.', request: OPEN, after: [CLOSE] },
  }),
  'case.replied': eventType({
    ...CASE,
    summary: 'A message was added to a case.',
    sent: ['reply_to_case, answer_case or answer_sandbox_case adds a message, which may reopen a resolved case.'],
    notes: [
      NO_TEXTS,
      '`last_message` says whose message it is. A bridge to another system skips its own messages, which have its `external_id`.',
    ],
    example: EXAMPLE_CASES.replied,
    sample: {
      reproduce: 'Open a case, then write to it.',
      given: [OPEN],
      request: call('reply_to_case', { body: { text: 'It has arrived.' } }),
      after: [CLOSE],
    },
  }),
  'case.resolved': eventType({
    ...CASE,
    summary: 'A case was resolved.',
    sent: [
      'resolve_case, or answer_sandbox_case with an `outcome`, resolves it.',
      'Its incident is resolved. Each case that is open or waiting then has one such event, within seconds.',
    ],
    notes: [NO_TEXTS, 'A message within 30 days reopens the case.'],
    example: EXAMPLE_CASES.resolved,
    sample: {
      reproduce: 'Open a case, then resolve it.',
      given: [OPEN],
      request: call('resolve_case', { body: { text: 'It has arrived.', outcome: 'nothing' } }),
      after: [CLOSE],
    },
  }),
  'incident.opened': eventType({
    ...INCIDENT,
    summary: 'An incident was opened.',
    sent: ['create_incident succeeds.'],
    notes: [REACH],
    example: EXAMPLE_INCIDENTS.opened,
    sample: { reproduce: 'Open an incident.', request: OPEN_INCIDENT, after: [END] },
  }),
  'incident.updated': eventType({
    ...INCIDENT,
    summary: 'The text or the error codes of an incident were changed.',
    sent: ['update_incident changes a field that its card programs see. Other changes cause no event.'],
    notes: [REACH],
    example: EXAMPLE_INCIDENTS.updated,
    sample: {
      reproduce: 'Open an incident, then update it.',
      given: [OPEN_INCIDENT],
      request: call('update_incident', { body: { public_text: 'The cause is known.' } }),
      after: [END],
    },
  }),
  'incident.resolved': eventType({
    ...INCIDENT,
    summary: 'An incident was resolved.',
    sent: ['resolve_incident succeeds. The events of its cases follow.'],
    notes: [REACH],
    example: EXAMPLE_INCIDENTS.resolved,
    sample: { reproduce: 'Open an incident, then resolve it.', given: [OPEN_INCIDENT], request: END },
  }),
};
