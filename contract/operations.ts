import type { Static, TObject } from 'typebox';
import type { SharedCode } from '../domain/error-codes.ts';
import { ACCESS } from './access.ts';
import { APPROVALS } from './approvals.ts';
import { AUDIT } from './audit.ts';
import { CARDS } from './cards.ts';
import { COMPARISONS } from './comparisons.ts';
import { DAYS } from './days.ts';
import { ERROR_LOG } from './error-log.ts';
import { codesInOrder } from './errors/precedence.ts';
import { EVENTS } from './events.ts';
import { KEYS } from './keys.ts';
import { SEARCH } from './look-up/search.ts';
import { TIMELINE } from './look-up/timeline.ts';
import { MOVE_INS } from './move-ins.ts';
import type { Operation } from './operation.ts';
import { PEOPLE } from './people.ts';
import { ATTEMPTS } from './processors/attempts.ts';
import { BREAKS } from './processors/breaks.ts';
import { CONNECTORS } from './processors/connectors.ts';
import { SETTLEMENT_FILES } from './processors/settlement-files.ts';
import { PROGRAMS } from './programs.ts';
import { SANDBOX } from './sandbox/operations.ts';
import { OVERVIEW } from './service/overview.ts';
import { REQUESTS } from './service/requests.ts';
import { STATUS } from './service/status.ts';
import { SWITCH } from './service/switch.ts';
import { SESSIONS } from './sessions.ts';
import { CASES } from './support/cases.ts';
import { INCIDENTS } from './support/incidents.ts';
import { TRANSFER_ACTIONS } from './transfer-actions.ts';
import { TRANSFERS } from './transfers.ts';
import { WEBHOOKS } from './webhooks/operations.ts';

const DEFINITIONS = [
  ...TRANSFERS,
  ...TRANSFER_ACTIONS,
  ...TIMELINE,
  ...CARDS,
  ...ATTEMPTS,
  ...CONNECTORS,
  ...BREAKS,
  ...SETTLEMENT_FILES,
  ...EVENTS,
  ...WEBHOOKS,
  ...ERROR_LOG,
  ...REQUESTS,
  ...CASES,
  ...INCIDENTS,
  ...SEARCH,
  ...PROGRAMS,
  ...DAYS,
  ...MOVE_INS,
  ...COMPARISONS,
  ...KEYS,
  ...SESSIONS,
  ...PEOPLE,
  ...ACCESS,
  ...APPROVALS,
  ...SWITCH,
  ...STATUS,
  ...OVERVIEW,
  ...AUDIT,
  ...SANDBOX,
] as const;

type Definition = (typeof DEFINITIONS)[number];

/** The id of an operation. */
export type OperationId = Definition['id'];

type Table = { readonly [Id in OperationId]: Extract<Definition, { readonly id: Id }> };

export const OPERATIONS = Object.fromEntries(DEFINITIONS.map((one) => [one.id, one])) as unknown as Table;

/** The ids of the operations, in the order of the reference. */
export const OPERATION_IDS: readonly OperationId[] = DEFINITIONS.map(({ id }) => id);

/** Every error code: the shared ones, and two for each operation. */
export type ErrorCode = SharedCode | `${OperationId}_schema` | `unknown_${OperationId}`;

/** Operations that the reference shows together. */
export type Section = {
  readonly title: string;
  readonly description: string;
  readonly operations: readonly OperationId[];
};

const section = (title: string, description: string, of: readonly Definition[]): Section => ({
  title,
  description,
  operations: of.map(({ id }) => id),
});

export const SECTIONS: readonly Section[] = [
  section(
    'Transfers',
    'Move money to, from and between cards: at once, on a schedule, or as a hold that is captured later. Reverse transfers and look them up.',
    [...TRANSFERS, ...TRANSFER_ACTIONS, ...TIMELINE],
  ),
  section('Cards', 'Create cards, change their status and limits, read their balances and statements.', CARDS),
  section(
    'Processors',
    'See the answers of card processors, resolve unknown outcomes, and settle contradictions with the books.',
    [...ATTEMPTS, ...CONNECTORS, ...BREAKS, ...SETTLEMENT_FILES],
  ),
  section('Events', 'Learn what happened: list events, wait for the next one, or stream them.', EVENTS),
  section(
    'Webhooks',
    'Have events sent to a URL, signed and retried until they are delivered. See what was sent, and send it again.',
    WEBHOOKS,
  ),
  section('Errors', 'Look up error responses, and what a request did.', [...ERROR_LOG, ...REQUESTS]),
  section(
    'Cases and incidents',
    'Contact support about a request with one call, and learn when it is resolved. Answer cases, and resolve many at once with an incident.',
    [...CASES, ...INCIDENTS],
  ),
  section('Search everything', "Find anything in all card programs. Requires an operator's key.", SEARCH),
  section(
    'Card programs',
    "Manage card programs, their funding and limits, and close their days. Requires an operator's key.",
    [...PROGRAMS, ...DAYS],
  ),
  section(
    'Move-ins',
    "Move cards in from another ledger, compare them with its balance files, and cut over. Requires an operator's key.",
    [...MOVE_INS, ...COMPARISONS],
  ),
  section('API keys', "Create, roll and revoke keys. Requires an operator's key.", KEYS),
  section('Sessions', 'Find out who is calling, and sign in to the console with a key.', SESSIONS),
  section(
    'People',
    "See who has signed in and who can move money, and block or erase people. Requires an operator's key.",
    [...PEOPLE, ...ACCESS],
  ),
  section(
    'Approvals',
    "Have a second person approve operators' requests, by rules that you set. Requires an operator's key.",
    APPROVALS,
  ),
  section('Switch', "Disable and enable transfers. Requires an operator's key.", SWITCH),
  section('Status', "See the state of the service and its problems. Requires an operator's key.", [
    ...STATUS,
    ...OVERVIEW,
  ]),
  section('Audit log', "Read what operators did. Requires an operator's key.", AUDIT),
  section('Sandbox', 'Only in the sandbox: cause failures and move the clock.', SANDBOX),
];

const precedences = new Map<OperationId, readonly ErrorCode[]>();

/** Every error code of an operation in order of precedence: the first that applies is returned. See `STEPS`. */
export function precedenceOf(id: OperationId): readonly ErrorCode[] {
  const known = precedences.get(id) ?? (codesInOrder(OPERATIONS[id]) as readonly ErrorCode[]);
  precedences.set(id, known);
  return known;
}

/**
 * The fields of a record that its PATCH cannot change. These are all fields that its reply or the GET of its path shows, or that
 * the request to create the record accepts, except the fields of its body. Empty for other methods.
 */
export function unchangeableFields(id: OperationId): readonly string[] {
  const { method, path, body }: Operation = OPERATIONS[id];
  if (method !== 'PATCH') return [];
  const all: readonly Operation[] = DEFINITIONS;
  const shown = all.filter((one) => one.path === path).map(({ reply }) => reply);
  const taken = all.filter(({ location }) => location === path).map((one) => one.body);
  const names = [...shown, ...taken].flatMap((schema) => Object.keys(Object(schema).properties ?? {}));
  return [...new Set(names)].filter((name) => !Object.hasOwn(body?.properties ?? {}, name));
}

/** An operation that can move money. */
export type MoneyOperationId = Extract<Definition, { readonly movesMoney: true }>['id'];

/** Whether the operation can move money. */
export function movesMoney(id: OperationId): boolean {
  return OPERATIONS[id].movesMoney;
}

/** Whether every response of the operation has `Money-Moved`: it can move money, or is a dry run. */
export function saysIfMoneyMoved(id: OperationId): boolean {
  return OPERATIONS[id].movesMoney || OPERATIONS[id].dryRun;
}

/** The path parameters of an operation. */
export type ParamsOf<Id extends OperationId> = Static<Table[Id]['params']>;
/** The query of an operation after reading; undefined if it has none. */
export type QueryOf<Id extends OperationId> = Table[Id]['query'] extends TObject
  ? Static<Table[Id]['query']>
  : undefined;
/** The body of an operation after reading; undefined if it has none. Amounts are not read yet. */
export type BodyOf<Id extends OperationId> = Table[Id]['body'] extends TObject ? Static<Table[Id]['body']> : undefined;
/** The reply of an operation on the wire; for an export, one line. */
export type ReplyOf<Id extends OperationId> = Static<Table[Id]['reply']>;
