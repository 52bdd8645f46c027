import type { OperationId } from '../contract/operations.ts';

/** The method of the client that calls each operation. A new operation needs one line here, and nothing else by hand. */
export const METHODS: Readonly<Record<OperationId, `${Resource}.${string}`>> = {
  create_transfer: 'transfers.create',
  get_transfer: 'transfers.get',
  list_transfers: 'transfers.list',
  explain_transfer: 'transfers.explain',
  create_transfer_batch: 'transfers.createBatch',
  capture_transfer: 'transfers.capture',
  cancel_transfer: 'transfers.cancel',
  reverse_transfer: 'transfers.reverse',
  update_transfer: 'transfers.update',
  export_transfers: 'transfers.export',
  list_reversals: 'transfers.reversals',
  get_reversal: 'transfers.reversal',
  create_card: 'cards.create',
  get_card: 'cards.get',
  list_cards: 'cards.list',
  update_card: 'cards.update',
  get_card_limits: 'cards.limits',
  list_postings: 'cards.postings',
  export_postings: 'cards.exportPostings',
  get_error: 'errors.get',
  list_errors: 'errors.list',
  inspect_error: 'errors.inspect',
  search_errors: 'errors.search',
  count_errors: 'errors.count',
  create_program: 'programs.create',
  get_program: 'programs.get',
  update_program: 'programs.update',
  list_programs: 'programs.list',
  create_deposit: 'deposits.create',
  create_withdrawal: 'withdrawals.create',
  get_switch: 'switch.get',
  change_switch: 'switch.change',
  get_trial_balance: 'trialBalance.get',
  create_key: 'keys.create',
  list_keys: 'keys.list',
  roll_key: 'keys.roll',
  revoke_key: 'keys.revoke',
  list_audit_entries: 'audit.list',
  move_clock: 'sandbox.moveClock',
  stop_database: 'sandbox.stopDatabase',
  start_database: 'sandbox.startDatabase',
};

/** The resources of the client, in order, and what each is for. */
export const RESOURCES = {
  transfers: 'Transfers: loads, unloads and card-to-card transfers, with their holds and reversals.',
  cards: 'Cards, their balances, limits and statements.',
  programs: 'Card programs; for operators.',
  deposits: "Money paid into a card program's funding account; for operators.",
  withdrawals: "Money taken out of a card program's funding account; for operators.",
  switch: 'The switch that disables transfers, in full or in part (specification, section 4, rule 3); for operators.',
  trialBalance: 'The trial balance of the ledger; for operators.',
  keys: 'API keys; for operators.',
  audit: 'The audit log; for operators.',
  errors: 'The error log: every error response, available by request id within a second.',
  sandbox: 'Controls that only a sandbox has: stop its database, and move its clock.',
} as const;

/** The name of a resource. */
export type Resource = keyof typeof RESOURCES;
