import { call, errorCode, load } from '../error.ts';
import { EXAMPLE_LINE, EXAMPLE_NOTICE } from '../samples.ts';

/** A load onto the seeded card at the simulator, and the behavior of the simulator. */
const processed = (behavior: string) =>
  load({ card_id: 'card_processor' }, { 'Sandbox-Processor': behavior, Prefer: 'wait=5' });

/** Errors of processors, which move the money of cards outside this ledger. */
export const PROCESSOR_ERRORS = {
  connector_not_found: errorCode({
    status: 400,
    problem: 'A connector, an attempt or a break',
    meaning: 'The service has no connector with this name for the card program.',
    causes: [
      'The connector_id is misspelled.',
      "The connector is not in the service's settings (CONNECTORS).",
      'The settings name the connector for other card programs only (program_ids).',
    ],
    resolution: 'Ask the operator of the service for the names of its connectors, or omit connector_id.',
    support: {
      tell: 'Your card program has no connector with this name.',
      next: 'Ask an operator for the names of the connectors.',
    },
    alsoCalled: 'unknown connector, no such connector, connector missing, unknown processor, processor not configured',
    sample: {
      reproduce: 'Create a card with the connector "missing".',
      request: call('create_card', { body: { connector_id: 'missing', processor_token: 'card-1' } }),
      message: "This service has no connector 'missing'. Its operator names connectors in the setting CONNECTORS.",
      field: '/connector_id',
    },
  }),
  connector_not_supported: errorCode({
    status: 400,
    problem: 'Capture, cancel or reverse a transfer',
    meaning: "The card's processor cannot do this.",
    causes: [
      'A card_to_card transfer names a card of a processor.',
      'A transfer with "capture": "manual" names such a card.',
      'The request reverses a transfer that a processor has carried out.',
    ],
    resolution: 'Load or unload the card, with automatic capture. To undo a load, send an unload.',
    alsoCalled: 'not supported by processor, cannot reverse processor transfer, card to card not supported',
    sample: {
      reproduce: 'Send money from the card "card_active" to the card "card_processor".',
      request: load({ type: 'card_to_card', destination_card_id: 'card_processor' }),
      message:
        "The card 'card_processor' belongs to the processor 'simulator', and there are no transfers between its cards. " +
        'Send an unload, then a load.',
      field: '/type',
    },
  }),
  processor_declined: errorCode({
    status: 409,
    problem: "The card's processor declined it",
    meaning: "The card's processor declined the transfer.",
    causes: ['The processor or the issuer refused it, and there is no specific error code for its reason.'],
    resolution: 'Show the holder that the card was declined. The message has the code of the processor.',
    support: {
      tell: "The card's processor declined the transfer. Please ask the issuer of the card for the reason.",
      next: "Check the processor's code in the message. The decision is the processor's, so there is nothing to change on our side.",
    },
    alsoCalled: 'declined by processor, do not honor, declined by bank, declined by issuer',
    sample: {
      reproduce: 'Load the card "card_processor" and have the simulator decline it with the code 05.',
      request: processed('decline=05'),
      isOnTransfer: true,
      message: "The processor 'simulator' declined the load of 10.00 USD (code 05).",
    },
  }),
  processor_error: errorCode({
    status: 424,
    type: 'Process Error',
    problem: "The card's processor failed",
    meaning: "The card's processor could not carry out the transfer, and did not move the money.",
    causes: [
      'The processor refused the order as invalid: the card is not set up there, or the connector is configured incorrectly.',
      'The outcome was unknown, and an operator found that the processor did not carry out the transfer.',
    ],
    resolution: 'Contact support with the request id. No money moved. Try a new transfer once the cause is fixed.',
    support: {
      tell: "The card's processor could not carry out the transfer. We will tell you when you can try it again.",
      next: 'Check the screen Processors. If more transfers fail, escalate to the operators, who contact the processor. Then tell the customer to send a new transfer.',
    },
    alsoCalled: 'processor failure, invalid at processor, processor rejected, processor format error',
    sample: {
      reproduce: 'Load the card "card_processor" and have the simulator decline it with the code 12.',
      request: processed('decline=12'),
      isOnTransfer: true,
      message: "The processor 'simulator' could not carry out the load of 10.00 USD (code 12).",
    },
  }),
  processor_unavailable: errorCode({
    status: 424,
    type: 'Process Error',
    retryable: true,
    problem: "The card's processor failed",
    meaning: "The card's processor could not be reached, and did not move the money.",
    causes: [
      'The processor or its adapter is down, so nothing was sent to it.',
      'The processor cannot reach the issuer of the card.',
      "The connector of the card is no longer in the service's settings.",
      'The processor did not report the result of the transfer in time, and has reversed it.',
    ],
    resolution: 'Try again later with a new transfer: this one moved no money. If the error persists, contact support.',
    support: {
      tell: "The card's processor cannot be reached at the moment. Please try a new transfer later.",
      next: 'Wait. If the screen Processors shows that the processor still does not respond, escalate to the operators.',
    },
    alsoCalled: 'processor down, issuer unavailable, issuer inoperative, cannot reach processor, switch inoperative',
    sample: {
      reproduce: 'Load the card "card_processor" and have the simulator decline it with the code 91.',
      request: processed('decline=91'),
      isOnTransfer: true,
      message: "The processor 'simulator' was not available for the load of 10.00 USD (code 91).",
    },
  }),
  attempt_not_found: errorCode({
    status: 404,
    problem: 'A connector, an attempt or a break',
    meaning: 'The attempt does not exist.',
    causes: ['The attempt id is misspelled.'],
    resolution: 'GET /api/v0.1/operator/attempt lists the attempts.',
    alsoCalled: 'unknown attempt, no such attempt, processor attempt missing',
    sample: {
      reproduce: 'Resolve the attempt "pat_missing".',
      request: call('resolve_attempt', {
        params: { attempt_id: 'pat_missing' },
        body: { outcome: 'not_executed', note: 'The processor says so.' },
      }),
      message: "There is no attempt 'pat_missing'. An attempt id is pat_ and 32 hex digits.",
    },
  }),
  invalid_attempt_status: errorCode({
    status: 409,
    problem: 'Resolve an attempt',
    meaning: "The attempt's status does not allow this action.",
    causes: [
      'The attempt has ended with the other outcome.',
      'The attempt has not been sent yet, or was sent a moment ago and can still get its answer.',
    ],
    resolution:
      'Read the attempts of the transfer. If the result of an attempt differs at the processor, contact the processor and have the difference corrected there.',
    alsoCalled: 'attempt already resolved, attempt ended, attempt not sent',
    sample: {
      reproduce: 'Load the card "card_processor", wait until it is completed, and resolve its attempt as not executed.',
      given: [processed('approve'), call('list_attempts')],
      request: call('resolve_attempt', { body: { outcome: 'not_executed', note: 'The processor says so.' } }),
      message: 'The attempt has been approved and cannot be resolved as not executed.',
    },
  }),
  break_not_found: errorCode({
    status: 404,
    problem: 'A connector, an attempt or a break',
    meaning: 'The break does not exist.',
    causes: ['The break id is misspelled.'],
    resolution: 'GET /api/v0.1/operator/break lists the breaks.',
    alsoCalled: 'unknown break, no such break, reconciliation break missing',
    sample: {
      reproduce: 'Close the break "brk_missing".',
      request: call('close_break', { params: { break_id: 'brk_missing' }, body: { note: 'Settled.' } }),
      message: "There is no break 'brk_missing'. A break id is brk_ and 32 hex digits.",
    },
  }),
  settlement_file_not_found: errorCode({
    status: 404,
    problem: 'A settlement file',
    meaning: 'The settlement file does not exist.',
    causes: ['The id of the file is misspelled.'],
    resolution: 'GET /api/v0.1/operator/settlement-file lists the files.',
    alsoCalled: 'unknown settlement file, no such file, reconciliation file missing',
    sample: {
      reproduce: 'Get the settlement file "stl_missing".',
      request: call('get_settlement_file', { params: { file_id: 'stl_missing' } }),
      message: "There is no settlement file 'stl_missing'. The id of a settlement file is stl_ and 32 hex digits.",
    },
  }),
  settlement_file_withdrawn: errorCode({
    status: 409,
    problem: 'A settlement file',
    meaning: 'The settlement file was withdrawn and takes no more lines.',
    causes: ['An operator withdrew the file while it was being imported.'],
    resolution: 'Create the file again: a withdrawn file does not count, so it is imported from its first line.',
    alsoCalled: 'file withdrawn, import canceled, settlement file closed',
    sample: {
      reproduce: 'Create a settlement file, withdraw it, and add a line to it.',
      given: [
        call('create_settlement_file', {
          body: { connector_id: 'simulator', name: 'settlement.csv', sha256: '0'.repeat(64), line_count: 1 },
        }),
        call('withdraw_settlement_file', { body: { note: 'The wrong file.' } }),
      ],
      request: call('add_settlement_lines', { body: { first_line: 1, lines: [EXAMPLE_LINE] } }),
      message: "The settlement file 'stl_0196f5c2d9a67d53a1c8e07f42b965d1' was withdrawn. Import the file again.",
    },
  }),
  notice_id_reused: errorCode({
    status: 409,
    problem: 'A connector, an attempt or a break',
    meaning:
      'An earlier notice from the connector has this notice_id and different contents. The new notice was not stored.',
    causes: ['The adapter restarted its count of notices, or uses one notice_id for all notices about an attempt.'],
    resolution:
      'Give each notice its own notice_id. When you send a notice again, send the same contents. A break shows both notices to operators.',
    support: {
      tell: 'Two notices with different contents have the same id.',
      next: 'Escalate to the operators: a break shows both notices.',
    },
    alsoCalled: 'notice id already used, duplicate notice, notice conflict, same notice other contents',
    sample: {
      reproduce: 'Send a notice, and another one with the same notice_id and the status declined.',
      given: [call('receive_notice')],
      request: call('receive_notice', { body: { ...EXAMPLE_NOTICE, status: 'declined' } }),
      message: "An earlier notice has the notice_id 'evt_4711' and different contents. Give each notice its own id.",
      field: '/notice_id',
    },
  }),
} as const;
