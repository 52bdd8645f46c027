import type { MoneyMoved } from '../../../domain/refusal.ts';
import type { CaseStatus, Outcome, Severity, Side } from '../../../domain/support/case.ts';
import type { CardErasure } from '../cards/card-erasure.ts';
import type { Row, Statement } from '../connection/database.ts';
import { NAMED_TRANSFER } from '../ledger/account.ts';
import {
  columns,
  DATE,
  INTEGER,
  insertRow,
  json,
  many,
  nullable,
  type RowOf,
  SMALLINT,
  statement,
  statementOfRows,
  statementVariants,
  TEXT,
  UUID,
  word,
} from '../sql.ts';

const CASE = columns({
  caseId: UUID,
  programId: UUID,
  status: word<CaseStatus>(),
  severity: word<Severity>(),
  /** The case's position in the queue. See `urgencyOf`. */
  urgency: SMALLINT,
  requestId: nullable(UUID),
  transferId: nullable(UUID),
  operation: nullable(TEXT),
  code: nullable(TEXT),
  type: nullable(TEXT),
  moneyMoved: nullable(word<MoneyMoved>()),
  incidentId: nullable(UUID),
  messageCount: SMALLINT,
  lastMessageId: nullable(UUID),
  lastMessageSide: nullable(word<Side>()),
  lastExternalId: nullable(TEXT),
  outcome: nullable(word<Outcome>()),
  createdBy: TEXT,
  createdAt: DATE,
  updatedAt: DATE,
  firstResponseAt: nullable(DATE),
  resolvedAt: nullable(DATE),
  closedAt: nullable(DATE),
});

/** A case without its free text. */
export type SupportCase = RowOf<typeof CASE.columns>;

const QUEUED = columns({ ...CASE.columns, summary: nullable(TEXT) });

export type QueuedCase = RowOf<typeof QUEUED.columns>;

const WHOLE = columns({
  ...QUEUED.columns,
  text: nullable(TEXT),
  contact: nullable(TEXT),
  resolution: nullable(TEXT),
  /** The known facts about the case's request or transfer, as support sees them. Null after they were erased. */
  snapshot: nullable(json<object>('json')),
});

/** A case with its free text, but without its messages. */
export type WholeCase = RowOf<typeof WHOLE.columns>;

const NEW = columns({
  ...WHOLE.columns,
  /** The cards that the request or the transfer names. If the holder of one of them is erased, the free text is also erased. */
  cardNames: many(TEXT),
});

export const insertCase = insertRow('insert_case', 'support_case', NEW);

const ONE = { caseId: UUID, programId: nullable(UUID) } as const;
const IS_ONE = 'case_id = :caseId and (:programId::uuid is null or program_id = :programId)';

const LOCK_CASE = statement('lock_case', ONE, `select from support_case where ${IS_ONE} for no key update`);

/**
 * Locks a case against other changes. If a program is given, the case must belong to it. A later statement must read its values.
 */
export function lockCase(caseId: string, programId: string | null): Statement {
  return LOCK_CASE({ caseId, programId });
}

const READ_CASE = statement('read_case', ONE, `select ${WHOLE.names} from support_case where ${IS_ONE}`);

/** Reads a case. If a program is given, the case must belong to it. */
export function readCase(caseId: string, programId: string | null): Statement {
  return READ_CASE({ caseId, programId });
}

export const toWholeCase: (row: Row) => WholeCase = WHOLE.read;

export const toQueuedCase: (row: Row) => QueuedCase = QUEUED.read;

export const toCase: (row: Row) => SupportCase = CASE.read;

export const readCaseOfRequest = statement(
  'read_case_of_request',
  { programId: UUID, requestId: UUID },
  `select ${CASE.names} from support_case
    where program_id = :programId and request_id = :requestId and status in ('open', 'waiting')
    order by case_id desc limit 1`,
);

/** Locks these cards against an erasure of their holders until the end of the transaction. */
export const shareCards = statement(
  'share_cards',
  { programId: UUID, names: many(TEXT) },
  'select from card where program_id = :programId and name = any (:names) order by card_id for share',
);

const CHANGED = CASE.pick(
  'caseId',
  'status',
  'incidentId',
  'messageCount',
  'lastMessageId',
  'lastMessageSide',
  'lastExternalId',
  'outcome',
  'updatedAt',
  'firstResponseAt',
  'resolvedAt',
  'closedAt',
);

/** Updates all changeable columns of locked cases, except the free text. */
export const updateCases: (changed: readonly SupportCase[]) => Statement = statementOfRows(
  'update_cases',
  CHANGED,
  `update support_case set status = sent.status, incident_id = sent.incident_id, message_count = sent.message_count,
      last_message_id = sent.last_message_id, last_message_side = sent.last_message_side,
      last_external_id = sent.last_external_id, outcome = sent.outcome, updated_at = sent.updated_at,
      first_response_at = sent.first_response_at, resolved_at = sent.resolved_at, closed_at = sent.closed_at
    from :sent where support_case.case_id = sent.case_id`,
);

/** Stores the findings and the resolution of locked cases. */
export const writeResolution = statement(
  'write_case_resolution',
  { caseIds: many(UUID), resolution: nullable(TEXT) },
  `update support_case set resolution = :resolution, has_texts = has_texts or :resolution::text is not null
    where case_id = any (:caseIds)`,
);

const MESSAGE = columns({
  caseId: UUID,
  /** The message's number in its case: 1, 2, 3 and so on. */
  place: SMALLINT,
  messageId: UUID,
  programId: UUID,
  side: word<Side>(),
  author: nullable(TEXT),
  text: nullable(TEXT),
  externalAuthor: nullable(TEXT),
  externalId: nullable(TEXT),
  createdAt: DATE,
});

export type CaseMessage = RowOf<typeof MESSAGE.columns>;

/** Inserts a message. Its case must be locked. */
export const insertMessage = insertRow('insert_case_message', 'case_message', MESSAGE);

const HAS_TEXTS = statement(
  'note_texts_of_case',
  { caseId: UUID },
  'update support_case set has_texts = true where case_id = :caseId and not has_texts',
);

/** Notes that a locked case has free text again, so that it will be removed later. */
export function noteTexts(caseId: string): Statement {
  return HAS_TEXTS({ caseId });
}

export const readMessages = statement(
  'read_case_messages',
  { caseId: UUID },
  `select ${MESSAGE.names} from case_message where case_id = :caseId order by place`,
);

/** Reads the message in a case that has this id in an external system. */
export const readExternalMessage = statement(
  'read_external_message',
  { caseId: UUID, externalId: TEXT },
  `select ${MESSAGE.names} from case_message where case_id = :caseId and external_id = :externalId`,
);

export const toMessage: (row: Row) => CaseMessage = MESSAGE.read;

const LIST_CASES = statementVariants({
  programId: nullable(UUID),
  status: nullable(word<CaseStatus>()),
  requestId: nullable(UUID),
  code: nullable(TEXT),
  incidentId: nullable(UUID),
  after: nullable(UUID),
  count: INTEGER,
});

/** The conditions of a list of cases. Null means no condition. */
export type CaseFilter = {
  readonly programId: string | null;
  readonly status: CaseStatus | null;
  readonly requestId: string | null;
  readonly code: string | null;
  readonly incidentId: string | null;
};

const CONDITIONS: readonly (readonly [name: keyof CaseFilter, condition: string])[] = [
  ['programId', 'program_id = :programId'],
  ['status', 'status = :status'],
  ['requestId', 'request_id = :requestId'],
  ['code', 'code = :code'],
  ['incidentId', 'incident_id = :incidentId'],
];

/** Reads a page of the cases of a program, newest first, after the case `after`. */
export function listCases(
  filter: { readonly programId: string; readonly status: CaseStatus | null; readonly requestId: string | null },
  after: string | null,
  count: number,
): Statement {
  return listStatement('list_cases', { ...filter, code: null, incidentId: null }, after, count);
}

/** Reads a page of cases after the case `after`. The most urgent cases come first, then the oldest. */
export function searchCases(filter: Omit<CaseFilter, 'requestId'>, after: string | null, count: number): Statement {
  return listStatement('search_cases', { ...filter, requestId: null }, after, count);
}

function listStatement(
  verb: 'list_cases' | 'search_cases',
  filter: CaseFilter,
  after: string | null,
  count: number,
): Statement {
  const used = CONDITIONS.filter(([name]) => filter[name] !== null);
  const isQueue = verb === 'search_cases';
  const name = [verb, ...used.map(([one]) => one), ...(after === null ? [] : ['after'])].join('_by_');
  const text = (): string => {
    const from = isQueue
      ? '(urgency, case_id) > (select urgency, case_id from support_case where case_id = :after)'
      : 'case_id < :after';
    const conditions = [...used.map(([, condition]) => condition), ...(after === null ? [] : [from])];
    const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
    return `select ${isQueue ? QUEUED.names : CASE.names} from support_case ${where}
      order by ${isQueue ? 'urgency, case_id' : 'case_id desc'} limit :count`;
  };
  return LIST_CASES(name, text, { ...filter, after, count });
}

export const findCase = statement('find_case', { caseId: UUID }, 'select from support_case where case_id = :caseId');

export const readSimilarCases = statement(
  'read_similar_cases',
  { code: TEXT, caseId: UUID, count: INTEGER },
  `select ${CASE.names} from support_case where code = :code and case_id <> :caseId order by case_id desc limit :count`,
);

/** Locks cases in the order of their ids. A later statement must read their values. */
export const lockCases = statement(
  'lock_cases',
  { caseIds: many(UUID) },
  'select from support_case where case_id = any (:caseIds) order by case_id for no key update',
);

export const readCases = statement(
  'read_cases',
  { caseIds: many(UUID) },
  `select ${CASE.names} from support_case where case_id = any (:caseIds) order by case_id`,
);

/** SQL: the last case that was resolved with the incident. */
const SETTLED = `coalesce(
    (select settled_up_to from incident where incident.incident_id = :incidentId),
    '00000000-0000-0000-0000-000000000000'
  )`;

/** Locks and reads the next unresolved cases of a resolved incident, in the order of their ids. */
export const lockUnresolvedCases = statement(
  'lock_unresolved_cases',
  { incidentId: UUID, count: INTEGER },
  `select ${CASE.names} from support_case
    where incident_id = :incidentId and status in ('open', 'waiting') and case_id > ${SETTLED}
    order by case_id limit :count for no key update`,
);

const CLOSE_RESOLVED_CASES = statement(
  'close_resolved_cases',
  { days: INTEGER, count: INTEGER },
  `with old as (
      select case_id from support_case
      where status = 'resolved' and resolved_at < service_now() - make_interval(days => :days)
      order by resolved_at limit :count
      for update skip locked
    ), done as (
      update support_case set status = 'closed', closed_at = service_now(), updated_at = service_now()
      where case_id in (select case_id from old) returning 1
    )
    select count(*) as forgotten from done`,
);

/** Closes at most `count` cases that were resolved `days` days ago or earlier. Returns their number as `forgotten`. */
export function closeResolvedCases(days: number, count: number): Statement {
  return CLOSE_RESOLVED_CASES({ days, count });
}

export const readCardsOfTransfers = statementOfRows(
  'read_cards_of_transfers',
  NAMED_TRANSFER,
  `select name from card where (program_id, card_id) in (
      select program_id, unnest(array[card_id, destination_card_id]) from :sent join transfer using (program_id, transfer_id)
    )`,
);

const FORGET_TEXTS = statement(
  'forget_texts_of_cases',
  { days: INTEGER, count: INTEGER },
  `with old as (
      select case_id from support_case
      where status = 'closed' and has_texts and closed_at < service_now() - make_interval(days => :days)
      order by closed_at limit :count
      for update skip locked
    ), texts as (
      update case_message set text = null, author = null, external_author = null
      where case_id in (select case_id from old)
    ), done as (
      update support_case
      set text = null, contact = null, resolution = null, summary = null, snapshot = null, has_texts = false
      where case_id in (select case_id from old) returning 1
    )
    select count(*) as forgotten from done`,
);

/**
 * Removes the free text of at most `count` cases that were closed `days` days ago or earlier. Returns their number as
 * `forgotten`.
 */
export function forgetTextsOfCases(days: number, count: number): Statement {
  return FORGET_TEXTS({ days, count });
}

const ERASE_TEXTS = statement(
  'erase_texts_of_cases',
  { programId: UUID, cardId: UUID, requestedAt: DATE, after: nullable(UUID), count: INTEGER },
  `with gone_through as materialized (
      select case_id from support_case
      where program_id = :programId and case_id > coalesce(:after::uuid, '00000000-0000-0000-0000-000000000000')
      order by case_id limit :count
    ), about as materialized (
      select support_case.case_id from support_case join card_erasure
        on card_erasure.program_id = support_case.program_id and card_erasure.card_id = :cardId
      where support_case.program_id = :programId and case_id in (select case_id from gone_through) and has_texts
        and is_case_about_card(support_case, card_erasure)
      order by case_id for no key update of support_case
    ), messages as (
      update case_message set text = null, author = null, external_author = null
      where case_id in (select case_id from about) and created_at <= :requestedAt
    ), erased as (
      update support_case set summary = null, snapshot = null,
        text = case when created_at > :requestedAt then text end,
        contact = case when created_at > :requestedAt then contact end,
        resolution = case when resolved_at > :requestedAt then resolution end
      where case_id in (select case_id from about)
    )
    select (select case_id from gone_through order by case_id desc limit 1) as last_case_id`,
);

/**
 * Removes the free text of cases about a card whose holder was erased, among the next `count` cases of a program. See {@link
 * toLastCase}. Text that was written after the request to erase is kept.
 */
export function eraseTextsOfCases(erasure: CardErasure, count: number): Statement {
  const { programId, cardId, requestedAt, cursor: after } = erasure;
  return ERASE_TEXTS({ programId, cardId, requestedAt, after, count });
}

export function toLastCase([row]: readonly Row[]): string | null {
  return (row?.last_case_id as string | null | undefined) ?? null;
}
