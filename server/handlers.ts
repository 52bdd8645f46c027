import type { OperationId } from '../contract/operations.ts';
import { listAuditEntries } from './audit/list-audit-entries.ts';
import { createCard } from './cards/create-card.ts';
import { exportPostings } from './cards/export-postings.ts';
import { getCard } from './cards/get-card.ts';
import { getCardLimits } from './cards/get-card-limits.ts';
import { listCards } from './cards/list-cards.ts';
import { listPostings } from './cards/list-postings.ts';
import { updateCard } from './cards/update-card.ts';
import { countErrors } from './error-log/count-errors.ts';
import { getError } from './error-log/get-error.ts';
import { inspectError } from './error-log/inspect-error.ts';
import { listErrors } from './error-log/list-errors.ts';
import { searchErrors } from './error-log/search-errors.ts';
import { createKey } from './keys/create-key.ts';
import { listKeys } from './keys/list-keys.ts';
import { revokeKey } from './keys/revoke-key.ts';
import { rollKey } from './keys/roll-key.ts';
import type { Call, Handler, Reply } from './operations/call.ts';
import type { Service } from './operations/service.ts';
import { createProgram } from './programs/create-program.ts';
import { getProgram } from './programs/get-program.ts';
import { getTrialBalance } from './programs/get-trial-balance.ts';
import { listPrograms } from './programs/list-programs.ts';
import { createDeposit, createWithdrawal } from './programs/move-funding.ts';
import { updateProgram } from './programs/update-program.ts';
import { moveClock } from './sandbox/move-clock.ts';
import { type SandboxDatabase, startDatabase, stopDatabase } from './sandbox/sandbox-database.ts';
import type { Databases } from './store/connection/databases.ts';
import { changeSwitch } from './switch/change-switch.ts';
import { getSwitch } from './switch/get-switch.ts';
import { cancelTransfer } from './transfers/cancel-transfer.ts';
import { captureTransfer } from './transfers/capture-transfer.ts';
import { createTransfer } from './transfers/create-transfer.ts';
import { createTransferBatch } from './transfers/create-transfer-batch.ts';
import { explainTransfer } from './transfers/explain-transfer.ts';
import { exportTransfers } from './transfers/export-transfers.ts';
import { getReversal } from './transfers/get-reversal.ts';
import { getTransfer } from './transfers/get-transfer.ts';
import { listReversals } from './transfers/list-reversals.ts';
import { listTransfers } from './transfers/list-transfers.ts';
import { reverseTransfer } from './transfers/reverse-transfer.ts';
import { updateTransfer } from './transfers/update-transfer.ts';

/** An operation, with what it works with. */
type Operation = (service: Service, call: Call) => Promise<Reply>;

/** What all operations share. */
export type Foundation = Omit<Service, 'database'> & { readonly databases: Databases };

/**
 * The function behind each operation of the contract. An operation of a card program reaches the rows of that program
 * only, whatever its statements say; an operator's reaches all.
 */
export function handlersOf(
  { databases, ...shared }: Foundation,
  sandbox: SandboxDatabase | undefined,
): Record<OperationId, Handler> {
  const inProgram =
    (operation: Operation): Handler =>
    (call) =>
      operation({ ...shared, database: databases.application.forProgram(call.programId) }, call);
  const everywhere =
    (operation: Operation): Handler =>
    (call) =>
      operation({ ...shared, database: databases.background }, call);
  return {
    create_transfer: inProgram(createTransfer),
    get_transfer: inProgram(getTransfer),
    list_transfers: inProgram(listTransfers),
    create_transfer_batch: inProgram(createTransferBatch),
    capture_transfer: inProgram(captureTransfer),
    cancel_transfer: inProgram(cancelTransfer),
    reverse_transfer: inProgram(reverseTransfer),
    update_transfer: inProgram(updateTransfer),
    export_transfers: inProgram(exportTransfers),
    list_reversals: inProgram(listReversals),
    get_reversal: inProgram(getReversal),
    explain_transfer: inProgram(explainTransfer),
    create_card: inProgram(createCard),
    get_card: inProgram(getCard),
    list_cards: inProgram(listCards),
    update_card: inProgram(updateCard),
    get_card_limits: inProgram(getCardLimits),
    list_postings: inProgram(listPostings),
    export_postings: inProgram(exportPostings),
    get_error: inProgram(getError),
    list_errors: inProgram(listErrors),
    create_program: everywhere(createProgram),
    get_program: everywhere(getProgram),
    update_program: everywhere(updateProgram),
    list_programs: everywhere(listPrograms),
    create_deposit: everywhere(createDeposit),
    create_withdrawal: everywhere(createWithdrawal),
    get_switch: everywhere(getSwitch),
    change_switch: everywhere(changeSwitch),
    get_trial_balance: everywhere(getTrialBalance),
    create_key: everywhere(createKey),
    list_keys: everywhere(listKeys),
    roll_key: everywhere(rollKey),
    revoke_key: everywhere(revokeKey),
    inspect_error: everywhere(inspectError),
    search_errors: everywhere(searchErrors),
    count_errors: everywhere(countErrors),
    list_audit_entries: everywhere(listAuditEntries),
    move_clock: everywhere(moveClock),
    stop_database: (call) => stopDatabase(sandbox, call),
    start_database: (call) => startDatabase(sandbox, call),
  };
}
