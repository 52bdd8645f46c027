import type { OperationId } from '../../contract/operations.ts';
import type { Handler } from './call.ts';
import { cancelTransfer } from './cancel-transfer.ts';
import { captureTransfer } from './capture-transfer.ts';
import { changeSwitch } from './change-switch.ts';
import { countErrors } from './count-errors.ts';
import { createCard } from './create-card.ts';
import { createKey } from './create-key.ts';
import { createProgram } from './create-program.ts';
import { createTransfer } from './create-transfer.ts';
import { createTransferBatch } from './create-transfer-batch.ts';
import { explainTransfer } from './explain-transfer.ts';
import { exportPostings } from './export-postings.ts';
import { exportTransfers } from './export-transfers.ts';
import { getCard } from './get-card.ts';
import { getCardLimits } from './get-card-limits.ts';
import { getError } from './get-error.ts';
import { getProgram } from './get-program.ts';
import { getReversal } from './get-reversal.ts';
import { getSwitch } from './get-switch.ts';
import { getTransfer } from './get-transfer.ts';
import { getTrialBalance } from './get-trial-balance.ts';
import { inspectError } from './inspect-error.ts';
import { listAuditEntries } from './list-audit-entries.ts';
import { listCards } from './list-cards.ts';
import { listErrors } from './list-errors.ts';
import { listKeys } from './list-keys.ts';
import { listPostings } from './list-postings.ts';
import { listPrograms } from './list-programs.ts';
import { listReversals } from './list-reversals.ts';
import { listTransfers } from './list-transfers.ts';
import { moveClock } from './move-clock.ts';
import { createDeposit, createWithdrawal } from './move-funding.ts';
import { reverseTransfer } from './reverse-transfer.ts';
import { revokeKey } from './revoke-key.ts';
import { rollKey } from './roll-key.ts';
import { type SandboxDatabase, startDatabase, stopDatabase } from './sandbox-database.ts';
import { searchErrors } from './search-errors.ts';
import type { Service } from './service.ts';
import { updateCard } from './update-card.ts';
import { updateProgram } from './update-program.ts';
import { updateTransfer } from './update-transfer.ts';

/** The function behind each operation of the contract. */
export function handlersOf(service: Service, sandbox: SandboxDatabase | undefined): Record<OperationId, Handler> {
  return {
    create_transfer: (call) => createTransfer(service, call),
    get_transfer: (call) => getTransfer(service, call),
    list_transfers: (call) => listTransfers(service, call),
    create_transfer_batch: (call) => createTransferBatch(service, call),
    capture_transfer: (call) => captureTransfer(service, call),
    cancel_transfer: (call) => cancelTransfer(service, call),
    reverse_transfer: (call) => reverseTransfer(service, call),
    update_transfer: (call) => updateTransfer(service, call),
    export_transfers: (call) => exportTransfers(service, call),
    list_reversals: (call) => listReversals(service, call),
    get_reversal: (call) => getReversal(service, call),
    explain_transfer: (call) => explainTransfer(service, call),
    create_card: (call) => createCard(service, call),
    get_card: (call) => getCard(service, call),
    list_cards: (call) => listCards(service, call),
    update_card: (call) => updateCard(service, call),
    get_card_limits: (call) => getCardLimits(service, call),
    list_postings: (call) => listPostings(service, call),
    export_postings: (call) => exportPostings(service, call),
    get_error: (call) => getError(service, call),
    list_errors: (call) => listErrors(service, call),
    create_program: (call) => createProgram(service, call),
    get_program: (call) => getProgram(service, call),
    update_program: (call) => updateProgram(service, call),
    list_programs: (call) => listPrograms(service, call),
    create_deposit: (call) => createDeposit(service, call),
    create_withdrawal: (call) => createWithdrawal(service, call),
    get_switch: () => getSwitch(service),
    change_switch: (call) => changeSwitch(service, call),
    get_trial_balance: () => getTrialBalance(service),
    create_key: (call) => createKey(service, call),
    list_keys: (call) => listKeys(service, call),
    roll_key: (call) => rollKey(service, call),
    revoke_key: (call) => revokeKey(service, call),
    inspect_error: (call) => inspectError(service, call),
    search_errors: (call) => searchErrors(service, call),
    count_errors: (call) => countErrors(service, call),
    list_audit_entries: (call) => listAuditEntries(service, call),
    move_clock: (call) => moveClock(service, call),
    stop_database: (call) => stopDatabase(sandbox, call),
    start_database: (call) => startDatabase(sandbox, call),
  };
}
