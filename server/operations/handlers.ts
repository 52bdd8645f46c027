import type { OperationId } from '../../contract/operations.ts';
import type { Databases } from '../store/databases.ts';
import type { Call, Handler, Reply } from './call.ts';
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
      operation({ ...shared, database: databases.application.within(call.programId) }, call);
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
