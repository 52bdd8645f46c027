/**
 * Everything the service can be asked to do. The name of an operation is its one word everywhere: its file, its
 * OpenAPI operation, its SDK method, its codes `<operation>_schema` and `unknown_<operation>` (specification,
 * section 7.2, for create_transfer; the rest follow it).
 *
 * `failure` completes "…, please contact support"; `movesMoney` says that its refusals carry `Money-Moved`.
 */
export const OPERATIONS = {
  create_transfer: { failure: 'The transfer could not be created', movesMoney: true },
  get_transfer: { failure: 'The transfer could not be read', movesMoney: false },
  list_transfers: { failure: 'The transfers could not be listed', movesMoney: false },
  explain_transfer: { failure: 'The transfer could not be explained', movesMoney: false },
  create_transfer_batch: { failure: 'The transfers could not be created', movesMoney: true },
  capture_transfer: { failure: 'The transfer could not be captured', movesMoney: true },
  cancel_transfer: { failure: 'The transfer could not be canceled', movesMoney: true },
  reverse_transfer: { failure: 'The transfer could not be reversed', movesMoney: true },
  update_transfer: { failure: 'The transfer could not be updated', movesMoney: false },
  export_transfers: { failure: 'The transfers could not be exported', movesMoney: false },
  list_reversals: { failure: 'The reversals could not be listed', movesMoney: false },
  get_reversal: { failure: 'The reversal could not be read', movesMoney: false },
  create_card: { failure: 'The card could not be created', movesMoney: false },
  get_card: { failure: 'The card could not be read', movesMoney: false },
  list_cards: { failure: 'The cards could not be listed', movesMoney: false },
  update_card: { failure: 'The card could not be updated', movesMoney: true },
  get_card_limits: { failure: 'The limits could not be read', movesMoney: false },
  list_postings: { failure: 'The postings could not be listed', movesMoney: false },
  export_postings: { failure: 'The postings could not be exported', movesMoney: false },
  get_error: { failure: 'The error could not be looked up', movesMoney: false },
  list_errors: { failure: 'The errors could not be listed', movesMoney: false },
  create_program: { failure: 'The program could not be created', movesMoney: false },
  get_program: { failure: 'The program could not be read', movesMoney: false },
  update_program: { failure: 'The program could not be updated', movesMoney: false },
  list_programs: { failure: 'The programs could not be listed', movesMoney: false },
  create_deposit: { failure: 'The deposit could not be made', movesMoney: true },
  create_withdrawal: { failure: 'The withdrawal could not be made', movesMoney: true },
  get_switch: { failure: 'The switch could not be read', movesMoney: false },
  change_switch: { failure: 'The switch could not be changed', movesMoney: false },
  get_trial_balance: { failure: 'The trial balance could not be drawn up', movesMoney: false },
  create_key: { failure: 'The key could not be created', movesMoney: false },
  list_keys: { failure: 'The keys could not be listed', movesMoney: false },
  roll_key: { failure: 'The key could not be rolled', movesMoney: false },
  revoke_key: { failure: 'The key could not be revoked', movesMoney: false },
  inspect_error: { failure: 'The error could not be inspected', movesMoney: false },
  search_errors: { failure: 'The errors could not be searched', movesMoney: false },
  count_errors: { failure: 'The errors could not be counted', movesMoney: false },
  list_audit_entries: { failure: 'The audit log could not be listed', movesMoney: false },
  move_clock: { failure: 'The clock could not be moved', movesMoney: false },
  stop_database: { failure: 'The database could not be stopped', movesMoney: false },
  start_database: { failure: 'The database could not be started', movesMoney: false },
} as const satisfies Record<string, { failure: string; movesMoney: boolean }>;

/** The name of an operation. */
export type OperationId = keyof typeof OPERATIONS;

/** The operations in the order of the table above. */
export const OPERATION_IDS = Object.keys(OPERATIONS) as readonly OperationId[];
