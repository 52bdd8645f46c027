import { MAX_CASE_MESSAGES } from '../../domain/support/case.ts';
import { call, errorCode } from '../error.ts';

const OPENED = call('create_case', { body: { text: 'Where is my transfer?' } });
const INCIDENT = call('create_incident', {
  body: { title: 'Transfers fail', public_text: 'We are on it.', scope: 'operation', operation: 'explain_transfer' },
});
const ENDED = call('resolve_incident', { body: { text: 'A server was replaced.', outcome: 'nothing' } });

export const SUPPORT_ERRORS = {
  case_not_found: errorCode({
    status: 404,
    problem: 'A case or an incident',
    meaning: 'The case does not exist, or is not visible to this key.',
    causes: ['The case id is misspelled.', 'The case belongs to another card program.'],
    resolution: 'Check the case id. GET /api/v0.1/core/case lists the cases of the card program.',
    alsoCalled:
      'unknown case, no such case, case does not exist, ticket not found, unknown ticket, support ticket missing',
    sample: {
      reproduce: 'Get the case "case_missing".',
      request: call('get_case', { params: { case_id: 'case_missing' } }),
      message: "There is no case 'case_missing' in this card program. A case id is case_ and 32 hex digits.",
    },
  }),
  invalid_case_status: errorCode({
    status: 409,
    problem: 'Reply to or resolve a case or an incident',
    meaning: "The case's status does not allow this action.",
    causes: [
      'The case is closed.',
      'The request resolves a case that is already resolved.',
      'The message would reopen a case that was resolved more than 30 days ago.',
    ],
    resolution: 'Open a new case, and quote the id of the old one in its text.',
    alsoCalled: 'case closed, case already resolved, cannot reopen case, ticket closed, reopen ticket',
    sample: {
      reproduce: 'Open a case, close it, then write to it.',
      given: [OPENED, call('close_case')],
      request: call('reply_to_case', { body: { text: 'Thank you.' } }),
      message: 'The case is closed. Open a new one.',
    },
  }),
  case_message_limit: errorCode({
    status: 409,
    problem: 'Reply to or resolve a case or an incident',
    meaning: `The case has ${MAX_CASE_MESSAGES} messages, the maximum.`,
    causes: [`The request adds a message to a case that has ${MAX_CASE_MESSAGES} messages.`],
    resolution: 'Open a new case, and quote the id of the old one in its text.',
    alsoCalled: 'too many messages, maximum number of messages, case is full',
    sample: {
      reproduce: `Open a case and add ${MAX_CASE_MESSAGES + 1} messages.`,
      given: 'a case with 200 messages',
      request: call('reply_to_case', { body: { text: 'Thank you.' } }),
      shell:
        "id=$(curl '{base}/api/v0.1/core/case' -d '{\"text\": \"?\"}' | grep -o 'case_[0-9a-f]*'); " +
        `for i in $(seq ${MAX_CASE_MESSAGES + 1}); do curl -i "{base}/api/v0.1/core/case/$id/reply" -d '{"text": "!"}'; done`,
      message: `The case already has ${MAX_CASE_MESSAGES} messages, which is the maximum. Open a new one.`,
    },
  }),
  duplicate_external_id: errorCode({
    status: 409,
    problem: 'Reply to or resolve a case or an incident',
    meaning: 'The case already has another message with this external_id.',
    causes: ['Two messages with different text were sent with the same external_id.'],
    resolution: 'Give each message of the other system its own id. The same message can be sent again unchanged.',
    alsoCalled: 'external id exists, same external id, message id already used',
    sample: {
      reproduce: 'Add two messages with the same external_id to a case.',
      given: [OPENED, call('reply_to_case', { body: { text: 'One.', external_id: '17' } })],
      request: call('reply_to_case', { body: { text: 'Two.', external_id: '17' } }),
      after: [call('close_case')],
      message: "The case already has another message with the external_id '17'.",
      field: '/external_id',
    },
  }),
  incident_not_found: errorCode({
    status: 404,
    problem: 'A case or an incident',
    meaning: 'The incident does not exist.',
    causes: ['The incident id is misspelled.'],
    resolution: 'Check the incident id. GET /api/v0.1/core/incident lists the incidents.',
    alsoCalled: 'unknown incident, no such incident, incident does not exist, outage not found',
    sample: {
      reproduce: 'Get the incident "inc_missing".',
      request: call('inspect_incident', { params: { incident_id: 'inc_missing' } }),
      message: "There is no incident 'inc_missing'. An incident id is inc_ and 32 hex digits.",
    },
  }),
  invalid_incident_status: errorCode({
    status: 409,
    problem: 'Reply to or resolve a case or an incident',
    meaning: 'The incident is resolved.',
    causes: ['The request changes or resolves an incident, or attaches a case, after it was resolved.'],
    resolution: 'Open a new incident if the problem is back.',
    alsoCalled: 'incident over, incident already resolved, incident closed, reopen incident',
    sample: {
      reproduce: 'Open an incident and resolve it twice.',
      given: [INCIDENT, ENDED],
      request: ENDED,
      message: 'The incident is resolved. Open a new one if the problem is back.',
    },
  }),
};
