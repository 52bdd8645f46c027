import { call, errorCode, load } from '../error.ts';
import { DEMO_PROGRAM } from '../samples.ts';

export const ACCESS_ERRORS = {
  service_disabled: errorCode({
    status: 424,
    type: 'Process Error',
    problem: 'Transfers are paused',
    meaning:
      'An operator has disabled the whole service, the card program, one type of transfer, or the connector of the card.',
    causes: [
      'An operator has disabled transfers, for example during maintenance or an incident.',
      "An operator has disabled the connector to the card's processor; the message names it.",
    ],
    resolution:
      'Contact support: open a case with the request id. The Retry-After header says when transfers are enabled again, if that is known.',
    support: {
      tell: 'The operators have stopped these transfers for the time being. We will tell you when they run again.',
      next: 'Check the switch for the reason and the end of the stop. If no one expected it, ask an operator. When transfers run again, tell the customer to send the request again.',
    },
    headers: [
      {
        name: 'Retry-After',
        value: '3600',
        description: 'Seconds until the service is enabled again, if that is known.',
        optional: true,
      },
    ],
    alsoCalled:
      'disabled, switched off, kill switch, maintenance, maintenance window, planned maintenance, stopped by ' +
      'operator, transfers paused, transfers are off, incident, emergency stop, type of transfer disabled',
    sample: {
      reproduce: 'Disable the service with "transfer-service switch disable --reason test", then create a transfer.',
      given: [call('change_switch', { body: { disabled: true, reason: 'test' } })],
      request: load(),
      after: [call('change_switch', { body: { disabled: false } })],
      message: 'The service is disabled.',
    },
  }),
  unauthenticated: errorCode({
    status: 401,
    problem: 'Wrong, missing or expired key; signed out',
    meaning: 'The request has no valid API key.',
    causes: [
      'The Authorization header is missing, or does not have the form "Bearer <key>".',
      'The key is misspelled, unknown, revoked or expired.',
      'The console session has ended, or its cookie is not accepted: see /guides/sessions.',
    ],
    resolution: 'Send a valid API key in the Authorization header. Operators create keys.',
    support: {
      tell: 'Your key is missing, unknown, revoked or expired: the message says which. Please do not send us the key.',
      next: 'Ask an operator to create a new key if the old one was revoked or has expired.',
    },
    headers: [
      {
        name: 'WWW-Authenticate',
        value: 'Bearer realm="transfer-service"',
        description: 'The authentication scheme.',
        constant: true,
      },
    ],
    alsoCalled:
      'unauthorized, not authenticated, authentication failed, invalid api key, wrong api key, api key not working, bad key, missing ' +
      'key, no api key, key revoked, key expired, api key expired, bearer token, invalid token, token expired, ' +
      'invalid credentials, wrong password, invalid signature, session expired, logged out',
    sample: {
      reproduce: 'Send the header Authorization: Bearer nonsense.',
      request: call('list_transfers', { headers: { Authorization: 'Bearer nonsense' } }),
      message:
        'The API key was not issued by this service, or it is misspelled. ' +
        'Send a valid key as "Authorization: Bearer <key>".',
    },
  }),
  forbidden: errorCode({
    status: 403,
    problem: 'Not allowed',
    meaning: 'The API key or the caller does not have permission for this request.',
    causes: [
      'The API key does not have the scope that the operation requires.',
      'The API key belongs to another card program.',
      'A sandbox without keys was called with a foreign host name, through a proxy, or by a web page of another origin.',
    ],
    resolution:
      'Use a key with the required scope and card program. Call a sandbox without keys directly, as localhost.',
    support: {
      tell: 'Your key is valid, but does not allow this request. The message names what is missing.',
      next: 'Ask an operator whether the customer should have this permission. If so, the operator creates a key with it.',
    },
    alsoCalled:
      'permission denied, access denied, no permission, not permitted, not allowed, missing scope, insufficient ' +
      'scope, insufficient permissions, missing role, wrong program for key, cors, cross origin, operators only, ' +
      'host name not allowed',
    sample: {
      reproduce: 'Send the header Origin: https://example.com to a sandbox without keys.',
      request: call('list_transfers', { headers: { Origin: 'https://example.com' } }),
      message:
        "Without an API key this sandbox accepts no requests from other web pages, but the Origin is 'https://example.com'.",
    },
  }),
  program_not_found: errorCode({
    status: 404,
    problem: 'A card program or a key',
    meaning: 'The card program does not exist.',
    causes: ['The program id in the path, the body or the Program-Id header is misspelled.'],
    resolution: 'Check the program id. Operators can list the programs.',
    alsoCalled:
      'unknown program, no such program, wrong program, program does not exist, wrong program id, invalid program id, program-id ' +
      'header',
    sample: {
      reproduce: 'Read the card program "prog_missing".',
      request: call('get_program', { params: { program_id: 'prog_missing' } }),
      message: "There is no card program 'prog_missing'.",
    },
  }),
  key_not_found: errorCode({
    status: 404,
    problem: 'A card program or a key',
    meaning: 'The API key does not exist.',
    causes: ['The key id is misspelled.'],
    resolution: 'Check the key id. Operators can list the keys.',
    alsoCalled: 'unknown api key id, api key does not exist, no such key, key id not found',
    sample: {
      reproduce: 'Revoke the key "key_missing".',
      request: call('revoke_key', { params: { key_id: 'key_missing' } }),
      message: "There is no API key with the id 'key_missing'.",
    },
  }),
  session_not_found: errorCode({
    status: 404,
    problem: 'Wrong, missing or expired key; signed out',
    meaning: 'There is no such console session, or it has ended.',
    causes: [
      'The session id is misspelled.',
      'The session has ended: someone ended it, it was not used for 15 minutes, it is 12 hours old, or its key no longer works.',
      'The request to sign out has an API key instead of a session cookie.',
    ],
    resolution: "If the session has ended, you don't need to do anything. Operators can list the sessions.",
    alsoCalled: 'unknown session, no such session, session has ended, already signed out',
    sample: {
      reproduce: 'Revoke the session "ses_missing".',
      request: call('revoke_session', { params: { session_id: 'ses_missing' } }),
      message: "There is no open session with the id 'ses_missing'.",
    },
  }),
  person_not_found: errorCode({
    status: 404,
    problem: 'A card program or a key',
    meaning: 'The person does not exist.',
    causes: ['The person id is misspelled.', 'The person has never signed in.'],
    resolution: 'Check the person id. Operators can list the people.',
    alsoCalled: 'unknown person, no such person, user not found, unknown user',
    sample: {
      reproduce: 'Read the person "per_missing".',
      request: call('get_person', { params: { person_id: 'per_missing' } }),
      message: "There is no person with the id 'per_missing'.",
    },
  }),
  person_blocked: errorCode({
    status: 403,
    problem: 'Wrong, missing or expired key; signed out',
    meaning: 'An operator has blocked this person, or has erased their name and email.',
    causes: ['An operator called block_person or erase_person.'],
    resolution: 'Ask an operator of the service. An operator can unblock the person.',
    support: {
      tell: 'Your access is blocked.',
      next: 'Ask an operator why the person was blocked. Only operators can unblock them.',
    },
    alsoCalled: 'user blocked, account disabled, cannot sign in, user suspended',
    sample: {
      reproduce: 'Block a person of the sandbox, then sign in as that person.',
      given: [
        call('sign_in_as', { body: { person: 'support' } }),
        call('block_person', { params: { person_id: '{person_id}' } }),
      ],
      after: [call('unblock_person', { params: { person_id: '{person_id}' } })],
      request: call('sign_in_as', { body: { person: 'support' } }),
      message: 'You were blocked from this service on 2026-01-31T09:30:00.000Z. Ask one of its operators.',
    },
  }),
  sign_in_again: errorCode({
    status: 403,
    problem: 'Not allowed',
    meaning: 'The operation needs a fresh sign-in, and the person signed in more than 5 minutes ago.',
    causes: [
      'The sign-in is too old. The limit keeps someone who finds an open console from creating a key for themselves.',
      'The OpenID provider does not say when the person authenticated (auth_time), so no sign-in counts as fresh.',
    ],
    resolution: 'Sign in again, with the password or the second factor, then repeat the request.',
    alsoCalled: 'step-up, reauthentication required, recent login required, max_age, auth_time',
    sample: {
      reproduce: 'Create a key in the console, more than five minutes after signing in with an OpenID provider.',
      given: 'an OpenID provider',
      request: call('create_key', { body: { name: 'Support', role: 'support', all_programs: true } }),
      message: 'This operation needs a sign-in within the last 5 minutes. Sign in again, then repeat the request.',
    },
  }),
  approval_not_found: errorCode({
    status: 404,
    problem: 'A card program or a key',
    meaning: 'The approval does not exist.',
    causes: ['The approval id is misspelled.'],
    resolution: 'Check the approval id. list_approvals lists the approvals.',
    alsoCalled: 'unknown approval, no such approval, approval request not found',
    sample: {
      reproduce: 'Read the approval "apr_missing".',
      request: call('get_approval', { params: { approval_id: 'apr_missing' } }),
      message: "There is no approval with the id 'apr_missing'.",
    },
  }),
  approval_pending: errorCode({
    status: 409,
    problem: 'Approve, reject or withdraw a request',
    meaning: 'An identical request is already waiting for the approval of a second person.',
    causes: ['You or another operator has sent the same request with a different idempotency key, or without one.'],
    resolution: 'Ask a second person to decide on the approval that the message names, or withdraw it.',
    support: {
      tell: 'This request is already waiting for the approval of a second person.',
      next: 'Ask an approver to decide on the approval that the message names.',
    },
    alsoCalled:
      'pending approval, awaiting approval, waiting for approval, already requested, duplicate request for approval, maker checker',
    sample: {
      reproduce: 'With a rule about create_withdrawal, send the same withdrawal twice with two idempotency keys.',
      given: 'a second person',
      request: call('create_withdrawal', { params: { program_id: DEMO_PROGRAM }, body: { amount: 1000 } }),
      message:
        'An identical request is already waiting for the approval apr_0196f5c2d9b17e3285d0c4a961f8be27. Ask a second person to decide on it, or withdraw it.',
    },
  }),
  own_approval: errorCode({
    status: 403,
    problem: 'Approve, reject or withdraw a request',
    meaning: 'You cannot decide on your own request: a second person must.',
    causes: [
      'You sent the request yourself.',
      'The request was sent with a key that belongs to you, or that you created or rolled.',
    ],
    resolution: 'Ask another person to decide. You can withdraw your own request.',
    support: {
      tell: 'A second person must decide on your request.',
      next: 'Ask a different approver to decide.',
    },
    alsoCalled: 'four eyes, dual control, segregation of duties, self approval, same user, maker cannot check',
    sample: {
      reproduce: 'Approve your own request.',
      given: 'a second person',
      request: call('approve_change', { params: { approval_id: '{approval_id}' } }),
      message: 'You cannot approve your own request: a second person must. You can withdraw it.',
    },
  }),
  invalid_approval_status: errorCode({
    status: 409,
    problem: 'Approve, reject or withdraw a request',
    meaning: 'The approval has ended, or can only be rejected.',
    causes: [
      'Someone else has decided first.',
      'The request was withdrawn, or has expired.',
      'The requester was blocked, or no longer has the scope of the operation.',
    ],
    resolution: 'Read the approval. If it has ended and the change is still needed, send the request again.',
    alsoCalled: 'already approved, already rejected, approval expired, approval ended, decided by someone else',
    sample: {
      reproduce: 'Reject a request that the requester has withdrawn.',
      given: 'a second person',
      request: call('reject_change', { params: { approval_id: '{approval_id}' }, body: { reason: 'Too late' } }),
      message: 'The approval has been withdrawn by Tariq Haddad.',
    },
  }),
  error_not_found: errorCode({
    status: 404,
    problem: 'A request, an error or an event',
    meaning: 'The error log has no error with this request id, or the error is not visible to this key.',
    causes: [
      'The request id is misspelled, or the request succeeded.',
      'The error belongs to another card program, or to none. Only operators can look up such errors.',
      'The error is less than a second old, or older than the retention period.',
      'The path does not exist and does not contain /api/. Such requests, for example for /healthz, are not recorded.',
    ],
    resolution: 'Compare the id with the Request-Id header of the response. If it is correct, ask an operator.',
    alsoCalled: 'request id not in error log, error not in log, no error with this request id, cannot find error',
    sample: {
      reproduce: 'Look up the error of the request "req_missing".',
      request: call('get_error', { params: { request_id: 'req_missing' } }),
      message:
        "There is no error with the request id 'req_missing' in this card program. A request id is req_ and 32 hex digits.",
    },
  }),
  request_not_found: errorCode({
    status: 404,
    problem: 'A request, an error or an event',
    meaning: 'The service has stored nothing about a request with this id, or the request is not visible to this key.',
    causes: [
      'The request id is misspelled.',
      'The request belongs to another card program, or to operators. Only operators can look up such requests.',
      'The request succeeded and changed nothing, such as a read, an explanation or a replay of an idempotency key.',
      'It failed less than a second ago, or its error is older than ERROR_RETENTION_DAYS.',
      'The path does not exist and does not contain /api/. Such requests, for example for /healthz, are not recorded.',
      'It changed something other than a transfer, and its event is older than EVENT_RETENTION_DAYS.',
    ],
    resolution:
      'Compare the id with the Request-Id header of the response, and look it up again after a second. If it is still not found, ask an operator, who can look up the requests of all card programs. If the operator does not find it either, the request created no transfer and no reversal.',
    alsoCalled: 'unknown request id, request id not found, no such request, cannot find request',
    sample: {
      reproduce: 'Look up the request "req_missing".',
      request: call('get_request', { params: { request_id: 'req_missing' } }),
      message: "'req_missing' is not a request id. A request id is req_ and 32 hex digits.",
    },
  }),
  event_not_found: errorCode({
    status: 404,
    problem: 'A request, an error or an event',
    meaning: 'The event does not exist, or is not visible to this key.',
    causes: [
      'The event id is misspelled.',
      'The event belongs to another card program, or to the service itself. Only operators can read such events.',
      'The event is older than the retention period (EVENT_RETENTION_DAYS).',
    ],
    resolution: 'Check the event id. List the events to see the stored ones.',
    alsoCalled: 'unknown event, no such event, event does not exist',
    sample: {
      reproduce: 'Get the event "evt_missing".',
      request: call('get_event', { params: { event_id: 'evt_missing' } }),
      message:
        "There is no event with the id 'evt_missing' in this card program. An event id is evt_ and 32 hex digits.",
    },
  }),
  events_expired: errorCode({
    status: 410,
    problem: 'A request, an error or an event',
    meaning: 'Some of the requested events were deleted, because they are older than the retention period.',
    causes: [
      'The position is older than the retention period (EVENT_RETENTION_DAYS), for example because the reader stopped for months.',
      'The reader asked for all events, and the first ones were deleted.',
    ],
    resolution:
      'Read the current state of the records that you follow, such as the transfers. Then continue from the oldest stored event, whose position is in the message.',
    alsoCalled:
      'events deleted, old events gone, events no longer stored, event retention, event cursor too old, missed ' +
      'events',
    sample: {
      reproduce: 'List the events after position 0 after the oldest ones were deleted.',
      given: 'events that are older than the retention period',
      request: { ...call('list_events'), path: `${call('list_events').path}?after=0` },
      message:
        'The events after position 0 are no longer stored. The oldest stored event has position 4: to continue with it, send after=3.',
      field: '/after',
    },
  }),
};
