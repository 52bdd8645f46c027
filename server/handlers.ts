import { OPERATION_IDS, OPERATIONS, type OperationId } from '../contract/operations.ts';
import { isApprovable } from '../domain/approvals/policy.ts';
import { type AnyCall, type Call, type Handler, isOperator, type Reply } from './calls/call.ts';
import type { Database } from './store/connection/database.ts';
import type { Databases } from './store/connection/databases.ts';
import {
  approveChange,
  type EndApproval,
  findUnsettled,
  getApproval,
  listApprovals,
  rejectChange,
  withdrawChange,
} from './subjects/approvals/decide.ts';
import { type Runs, readsSubject, refuseBatch, withApproval, withPending } from './subjects/approvals/gate.ts';
import {
  changeApprovalPolicy,
  getApprovalPolicy,
  openPolicyMemory,
  type PolicyMemory,
} from './subjects/approvals/policy.ts';
import { exportAuditEntries, listAuditEntries } from './subjects/audit/list-audit-entries.ts';
import { verifyAuditPortion } from './subjects/audit/verify-audit.ts';
import { createCard } from './subjects/cards/create-card.ts';
import { eraseCardHolder } from './subjects/cards/erase-card-holder.ts';
import { getCardLimits } from './subjects/cards/get-card-limits.ts';
import { exportPostings, listPostings } from './subjects/cards/postings.ts';
import { getCard, listCards } from './subjects/cards/read-cards.ts';
import { updateCard } from './subjects/cards/update-card.ts';
import { countErrors, getError, inspectError, listErrors, searchErrors } from './subjects/errors/read-errors.ts';
import type { EventService } from './subjects/events/event-news.ts';
import { getEvent, inspectEvent, listEvents, searchEvents } from './subjects/events/read-events.ts';
import { createKey, listKeys, revokeKey, rollKey } from './subjects/keys/manage-keys.ts';
import { addMoveInLines } from './subjects/move-ins/add-lines.ts';
import {
  addComparedCards,
  createComparison,
  getComparison,
  listComparisons,
  listDifferences,
} from './subjects/move-ins/comparisons.ts';
import { cutOver } from './subjects/move-ins/cut-over.ts';
import { createMoveIn, getMoveIn, listMoveIns } from './subjects/move-ins/move-ins.ts';
import { undoMoveIn } from './subjects/move-ins/undo-move-in.ts';
import type { OverviewMaker } from './subjects/overview/overview.ts';
import {
  blockPerson,
  erasePerson,
  exportAccess,
  getPerson,
  listAccess,
  listPeople,
  unblockPerson,
} from './subjects/people/manage-people.ts';
import { closeBreak, getBreak } from './subjects/processors/close-break.ts';
import {
  listAttempts,
  listBreaks,
  listConnectors,
  receiveNotice,
  searchAttempts,
} from './subjects/processors/processors.ts';
import {
  addSettlementLines,
  createSettlementFile,
  getSettlementFile,
  listSettlementFiles,
  withdrawSettlementFile,
} from './subjects/processors/settlement-files.ts';
import { closeDay, exportDay, getDay } from './subjects/programs/days.ts';
import {
  createDeposit,
  createWithdrawal,
  exportFundingMovements,
  listFundingMovements,
  searchFundingMovements,
} from './subjects/programs/funding.ts';
import { getTrialBalance } from './subjects/programs/get-trial-balance.ts';
import { createProgram, getProgram, listPrograms, updateProgram } from './subjects/programs/manage-programs.ts';
import { findRequest, findRequestOfProgram, getRequest, inspectRequest } from './subjects/requests/get-request.ts';
import { moveClock, type SandboxDatabase, startDatabase, stopDatabase } from './subjects/sandbox/control-sandbox.ts';
import { search } from './subjects/search/search.ts';
import {
  createSession,
  deleteSession,
  getSession,
  listSessions,
  revokeSession,
} from './subjects/sessions/manage-sessions.ts';
import { signInAs } from './subjects/sessions/sign-in-person.ts';
import { getStatus, type StatusSources } from './subjects/status/get-status.ts';
import { createCase, type FindRequest } from './subjects/support/create-case.ts';
import { closeCase, resolveCase } from './subjects/support/end-case.ts';
import {
  attachCases,
  createIncident,
  inspectIncident,
  listIncidents,
  resolveIncident,
  updateIncident,
} from './subjects/support/incidents.ts';
import { answerCase, answerSandboxCase, replyToCase } from './subjects/support/messages.ts';
import { getCase, inspectCase, listCases, searchCases } from './subjects/support/read-cases.ts';
import { changeSwitch, getSwitch, previewSwitch } from './subjects/switch/switch.ts';
import { getTransferTimeline, listLikelyDuplicates } from './subjects/timeline/timeline.ts';
import {
  cancelTransfer,
  captureTransfer,
  reverseTransfer,
  updateTransfer,
} from './subjects/transfers/change-transfer.ts';
import { createTransfer } from './subjects/transfers/create-transfer.ts';
import { createTransferBatch } from './subjects/transfers/create-transfer-batch.ts';
import { explainTransfer } from './subjects/transfers/explain-transfer.ts';
import { openTrialLane, type TransferService } from './subjects/transfers/lane.ts';
import {
  exportTransfers,
  getReversal,
  getTransfer,
  listHolds,
  listReversals,
  listTransfers,
} from './subjects/transfers/read-transfers.ts';
import { resolveAttempt } from './subjects/transfers/resolve-attempt.ts';
import { deleteWebhook, rollWebhookSecret, updateWebhook } from './subjects/webhooks/change-webhook.ts';
import { createOperatorWebhook, createWebhook } from './subjects/webhooks/create-webhook.ts';
import {
  getWebhook,
  listFailedAttempts,
  listOperatorFailedAttempts,
  listOperatorWebhooks,
  listWebhookAttempts,
  listWebhooks,
} from './subjects/webhooks/read-webhooks.ts';
import { replayWebhook, resendEvent, testWebhook } from './subjects/webhooks/request-deliveries.ts';
import type { WebhookService } from './subjects/webhooks/settings.ts';

// Invariant: A statement can access only rows of the request's program, even if it names no program or the wrong one. In a group
//   commit, it can access the rows of the programs in the group
// Kept by: row-level security; an operation's reach is in its definition and applied here, a group's in
//   `server/commit/locking-path.ts`
// Tested by: `test/security/row-level-security.test.ts`

export type AnyService = TransferService & EventService & WebhookService;

/** The function for each operation of the contract, with the types of the operation's definition. */
type OperationHandlers = {
  readonly [Id in OperationId]: (service: AnyService, call: Call<Id>) => Promise<Reply<Id>>;
};

/**
 * Everything that handlers share, except the database. Each handler gets a database with the rows that its operation may access.
 */
export type Foundation = Omit<AnyService, 'database' | 'ofProgram'> & { readonly databases: Databases };

/** The handlers that need only the service. */
const HANDLERS = {
  create_transfer: createTransfer,
  get_transfer: getTransfer,
  list_transfers: listTransfers,
  create_transfer_batch: createTransferBatch,
  capture_transfer: captureTransfer,
  cancel_transfer: cancelTransfer,
  reverse_transfer: reverseTransfer,
  update_transfer: updateTransfer,
  export_transfers: exportTransfers,
  list_reversals: listReversals,
  get_reversal: getReversal,
  get_transfer_timeline: getTransferTimeline,
  list_likely_duplicates: listLikelyDuplicates,
  explain_transfer: explainTransfer,
  create_card: createCard,
  get_card: getCard,
  list_cards: listCards,
  update_card: updateCard,
  erase_card_holder: eraseCardHolder,
  get_card_limits: getCardLimits,
  list_holds: listHolds,
  list_postings: listPostings,
  export_postings: exportPostings,
  list_attempts: listAttempts,
  search_attempts: searchAttempts,
  resolve_attempt: resolveAttempt,
  list_connectors: listConnectors,
  receive_notice: receiveNotice,
  list_breaks: listBreaks,
  get_break: getBreak,
  close_break: closeBreak,
  get_day: getDay,
  export_day: exportDay,
  close_day: closeDay,
  create_settlement_file: createSettlementFile,
  add_settlement_lines: addSettlementLines,
  list_settlement_files: listSettlementFiles,
  get_settlement_file: getSettlementFile,
  withdraw_settlement_file: withdrawSettlementFile,
  create_move_in: createMoveIn,
  add_move_in_lines: addMoveInLines,
  list_move_ins: listMoveIns,
  get_move_in: getMoveIn,
  undo_move_in: undoMoveIn,
  create_comparison: createComparison,
  add_compared_cards: addComparedCards,
  list_comparisons: listComparisons,
  get_comparison: getComparison,
  list_differences: listDifferences,
  cut_over: cutOver,
  list_events: listEvents,
  get_event: getEvent,
  search_events: searchEvents,
  inspect_event: inspectEvent,
  create_webhook: createWebhook,
  list_webhooks: listWebhooks,
  get_webhook: getWebhook,
  update_webhook: updateWebhook,
  delete_webhook: deleteWebhook,
  roll_webhook_secret: rollWebhookSecret,
  test_webhook: testWebhook,
  list_webhook_attempts: listWebhookAttempts,
  list_failed_attempts: listFailedAttempts,
  resend_event: resendEvent,
  replay_webhook: replayWebhook,
  create_operator_webhook: createOperatorWebhook,
  list_operator_webhooks: listOperatorWebhooks,
  get_operator_webhook: getWebhook,
  update_operator_webhook: updateWebhook,
  delete_operator_webhook: deleteWebhook,
  roll_operator_webhook_secret: rollWebhookSecret,
  test_operator_webhook: testWebhook,
  list_operator_webhook_attempts: listWebhookAttempts,
  list_operator_failed_attempts: listOperatorFailedAttempts,
  resend_operator_event: resendEvent,
  replay_operator_webhook: replayWebhook,
  get_error: getError,
  list_errors: listErrors,
  get_program: getProgram,
  update_program: updateProgram,
  list_programs: listPrograms,
  create_program: createProgram,
  create_deposit: createDeposit,
  create_withdrawal: createWithdrawal,
  list_funding_movements: listFundingMovements,
  export_funding_movements: exportFundingMovements,
  search_funding_movements: searchFundingMovements,
  get_switch: getSwitch,
  change_switch: changeSwitch,
  preview_switch: previewSwitch,
  get_trial_balance: getTrialBalance,
  create_key: createKey,
  list_keys: listKeys,
  roll_key: rollKey,
  revoke_key: revokeKey,
  delete_session: deleteSession,
  list_sessions: listSessions,
  revoke_session: revokeSession,
  list_people: listPeople,
  get_person: getPerson,
  block_person: blockPerson,
  unblock_person: unblockPerson,
  erase_person: erasePerson,
  list_approvals: listApprovals,
  reject_change: rejectChange,
  withdraw_change: withdrawChange,
  get_approval_policy: getApprovalPolicy,
  list_access: listAccess,
  export_access: exportAccess,
  sign_in_as: signInAs,
  inspect_error: inspectError,
  search_errors: searchErrors,
  count_errors: countErrors,
  inspect_request: inspectRequest,
  list_audit_entries: listAuditEntries,
  export_audit_entries: exportAuditEntries,
  verify_audit: verifyAuditPortion,
  move_clock: moveClock,
  list_cases: listCases,
  get_case: getCase,
  reply_to_case: replyToCase,
  close_case: closeCase,
  search_cases: searchCases,
  inspect_case: inspectCase,
  answer_case: answerCase,
  resolve_case: resolveCase,
  answer_sandbox_case: answerSandboxCase,
  list_incidents: listIncidents,
  create_incident: createIncident,
  inspect_incident: inspectIncident,
  update_incident: updateIncident,
  attach_cases: attachCases,
  resolve_incident: resolveIncident,
} as const satisfies Partial<OperationHandlers>;

function operationHandlers(
  sandbox: SandboxDatabase | undefined,
  status: StatusSources,
  overview: OverviewMaker,
  background: Database,
  runs: Runs,
  policy: PolicyMemory,
): OperationHandlers {
  // Changes of a sandbox's clock are in the audit log. A card program cannot read it, so the background database is
  // used.
  const clock = status.mode === 'sandbox' ? background : undefined;
  const findOwnRequest: FindRequest = (service, call, sentId) => findRequestOfProgram(clock, service, call, sentId);
  return {
    ...HANDLERS,
    get_approval: (service, call) => getApproval(runs.run, service, call),
    approve_change: (service, call) => approveChange(runs, service, call),
    change_approval_policy: (service, call) => changeApprovalPolicy(policy, service, call),
    get_request: (service, call) => getRequest(clock, service, call),
    create_case: (service, call) => createCase(findOwnRequest, service, call),
    search: (service, call) => search(findRequest, service, call),
    get_status: (service) => getStatus(status, service),
    create_session: (service, call) => createSession(status.mode, service, call),
    get_overview: (service) => overview.get(service),
    get_session: (service, call) => getSession(status.mode, service, call),
    stop_database: (_service, call) => stopDatabase(sandbox, call),
    start_database: (_service, call) => startDatabase(sandbox, call),
  };
}

export type Handlers = {
  readonly handlers: Readonly<Record<OperationId, Handler>>;
  /** Finds the approvals that a job must end. See `findUnsettled`. */
  readonly findUnsettled: () => Promise<readonly EndApproval[]>;
};

/**
 * Returns the handlers that http calls. An operation of a card program can access only the rows of that program, even if a
 * statement omits the program. An operator's operation can access all rows. Operators' requests are checked against the
 * approval policy.
 */
export function handlersOf(
  { databases, ...shared }: Foundation,
  sandbox: SandboxDatabase | undefined,
  status: StatusSources,
  overview: OverviewMaker,
): Handlers {
  const ofProgram = (programId: string): Database => databases.application.forProgram(programId);
  const everywhere: AnyService = { ...shared, ofProgram, database: databases.background };
  const policy = openPolicyMemory(databases.background);
  const run: Handler = (call) => handle(serviceOf(call), call);
  const tryOut: Handler = (call) => handle(forTrial(serviceOf(call)), call);
  const runs = { run, tryOut };
  // The types of the handlers are derived from the definitions of the operations, and http has validated each call against them.
  const handlers = operationHandlers(
    sandbox,
    status,
    overview,
    databases.background,
    runs,
    policy,
  ) as unknown as Readonly<Record<OperationId, (service: AnyService, call: AnyCall) => ReturnType<Handler>>>;
  const handle = (service: AnyService, call: AnyCall) => handlers[call.operation](service, call);
  const serviceOf = ({ operation, programId }: AnyCall): AnyService =>
    OPERATIONS[operation].reach === 'program' ? { ...shared, ofProgram, database: ofProgram(programId) } : everywhere;
  const gated = OPERATION_IDS.map((id): [OperationId, Handler] => {
    const ofOperator: Handler | undefined = isApprovable(id)
      ? (call) => withApproval(everywhere, policy, runs, call, id)
      : id === 'create_transfer_batch'
        ? (call) => refuseBatch(policy).then(() => run(call))
        : readsSubject(id)
          ? (call) => withPending(everywhere, policy, run, call, id)
          : undefined;
    // Requests of card programs are not checked against the policy.
    return [id, ofOperator === undefined ? run : (call) => (isOperator(call.caller) ? ofOperator(call) : run(call))];
  });
  return {
    handlers: Object.fromEntries(gated) as Record<OperationId, Handler>,
    findUnsettled: () => findUnsettled(everywhere, run),
  };
}

/** Returns the service for a trial: handlers decide as they would now, but nothing is written. */
function forTrial(service: AnyService): AnyService {
  const database = service.database.forTrial();
  const { operatorLimits, processors } = service;
  const transfers = openTrialLane(database, { connectorState: processors.stateOf, operatorLimits });
  return { ...service, database, ofProgram: (programId) => service.ofProgram(programId).forTrial(), transfers };
}
