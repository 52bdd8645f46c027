import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ATTEMPT_STATUSES } from '../../domain/processors/attempt.ts';
import { DEMO_PROGRAM_ID as PROGRAM } from '../../domain/sandbox.ts';
import { TRANSFER_STATUSES, TRANSFER_TYPES } from '../../domain/transfers/transfer.ts';
import { lowestIdAt } from '../../server/foundation/ids.ts';
import {
  exportAuditEntries,
  findAuditEntries,
  findAuditEntry,
  listAuditEntries,
  READ_LAST_POSITION,
  readAuditChain,
} from '../../server/store/audit.ts';
import {
  deleteCardMetadata,
  readAccountsOfCard,
  readCardDetails,
  readCards,
  readCardsOfTransfers,
} from '../../server/store/card.ts';
import { readErasuresOfTransfers } from '../../server/store/cards/card-erasure.ts';
import {
  type CardFilter,
  EVERY_CARD,
  findListedCard,
  isCardFiltered,
  listCards,
} from '../../server/store/cards/card-list.ts';
import type { Statement } from '../../server/store/connection/database.ts';
import { WRITER_SETTINGS } from '../../server/store/connection/session-settings.ts';
import { forgetBodies, forgetRefusedKeys, readStoredResponses } from '../../server/store/idempotency.ts';
import { findKeys, listKeys } from '../../server/store/key.ts';
import { lockAccounts, readFundingAccount, updateAccounts } from '../../server/store/ledger/account.ts';
import { readAccountsOfDay, readDayBounds } from '../../server/store/ledger/day.ts';
import {
  EVERY_MOVEMENT,
  exportFundingMovements,
  listFundingMovements,
  readMovementReference,
  searchFundingMovements,
} from '../../server/store/ledger/funding.ts';
import { forgetCounters, insertCounters, updateCounters } from '../../server/store/ledger/limits.ts';
import { readStatement, readStatementLines } from '../../server/store/ledger/statement.ts';
import { readCardAt, readFundingAt } from '../../server/store/ledger/trial-balance.ts';
import { listProcesses } from '../../server/store/overview/service-process.ts';
import { countOrders, countScheduled } from '../../server/store/overview/switch-preview.ts';
import { readTransferCounts } from '../../server/store/overview/transfer-count.ts';
import { listBreaks, readBreak } from '../../server/store/processors/break.ts';
import {
  type AttemptFilter,
  searchAttempts,
  searchUnsettledAttempts,
} from '../../server/store/processors/read-attempts.ts';
import { lockBatchOrders } from '../../server/store/processors/settlement-file.ts';
import { listPrograms, readProgram, readProgramRules } from '../../server/store/program.ts';
import { findCreated, findEvents, readClockMoves } from '../../server/store/requests/find-request.ts';
import {
  findCardsByHolder,
  findCardsById,
  findCardsByLastFour,
  findCardsByName,
  findCardsByPartOfHolder,
} from '../../server/store/search/find-cards.ts';
import { findKeyUses, findMovementsByReference, findReversals } from '../../server/store/search/find-others.ts';
import {
  findTransfersByAmount,
  findTransfersById,
  findTransfersByReference,
} from '../../server/store/search/find-transfers.ts';
import {
  deleteHolds,
  deleteMetadata,
  findDueTransfers,
  findExpiredHolds,
  listReversals,
  readReferences,
  readReversal,
  readTransfer,
  readTransfersForChange,
  updateTransfers,
  writeMetadata,
} from '../../server/store/transfers/transfer.ts';
import { isFiltered, listTransfers, readNewestTransfer } from '../../server/store/transfers/transfer-list.ts';
import { NO_FILTER, type TransferFilter } from '../../server/store/transfers/transfer-route.ts';
import { connect } from '../harness/ledger.ts';
import { useConnection, useServer } from '../harness/use-ledger.ts';
import { fill } from './fill.ts';
import { endlessReads, forbiddenReads, halfProbes, type Plan, wholeReads } from './plan.ts';

const server = await useServer();
const client = await useConnection(server.connection);
/** A connection of a program. Every plan on it contains the row-level policies for that program. */
let reader: pg.Client;

beforeAll(async () => {
  await fill(client);
  reader = await connect(asProgram());
});

afterAll(async () => {
  await reader.end();
});

function asProgram(): pg.ClientConfig {
  const options = `-c role=transfer_service_application -c service.programs={${PROGRAM}}`;
  return { ...server.connection, options };
}

function asAuthentication(): pg.ClientConfig {
  return { ...server.connection, options: '-c role=transfer_service_authentication' };
}

const cards = Array.from({ length: 3 }, () => ({ programId: PROGRAM, name: 'card_active', withFunding: true }));
const after = randomUUID();
const transfer = { programId: PROGRAM, transferId: after };
const always = { from: null, to: null };
const lastHour = { from: new Date(Date.now() - 3_600_000), to: new Date() };
const lastDay = { beginsAt: Date.now() - 86_400_000, endsAt: Date.now() };

/** The period of a request, in the middle of the stored rows. */
const WITHIN_SECONDS = { from: new Date(Date.now() - 607_000), to: new Date(Date.now() - 600_000) };

const OF_REQUEST = { requestId: after, subjects: ['tr_x'] };

const MOVEMENT_PAIR = { reference: null, metadata: { name: 'shop', value: '7' } };

const EVERY_BREAK = { isClosed: false, kind: null, connectorId: null, programId: null, file: null };

const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

const AUDIT_CHUNK = { after: 1n, until: 50_000n, count: 1000, maxExamined: 5000 };

const NO_ACTION = { action: null, actor: null, programId: null, from: null, to: null };

/** A program's reads outside transactions. PostgreSQL plans them for these values. */
const READS: readonly (readonly [string, Statement])[] = [
  ['get_transfer', readTransfer(PROGRAM, after)],
  ['the newest transfer', readNewestTransfer(PROGRAM)],
  ['list_reversals', listReversals(transfer, null, 20)],
  ['list_reversals, a later page', listReversals(transfer, after, 20)],
  ['get_reversal', readReversal(PROGRAM, after)],
  ['get_card', readCardDetails(PROGRAM, 'card_active')],
  ['the card of a cursor', findListedCard({ programId: PROGRAM, cardId: after })],
  ['the accounts of a card', readAccountsOfCard(PROGRAM, 'card_active')],
  ['list_postings', readStatement(PROGRAM, 'card_active', always, { count: 20, upTo: null, below: null })],
  ['list_postings of a time', readStatement(PROGRAM, 'card_active', lastHour, { count: 20, upTo: null, below: null })],
  ['list_postings, a later page', readStatement(PROGRAM, 'card_active', always, { count: 20, upTo: 99n, below: 50n })],
  ['export_postings', readStatementLines(PROGRAM, after, 0n, 1000n)],
  ['get_program', readProgram(PROGRAM)],
  ['get_card, as of an instant', readCardAt(PROGRAM, 'card_active', Date.now())],
  ['get_program, as of an instant', readFundingAt(PROGRAM, Date.now())],
  ['the funding account', readFundingAccount(PROGRAM, 'USD')],
];

const programs = [PROGRAM, randomUUID()];
const within = { ...always, cardIds: [], amounts: [{ amount: 7, currencies: ['USD', 'EUR'] }] };

/** A search's reads, by the kind of value. */
const SEARCHES: readonly (readonly [string, Statement])[] = [
  ['transfers by id', findTransfersById(programs, [after], 6)],
  ['transfers by reference', findTransfersByReference(programs, 'filled 7', 6)],
  ['transfers by amount', findTransfersByAmount(programs, within, 5000, 6)],
  ['transfers by amount and time', findTransfersByAmount(programs, { ...within, ...lastHour }, 5000, 6)],
  ['transfers of cards by amount', findTransfersByAmount(programs, { ...within, cardIds: [after] }, 5000, 6)],
  ['cards by name', findCardsByName(programs, 'filled_0', 6)],
  ['cards by digits', findCardsByLastFour(programs, '0042', 6)],
  ['cards by holder', findCardsByHolder(programs, 'holder 7', 6)],
  ['cards by part of the holder', findCardsByPartOfHolder(programs, 'older 7', 500, 6)],
  ['cards by id', findCardsById(programs, [after], 6)],
  ['reversals', findReversals(programs, [after], 6)],
  ['deposits by reference', findMovementsByReference(programs, 'bank 7', 6)],
  ['uses of a key', findKeyUses(programs, ['create_transfer', 'create_card'], 'key 7', 6)],
];

/** Reads by operators and loops over all programs. */
const READS_OF_ALL: readonly (readonly [string, Statement])[] = [
  ['list_programs', listPrograms(null, null, 20)],
  ['list_keys', listKeys(null, null, 20)],
  ['list_audit_entries', listAuditEntries(NO_ACTION, null, 20)],
  ['list_audit_entries, a later page', listAuditEntries(NO_ACTION, after, 20)],
  ['list_audit_entries of an action', listAuditEntries({ ...NO_ACTION, action: 'move_clock' }, null, 20)],
  ['list_audit_entries of an actor', listAuditEntries({ ...NO_ACTION, actor: 'host' }, null, 20)],
  ['list_audit_entries of a program', listAuditEntries({ ...NO_ACTION, programId: PROGRAM }, null, 20)],
  ['list_audit_entries of a time', listAuditEntries({ ...NO_ACTION, ...lastHour }, null, 20)],
  ['export_audit_entries', exportAuditEntries(NO_ACTION, AUDIT_CHUNK)],
  ['export_audit_entries of an action', exportAuditEntries({ ...NO_ACTION, action: 'move_clock' }, AUDIT_CHUNK)],
  ['the last entry of the audit log', READ_LAST_POSITION],
  ['the entry of a cursor', findAuditEntry({ entryId: after })],
  ['the chain of the audit log', readAuditChain(1n, 1000)],
  ['the transfers of a day', readTransferCounts(lastHour.from, { programId: null, type: null })],
  ['the transfers of a day in a program', readTransferCounts(lastHour.from, { programId: PROGRAM, type: 'load' })],
  ['the processes', listProcesses(100)],
  ['the scheduled transfers', countScheduled({ programId: null, type: 'load', connectorId: null })],
  ['the scheduled transfers of a program', countScheduled({ programId: PROGRAM, type: null, connectorId: 'increase' })],
  [
    'the orders to a connector',
    countOrders({ programId: null, type: 'load', connectorId: 'increase' }, lowestIdAt(lastHour.from), after),
  ],
  ['the records of a request', findCreated(after, null, WITHIN_SECONDS, 20)],
  ['the records of a request in a program', findCreated(after, PROGRAM, WITHIN_SECONDS, 20)],
  ['the events of a request', findEvents({ ...OF_REQUEST, programId: null }, WITHIN_SECONDS, 0, 20)],
  ['the events of a request in a program', findEvents({ ...OF_REQUEST, programId: PROGRAM }, WITHIN_SECONDS, 0, 20)],
  ['the audit entries of a request', findAuditEntries(after, WITHIN_SECONDS.from, WITHIN_SECONDS.to, 20)],
  ['moves of the clock', readClockMoves(WITHIN_SECONDS)],
  ['list_programs by metadata', listPrograms({ name: 'shop', value: '7' }, null, 20)],
  ['get_day', readDayBounds({ programId: PROGRAM, timeZone: 'UTC', day: null })],
  ['get_day, its accounts', readAccountsOfDay({ programId: PROGRAM, ...lastDay })],
  ['get_break', readBreak({ breakId: after })],
  [
    'search_attempts that are not settled',
    searchUnsettledAttempts({ programId: PROGRAM, connectorId: null, at: lastHour.to }, after, 20),
  ],
  ['list_breaks', listBreaks(EVERY_BREAK, null, 20)],
  ['close_break with orders', lockBatchOrders({ connectorId: 'bank', attemptIds: [after] })],
  ['list_funding_movements', listFundingMovements(PROGRAM, EVERY_MOVEMENT, null, 20)],
  ['list_funding_movements, a later page', listFundingMovements(PROGRAM, EVERY_MOVEMENT, after, 20)],
  ...[null, PROGRAM].flatMap((programId) =>
    [null, 'deposit' as const, 'withdrawal' as const].flatMap((kind) =>
      [false, true].map((isLater): readonly [string, Statement] => {
        const name = `search_funding_movements ${kind} of ${programId}, ${isLater ? 'a later page' : 'a time'}`;
        const period = isLater ? { from: null, to: null } : lastHour;
        const bounds = isLater
          ? { fromId: null, untilId: null }
          : { fromId: lowestIdAt(lastHour.from), untilId: LAST_ID };
        return [name, searchFundingMovements({ kind, programId, ...period }, bounds, isLater ? after : null, 20)];
      }),
    ),
  ),
  ['export_funding_movements', exportFundingMovements(PROGRAM, after, LAST_ID, 1000)],
  ['export_funding_movements of a time', exportFundingMovements(PROGRAM, lowestIdAt(lastHour.from), LAST_ID, 250)],
  [
    'list_funding_movements by reference',
    listFundingMovements(PROGRAM, { ...MOVEMENT_PAIR, reference: 'bank 7' }, null, 20),
  ],
  ['list_funding_movements by metadata', listFundingMovements(PROGRAM, MOVEMENT_PAIR, after, 20)],
  ['the record with a reference of a deposit', readMovementReference(PROGRAM, 'bank 7')],
  ['the expired holds', findExpiredHolds(500)],
  ['the due transfers', findDueTransfers(['simulator'], 500)],
  ['the old counters', forgetCounters(1000)],
  ['the old bodies', forgetBodies(1000)],
  ['the old refused keys', forgetRefusedKeys(1000)],
];

/** The parts of a filter. FILTERS also contains all pairs of parts, and all parts together. */
const PARTS: readonly (readonly [string, Partial<TransferFilter>])[] = [
  ['a card', { cardName: 'card_active' }],
  ['a missing card', { cardName: 'card_missing' }],
  ['a reference', { reference: 'filled 7' }],
  ['an idempotency key', { idempotencyKey: 'x' }],
  ['a pair of metadata', { metadata: { name: 'shop', value: '7' } }],
  ['one amount', { minimumAmount: 7, maximumAmount: 7 }],
  ['a range of amounts', { minimumAmount: 490, maximumAmount: 510 }],
  ['a time', { createdFrom: lastHour.from, createdTo: lastHour.to }],
  ['a beginning', { createdFrom: lastHour.from }],
  ['an end', { createdTo: lastHour.to }],
  ...TRANSFER_TYPES.map((type) => [`type ${type}`, { type }] as const),
  ...TRANSFER_STATUSES.map((status) => [`status ${status}`, { status }] as const),
];

const FILTERS: readonly (readonly [string, TransferFilter])[] = [
  ['nothing', NO_FILTER],
  ...PARTS.map(([name, part]) => [name, { ...NO_FILTER, ...part }] as const),
  ...PARTS.flatMap(([name, part], at) =>
    PARTS.slice(at + 1).map(([other, more]) => [`${name} and ${other}`, { ...NO_FILTER, ...part, ...more }] as const),
  ),
  ['everything', Object.assign({}, NO_FILTER, ...PARTS.map(([, part]) => part)) as TransferFilter],
];

/** Returns a first and a later page of list_transfers, and a page of export_transfers. */
function pagesOf(filter: TransferFilter): readonly Statement[] {
  const maxExamined = isFiltered(filter) ? 5000 : 21;
  return [
    listTransfers(PROGRAM, filter, { order: 'newest_first', after: null, until: null, count: 21, maxExamined }),
    listTransfers(PROGRAM, filter, { order: 'newest_first', after, until: null, count: 21, maxExamined }),
    listTransfers(PROGRAM, filter, { order: 'oldest_first', after, until: after, count: 1000, maxExamined: 5000 }),
  ];
}

const CARD_PARTS: readonly (readonly [string, Partial<CardFilter>])[] = [
  ['digits', { lastFour: '0042' }],
  ['a holder', { holderReference: 'holder 7' }],
  ['a beginning', { prefix: 'filled_0' }],
  ['a pair of metadata', { metadata: { name: 'shop', value: '7' } }],
  ['status active', { status: 'active' }],
  ['status expired', { status: 'expired' }],
  ['status lost', { status: 'lost' }],
];

const CARD_FILTERS: readonly (readonly [string, CardFilter])[] = [
  ['nothing', EVERY_CARD],
  ...CARD_PARTS.map(([name, part]) => [name, { ...EVERY_CARD, ...part }] as const),
  ...CARD_PARTS.flatMap(([name, part], at) =>
    CARD_PARTS.slice(at + 1).map(
      ([other, more]) => [`${name} and ${other}`, { ...EVERY_CARD, ...part, ...more }] as const,
    ),
  ),
];

/** Returns a first and a later page of list_cards. */
function pagesOfCards(filter: CardFilter): readonly Statement[] {
  const maxExamined = isCardFiltered(filter) ? 5000 : 21;
  return [null, after].map((last) => listCards(PROGRAM, filter, { after: last, count: 21, maxExamined }));
}

/** Operators' filters for attempts. */
const ATTEMPT_FILTERS: readonly AttemptFilter[] = (['open', ...ATTEMPT_STATUSES] as const).flatMap((status) =>
  [null, 'rare'].flatMap((connectorId) => [null, PROGRAM].map((programId) => ({ status, connectorId, programId }))),
);

/** Reads and writes in a transaction, by key. Every call uses the same plan. */
const TRANSACTION: readonly (readonly [string, Statement])[] = [
  ['locking the accounts', lockAccounts(cards, [])],
  ['locking the free accounts', lockAccounts(cards, [], 'skip')],
  ['locking the accounts of transfers', lockAccounts(cards, [transfer])],
  ['locking the free accounts of transfers', lockAccounts(cards, [transfer], 'skip')],
  ['reading the cards', readCards(cards)],
  ['reading the cards of transfers', readCardsOfTransfers([transfer])],
  ['reading stored responses', readStoredResponses([{ keyHash: after }])],
  ['reading references', readReferences([{ programId: PROGRAM, reference: 'x' }])],
  ['reading transfers', readTransfersForChange([transfer])],
  ['reading the rules', readProgramRules([PROGRAM])],
  ['reading the rules without usage', readProgramRules([PROGRAM], false)],
  ['reading the rules of several programs', readProgramRules(programs)],
  ['reading erasures of transfers', readErasuresOfTransfers([transfer])],
  ['updating the accounts', updateAccounts([])],
  ['updating transfers', updateTransfers([])],
  ['ending holds', deleteHolds([])],
  ['adding to limit counters', updateCounters([])],
  ['inserting limit counters', insertCounters([])],
  ['writing metadata', writeMetadata([])],
  ['deleting metadata', deleteMetadata([])],
  ['deleting metadata of a card', deleteCardMetadata({ programId: PROGRAM, cardId: after })],
];

async function planOf(of: pg.Client, { text, values }: Statement, how: 'custom' | 'generic'): Promise<Plan> {
  if (how === 'custom') return planIn(await of.query(`explain (format json) ${text}`, [...values]));
  // PostgreSQL 15 does not have EXPLAIN (GENERIC_PLAN).
  const nothing = values.length === 0 ? '' : `(${values.map(() => 'null').join()})`;
  await of.query('begin; set local plan_cache_mode = force_generic_plan');
  await of.query(`prepare explained as ${text}`);
  const plan = planIn(await of.query(`explain (format json) execute explained ${nothing}`));
  await of.query('deallocate explained; rollback');
  return plan;
}

function planIn({ rows }: pg.QueryResult): Plan {
  return rows[0]['QUERY PLAN'][0].Plan as Plan;
}

describe.each([
  ['on tables without statistics', async () => undefined],
  ['on tables that the planner has analyzed', async () => void (await client.query('analyze'))],
])('%s', (state, prepare) => {
  beforeAll(prepare);

  test.each(READS)('%s reads no growing table in full', async (_name, statement) => {
    const plan = await planOf(reader, statement, 'custom');
    expect(wholeReads(plan), JSON.stringify(plan, null, 1)).toEqual([]);
  });

  test.each(READS_OF_ALL)('%s reads no growing table in full', async (_name, statement) => {
    const plan = await planOf(client, statement, 'custom');
    expect(wholeReads(plan), JSON.stringify(plan, null, 1)).toEqual([]);
  });

  test.each(SEARCHES)(
    'a search for %s stops in each program as soon as it has enough results',
    async (_name, statement) => {
      for (const how of ['custom', 'generic'] as const) {
        const plan = await planOf(client, statement, how);

        expect([...wholeReads(plan), ...halfProbes(plan)], JSON.stringify(plan, null, 1)).toEqual([]);
      }
    },
  );

  test.each(['custom', 'generic'] as const)(
    'lists and exports with any filter follow the order of one index: %s plan',
    async (how) => {
      for (const [name, filter] of FILTERS) {
        for (const statement of pagesOf(filter)) {
          const plan = await planOf(reader, statement, how);
          const faults = [...endlessReads(plan), ...halfProbes(plan).filter((probe) => !probe.includes('(name ='))];
          expect(faults, `${name}, ${statement.name}: ${JSON.stringify(plan, null, 1)}`).toEqual([]);
        }
      }
    },
  );

  test.each(['custom', 'generic'] as const)(
    'lists of cards with any filter follow the order of one index: %s plan',
    async (how) => {
      for (const [name, filter] of CARD_FILTERS) {
        for (const statement of pagesOfCards(filter)) {
          const plan = await planOf(reader, statement, how);
          const faults = [...endlessReads(plan), ...halfProbes(plan)];
          expect(faults, `${name}, ${statement.name}: ${JSON.stringify(plan, null, 1)}`).toEqual([]);
        }
      }
    },
  );

  test.each(['custom', 'generic'] as const)(
    'searches with any filter examine a bounded number of attempts: %s plan',
    async (how) => {
      for (const filter of ATTEMPT_FILTERS) {
        for (const last of [null, after]) {
          const statement = searchAttempts(filter, { after: last, count: 21, maxExamined: 210 });
          const plan = await planOf(client, statement, how);
          // Only a few attempts are open, or have ended without moving money, so sorting them is cheap. Sorting is also
          // fine if the planner expects only a few.
          const isOrdered = filter.status === 'approved' && state.endsWith('analyzed');
          const faults = isOrdered ? [...endlessReads(plan), ...halfProbes(plan)] : wholeReads(plan);
          expect.soft(faults.map((fault) => `${statement.name}: ${fault}`)).toEqual([]);
        }
      }
    },
  );

  test.each(['custom', 'generic'] as const)('keys are looked up by an index: %s plan', async (how) => {
    const authentication = await connect(asAuthentication());
    try {
      const plan = await planOf(
        authentication,
        findKeys([{ publicPart: '00000000000000ff', secretHash: Buffer.alloc(32) }]),
        how,
      );
      expect(wholeReads(plan), JSON.stringify(plan, null, 1)).toEqual([]);
    } finally {
      await authentication.end();
    }
  });

  test.each(TRANSACTION)('%s probes an index once for each key', async (_name, statement) => {
    const writer = await connect(asProgram());
    try {
      for (const [name, value] of WRITER_SETTINGS) await writer.query(`set ${name} = ${value}`);
      const plan = await planOf(writer, statement, 'generic');
      const faults = [...wholeReads(plan), ...halfProbes(plan), ...forbiddenReads(plan)];
      expect(faults, JSON.stringify(plan, null, 1)).toEqual([]);
    } finally {
      await writer.end();
    }
  });
});
