import { OPERATION_IDS, OPERATIONS, type OperationId } from '../contract/operations.ts';
import { listAuditEntries } from './audit/list-audit-entries.ts';
import { verifyAuditPortion } from './audit/verify-audit.ts';
import { createCard } from './cards/create-card.ts';
import { eraseCardHolder } from './cards/erase-card-holder.ts';
import { getCardLimits } from './cards/get-card-limits.ts';
import { listHolds } from './cards/list-holds.ts';
import { exportPostings, listPostings } from './cards/postings.ts';
import { getCard, listCards } from './cards/read-cards.ts';
import { updateCard } from './cards/update-card.ts';
import { countErrors } from './error-log/count-errors.ts';
import { getError } from './error-log/get-error.ts';
import { inspectError } from './error-log/inspect-error.ts';
import { listErrors } from './error-log/list-errors.ts';
import { searchErrors } from './error-log/search-errors.ts';
import { getEvent } from './events/get-event.ts';
import { inspectEvent } from './events/inspect-event.ts';
import { listEvents } from './events/list-events.ts';
import { searchEvents } from './events/search-events.ts';
import { createKey } from './keys/create-key.ts';
import { listKeys } from './keys/list-keys.ts';
import { revokeKey } from './keys/revoke-key.ts';
import { rollKey } from './keys/roll-key.ts';
import type { AnyCall, Call, Handler, Reply } from './operations/call.ts';
import type { Service } from './operations/service.ts';
import type { OverviewMaker } from './overview/overview.ts';
import { createProgram } from './programs/create-program.ts';
import { getTrialBalance } from './programs/get-trial-balance.ts';
import { listFundingMovements } from './programs/list-funding-movements.ts';
import { createDeposit, createWithdrawal } from './programs/move-funding.ts';
import { getProgram, listPrograms } from './programs/read-programs.ts';
import { updateProgram } from './programs/update-program.ts';
import { getRequest } from './requests/get-request.ts';
import { moveClock } from './sandbox/move-clock.ts';
import { type SandboxDatabase, startDatabase, stopDatabase } from './sandbox/sandbox-database.ts';
import { search } from './search/search.ts';
import { createSession } from './sessions/create-session.ts';
import { deleteSession, revokeSession } from './sessions/end-session.ts';
import { getSession } from './sessions/get-session.ts';
import { listSessions } from './sessions/list-sessions.ts';
import { getStatus } from './status/get-status.ts';
import type { StatusSources } from './status/sources.ts';
import type { Databases } from './store/connection/databases.ts';
import { previewSwitch } from './switch/preview-switch.ts';
import { changeSwitch, getSwitch } from './switch/switch.ts';
import { getTransferTimeline } from './timeline/get-transfer-timeline.ts';
import { listLikelyDuplicates } from './timeline/list-likely-duplicates.ts';
import { cancelTransfer, captureTransfer, reverseTransfer } from './transfers/change-transfer.ts';
import { createTransfer } from './transfers/create-transfer.ts';
import { createTransferBatch } from './transfers/create-transfer-batch.ts';
import { explainTransfer } from './transfers/explain-transfer.ts';
import { getReversal, listReversals } from './transfers/read-reversals.ts';
import { exportTransfers, getTransfer, listTransfers } from './transfers/read-transfers.ts';
import { updateTransfer } from './transfers/update-transfer.ts';
import { createOperatorWebhook, createWebhook } from './webhooks/create-webhook.ts';
import { deleteWebhook } from './webhooks/delete-webhook.ts';
import { getWebhook, listOperatorWebhooks, listWebhookAttempts, listWebhooks } from './webhooks/read-webhooks.ts';
import { replayWebhook } from './webhooks/replay-webhook.ts';
import { resendEvent } from './webhooks/resend-event.ts';
import { rollWebhookSecret } from './webhooks/roll-webhook-secret.ts';
import { testWebhook } from './webhooks/test-webhook.ts';
import { updateWebhook } from './webhooks/update-webhook.ts';

/** The function behind each operation of the contract, with the types of its definition. */
type OperationHandlers = {
  readonly [Id in OperationId]: (service: Service, call: Call<Id>) => Promise<Reply<Id>>;
};

/** What all operations share. */
export type Foundation = Omit<Service, 'database'> & { readonly databases: Databases };

/** The handlers that need nothing but the service. */
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
  resend_operator_event: resendEvent,
  replay_operator_webhook: replayWebhook,
  get_error: getError,
  list_errors: listErrors,
  create_program: createProgram,
  get_program: getProgram,
  update_program: updateProgram,
  list_programs: listPrograms,
  create_deposit: createDeposit,
  create_withdrawal: createWithdrawal,
  list_funding_movements: listFundingMovements,
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
  inspect_error: inspectError,
  search_errors: searchErrors,
  search,
  count_errors: countErrors,
  get_request: getRequest,
  list_audit_entries: listAuditEntries,
  verify_audit: verifyAuditPortion,
  move_clock: moveClock,
} as const satisfies Partial<OperationHandlers>;

function operationHandlers(
  sandbox: SandboxDatabase | undefined,
  status: StatusSources,
  overview: OverviewMaker,
): OperationHandlers {
  return {
    ...HANDLERS,
    get_status: (service) => getStatus(status, service),
    create_session: (service, call) => createSession(status.mode, service, call),
    get_overview: (service) => overview.get(service),
    get_session: (service, call) => getSession(status.mode, service, call),
    stop_database: (_service, call) => stopDatabase(sandbox, call),
    start_database: (_service, call) => startDatabase(sandbox, call),
  };
}

/**
 * The handlers as http calls them. An operation of a card program reaches the rows of that program only, whatever its
 * statements say; an operator's reaches all.
 */
export function handlersOf(
  { databases, ...shared }: Foundation,
  sandbox: SandboxDatabase | undefined,
  status: StatusSources,
  overview: OverviewMaker,
): Readonly<Record<OperationId, Handler>> {
  // http has read every call against the definition of the same operation, which is what the types of its handler say.
  const handlers = operationHandlers(sandbox, status, overview) as unknown as Readonly<
    Record<OperationId, (service: Service, call: AnyCall) => ReturnType<Handler>>
  >;
  const everywhere: Service = { ...shared, database: databases.background };
  const bound = OPERATION_IDS.map((id): [OperationId, Handler] => {
    const handle = handlers[id];
    if (OPERATIONS[id].reach !== 'program') return [id, (call) => handle(everywhere, call)];
    return [id, (call) => handle({ ...shared, database: databases.application.forProgram(call.programId) }, call)];
  });
  return Object.fromEntries(bound) as Record<OperationId, Handler>;
}
