import { type AuditEntryRecord, OPERATIONS } from '../../sdk/client.ts';
import { formatAmount } from './amounts.ts';
import type { IdKind } from './ids.ts';
import { formatNumber } from './operators/switch.ts';

export type Part =
  | string
  | { readonly id: string; readonly kind: IdKind; readonly programId: string | null }
  | { readonly moment: string };

type Entry = Pick<AuditEntryRecord, 'actor' | 'action' | 'program_id' | 'subject_id' | 'details'>;

type Describe = (entry: Entry) => readonly (Part | null)[];

/** Returns a function that describes an action: some words, followed by the subject of the entry. */
const subject =
  (words: string, kind: IdKind, rest = ''): Describe =>
  ({ subject_id: id, program_id: programId }) => [
    words,
    id === null ? null : { id, kind, programId },
    rest === '' ? null : rest,
  ];

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** Formats the amount in the details: `12.50 USD`. */
function money({ amount, currency }: Readonly<Record<string, unknown>>): string {
  return typeof amount === 'number' && typeof currency === 'string' ? formatAmount(amount, currency) : 'money';
}

const inWords = (name: string): string => name.replaceAll('_', ' ');

const TYPES: Readonly<Record<string, string>> = {
  load: 'loads',
  unload: 'unloads',
  card_to_card: 'transfers from card to card',
};

const moved =
  (words: string, preposition: string): Describe =>
  ({ details, program_id: id }) => [
    `${words} ${money(details)} ${preposition}`,
    id === null ? null : { id, kind: 'program', programId: id },
  ];

/** Describes what someone did with an approval, and what it is about: `approved apr_… (withdraw 250.00 USD from …)`. */
const approval =
  (words: string): Describe =>
  ({ subject_id: id, program_id: programId, details }) => [
    words,
    id === null ? null : { id, kind: 'approval', programId },
    text(details.summary) === undefined ? null : `(${String(details.summary)})`,
  ];

function describeEndedApproval({ subject_id: id, program_id: programId, details }: Entry): readonly (Part | null)[] {
  const how = `ended as ${inWords(String(details.status))}:`;
  return [how, id === null ? null : { id, kind: 'approval', programId }];
}

function describeSwitch({ details, program_id: programId }: Entry): readonly (Part | null)[] {
  const { disabled, type, reason, until, connector_id: connectorId } = details;
  const what = TYPES[String(type)] ?? 'all transfers';
  const where = text(connectorId) === undefined ? '' : ` at the connector ${String(connectorId)}`;
  return [
    `${disabled === true ? 'stopped' : 'restarted'} ${what}${where}${programId === null ? '' : ' for'}`,
    programId === null ? null : { id: programId, kind: 'program', programId },
    ...(text(until) === undefined ? [] : ['until', { moment: String(until) }]),
    text(reason) === undefined ? null : `: ${String(reason)}`,
  ];
}

function describeTransfer({ details, program_id: programId, subject_id: id }: Entry): readonly (Part | null)[] {
  const { type, card_id: cardId, destination_card_id: otherId } = details;
  const card = (value: unknown): Part | null =>
    typeof value === 'string' ? { id: value, kind: 'card', programId } : null;
  const transfer: Part | null = id === null ? null : { id, kind: 'transfer', programId };
  if (type === 'card_to_card') {
    return [`requested a transfer of ${money(details)} from`, card(cardId), 'to', card(otherId), ':', transfer];
  }
  const what = type === 'unload' ? `an unload of ${money(details)} from` : `a load of ${money(details)} to`;
  return [`requested ${what}`, card(cardId), ':', transfer];
}

function describeReversal({ details, program_id: programId }: Entry): readonly (Part | null)[] {
  const id = text(details.transfer_id);
  return [`reversed ${money(details)} of`, id === undefined ? null : { id, kind: 'transfer', programId }];
}

function describeCard(entry: Entry): readonly (Part | null)[] {
  const status = text(entry.details.status);
  return [
    ...subject('changed the card', 'card')(entry),
    status === undefined ? null : `, which is now ${inWords(status)}`,
  ];
}

function describeKey({ details, subject_id: id }: Entry): readonly (Part | null)[] {
  const role = text(details.role);
  return [
    'created the key',
    id === null ? null : { id, kind: 'key', programId: null },
    role === undefined ? null : `with the role ${role}`,
  ];
}

function describeSessionEnd({ actor, details }: Entry): readonly (Part | null)[] {
  const person = text(details.person_id);
  const owner = person ?? text(details.key_id);
  if (owner === undefined || owner === actor) return ['signed out'];
  return ['ended a session of', { id: owner, kind: person === undefined ? 'key' : 'person', programId: null }];
}

function describeClock({ details }: Entry): readonly (Part | null)[] {
  const now = text(details.now);
  return ['moved the sandbox clock', ...(now === undefined ? [] : ['to', { moment: now }])];
}

function describeRefusal({ details, subject_id: shown }: Entry): readonly (Part | null)[] {
  const { count, reason, address } = details;
  const times = typeof count === 'number' && count > 1 ? `${count.toLocaleString('en-US')} times ` : '';
  const what = shown === null ? 'a key' : `the key ${shown}`;
  const from = text(address);
  return [
    `was refused ${times}with ${what}`,
    text(reason) === undefined ? null : `: ${inWords(String(reason))}`,
    from === undefined ? null : `, from ${from}`,
  ];
}

function describeIncident(words: string): Describe {
  return (entry) => {
    const title = text(entry.details.title);
    return [...subject(words, 'incident')(entry), title === undefined ? null : `: ${title}`];
  };
}

function describeAttached(entry: Entry): readonly (Part | null)[] {
  const { case_ids: ids } = entry.details;
  const count = Array.isArray(ids) ? ids.length : 0;
  return subject(`attached ${formatNumber(count, 'case')} to the incident`, 'incident')(entry);
}

function describeResolution({ details, program_id: programId }: Entry): readonly (Part | null)[] {
  const { type, status, transfer_id: id } = details;
  const outcome = status === 'completed' ? 'carried out' : 'not carried out';
  const transfer: Part | null = typeof id === 'string' ? { id, kind: 'transfer', programId } : null;
  return [
    `resolved the ${type === 'unload' ? 'unload' : 'load'} of ${money(details)} as ${outcome}:`,
    transfer,
    noteOf(details),
  ];
}

function describeClosedBreak({ details, program_id: programId }: Entry): readonly (Part | null)[] {
  const { kind, connector_id: connector, transfer_id: id } = details;
  const transfer: readonly (Part | null)[] =
    typeof id === 'string' ? ['about', { id, kind: 'transfer', programId }] : [];
  const against = typeof details.booked_against === 'string' ? `, booked against the ${details.booked_against}` : null;
  return [`closed a break of ${String(connector)} (${inWords(String(kind))})`, ...transfer, against, noteOf(details)];
}

/** The note of an operator, to append to other parts. */
function noteOf({ note }: Readonly<Record<string, unknown>>): Part | null {
  const words = text(note);
  return words === undefined ? null : `: ${words}`;
}

/** The label of each action in the filter, and its description to follow the actor: "Maria …". */
const ACTION_TEXTS: Readonly<Record<string, readonly [label: string, describe: Describe]>> = {
  change_switch: ['Stop or restart transfers', describeSwitch],
  create_program: ['Create a program', subject('created the program', 'program')],
  update_program: ['Change a program', subject('changed the settings of', 'program')],
  create_deposit: ['Deposit', moved('deposited', 'for')],
  create_withdrawal: ['Withdraw', moved('withdrew', 'from')],
  create_key: ['Create a key', describeKey],
  roll_key: ['Roll a key', subject('rolled a key: the new one is', 'key')],
  revoke_key: ['Revoke a key', subject('revoked the key', 'key')],
  create_session: ['Sign in', () => ['signed in to the console']],
  sign_in: ['Sign in of a person', () => ['signed in to the console']],
  block_person: ['Block a person', subject('blocked', 'person')],
  unblock_person: ['Unblock a person', subject('unblocked', 'person')],
  erase_person: ['Erase a person', subject('erased the name of', 'person')],
  request_approval: ['Ask for an approval', approval('asked for the approval')],
  approve_change: ['Approve a request', approval('approved')],
  reject_change: ['Reject a request', approval('rejected')],
  withdraw_change: ['Withdraw a request', approval('withdrew')],
  end_approval: ['End of an approval', describeEndedApproval],
  change_approval_policy: ['Change the approval rules', () => ['changed the approval rules']],
  delete_session: ['Sign out', describeSessionEnd],
  revoke_session: ['End a session', describeSessionEnd],
  refuse_credential: ['Refused keys', describeRefusal],
  create_card: ['Create a card', subject('created the card', 'card')],
  update_card: ['Change a card', describeCard],
  erase_card_holder: ['Erase a holder', subject('erased the holder of the card', 'card')],
  create_transfer: ['Create a transfer', describeTransfer],
  capture_transfer: ['Capture a hold', subject('captured the hold of', 'transfer')],
  cancel_transfer: ['Cancel a transfer', subject('canceled', 'transfer')],
  reverse_transfer: ['Reverse a transfer', describeReversal],
  update_transfer: ['Change a transfer', subject('changed the details of', 'transfer')],
  resolve_attempt: ['Resolve an attempt', describeResolution],
  close_break: ['Close a break', describeClosedBreak],
  close_day: ['Close a day', subject('closed a day of', 'program')],
  create_move_in: ['Move cards in', subject('created the move-in', 'move-in')],
  add_move_in_lines: ['Move cards in', subject('moved cards in by the move-in', 'move-in')],
  undo_move_in: ['Undo a move-in', subject('undid the move-in', 'move-in')],
  create_comparison: ['Compare cards', subject('created the comparison', 'comparison')],
  add_compared_cards: ['Compare cards', subject('compared cards in the comparison', 'comparison')],
  cut_over: ['Cut a program over', subject('signed the report of the comparison', 'comparison')],
  create_settlement_file: ['Import a file', subject('began to import the settlement file', 'settlement file')],
  add_settlement_lines: ['Import lines', subject('added lines to the settlement file', 'settlement file')],
  withdraw_settlement_file: ['Withdraw a file', subject('withdrew the settlement file', 'settlement file')],
  inspect_request: ['Look up a request', subject('looked up the request', 'request')],
  inspect_error: ['Look up an error', subject('looked up the error of', 'request')],
  move_clock: ['Move the clock', describeClock],
  seed_sandbox: ['Set up the sandbox', () => ['set up the sandbox with its demo program']],
  create_webhook: ['Create a webhook', subject('created the webhook', 'webhook')],
  update_webhook: ['Change a webhook', subject('changed the webhook', 'webhook')],
  delete_webhook: ['Delete a webhook', subject('deleted the webhook', 'webhook')],
  roll_webhook_secret: ['Roll a secret', subject('rolled the secret of the webhook', 'webhook')],
  test_webhook: ['Test a webhook', subject('sent a test event to', 'webhook')],
  replay_webhook: ['Replay events', subject('replayed events to', 'webhook')],
  resend_event: ['Resend an event', subject('resent an event to', 'webhook')],
  create_case: ['Open a case', subject('opened the case', 'case')],
  reply_to_case: ['Write to support', subject('wrote in the case', 'case')],
  close_case: ['Close a case', subject('closed the case', 'case')],
  inspect_case: ['Look up a case', subject('looked up the case', 'case')],
  answer_case: ['Answer a case', subject('answered the case', 'case')],
  resolve_case: ['Resolve a case', subject('resolved the case', 'case')],
  answer_sandbox_case: ['Play support', subject('played support in the case', 'case')],
  create_incident: ['Open an incident', describeIncident('opened the incident')],
  update_incident: ['Change an incident', describeIncident('changed the incident')],
  attach_cases: ['Attach cases', describeAttached],
  resolve_incident: ['End an incident', describeIncident('ended the incident')],
};

/** The operator operations for webhooks of all programs are described in the same words. */
const nameOf = (action: string): string => action.replace('_operator_', '_');

export function hasDescription(action: string): boolean {
  return ACTION_TEXTS[nameOf(action)] !== undefined;
}

/** Describes what the actor of an entry did, to follow the actor's name: "stopped unloads for Lumen Gift Cards: OPS-311". */
export function describeEntry(entry: Entry): readonly Part[] {
  const [, describe] = ACTION_TEXTS[nameOf(entry.action)] ?? [];
  const parts = describe?.(entry) ?? [`did ${inWords(entry.action)}`, entry.subject_id];
  return parts.filter((part) => part !== null);
}

/** The options of the action filter, in the order that people look for them. */
export const ACTIONS: readonly (readonly [action: string, label: string])[] = [
  ...Object.entries(ACTION_TEXTS).map(([action, [label]]) => [action, label] as const),
  ...Object.keys(OPERATIONS)
    .filter((id) => nameOf(id) !== id && hasDescription(id))
    .map((id) => [id, `${ACTION_TEXTS[nameOf(id)]?.[0]}, any program`] as const),
];
