import { ERRORS, isErrorCode } from '../../../contract/errors/catalogue.ts';
import { FOUND_KINDS, type FoundRecord, type SearchResults } from '../../../contract/look-up/search.ts';
import { OPERATION_IDS, OPERATIONS, type OperationId } from '../../../contract/operations.ts';
import type { KeyScope } from '../../../contract/scope.ts';
import { type Call, type Caller, hasScope, type Reply, type Service, schemaRefusal } from '../../calls/call.ts';
import { readPeriod } from '../../calls/fields.ts';
import { readProgramFilter } from '../../calls/program.ts';
import { readRows } from '../../calls/read-rows.ts';
import { storedKeyOf } from '../../calls/responses/stored-key.ts';
import { readInTurn } from '../../calls/turns.ts';
import { toCardDetails } from '../../store/card.ts';
import type { Row, Statement } from '../../store/connection/database.ts';
import { listErrors, toLoggedError } from '../../store/error.ts';
import { NO_PROGRAM } from '../../store/idempotency.ts';
import {
  findCardsByHolder,
  findCardsById,
  findCardsByLastFour,
  findCardsByName,
  findCardsByPartOfHolder,
  findCardsByToken,
  toTokenEnd,
} from '../../store/search/find-cards.ts';
import {
  findKeysByName,
  findKeyUses,
  findMovementsByReference,
  findPrograms,
  findReversals,
  type KeyUse,
  listProgramIds,
  toFoundKey,
  toFoundMovement,
  toFoundProgram,
  toFoundReversal,
  toKeyUse,
} from '../../store/search/find-others.ts';
import {
  findTransfersByAmount,
  findTransfersById,
  findTransfersByReference,
} from '../../store/search/find-transfers.ts';
import { toTransfer } from '../../store/transfers/transfer.ts';
import { type FindRequest, findById, type SearchContext } from './find-by-id.ts';
import { MIN_NAME_LENGTH, readTerm, type Term } from './read-term.ts';
import {
  type Found,
  foundCard,
  foundCode,
  foundKey,
  foundKeyUse,
  foundMovement,
  foundProgram,
  foundRequest,
  foundReversal,
  foundTransfer,
} from './summaries.ts';

/** Maximum number of card programs that one search covers. For each of them, all kinds of records are searched. */
const MAX_PROGRAMS = 1000;

const MAX_RESULTS = 5;

/** One more than the number of results to show, to find out whether there are more. */
const COUNT = MAX_RESULTS + 1;

/** Maximum number of transfers that a search by amount compares with the currencies and the period, in all programs together. */
const MAX_AMOUNTS_EXAMINED = 20_000;

/** Maximum number of holders that a search compares with part of a name. It takes a few hundredths of a second. */
const MAX_HOLDERS_EXAMINED = 20_000;

/** Maximum number of cards, newest first, whose transfers are searched by part of a name and an amount. */
const MAX_CARDS_OF_HOLDER = 50;

/**
 * search: returns the records that a search term may refer to, in all card programs or in one. The statements run one
 * after the other and take turns with other long reads, so a search never holds more than one connection.
 */
export async function search(
  findRequest: FindRequest,
  service: Service,
  call: Call<'search'>,
): Promise<Reply<'search'>> {
  const programId = readProgramFilter(call, call.query.program_id);
  const period = readPeriod(call, call.query);
  const term = readTerm(call.query.q);
  if (term.text === '') throw schemaRefusal(call, "'q' must have something besides spaces.", '/q');
  const turns = { programId: programId ?? '', deadline: call.deadline, isGone: call.isGone };
  const read = (statement: Statement): Promise<readonly Row[]> =>
    readInTurn(turns, () => readRows(service.database, statement));
  const programs =
    programId === null
      ? (await read(listProgramIds(MAX_PROGRAMS + 1))).map((row) => row.program_id as string)
      : [programId];
  const programIds = programs.slice(0, MAX_PROGRAMS);
  const context: SearchContext = { service, findRequest, term, programId, programIds, period, call, read };
  const found = term.id === undefined ? await findByText(context) : await findById(context, term.id);
  const record: SearchResults = { data: groupsOf(found, call.caller), complete: programs.length <= MAX_PROGRAMS };
  return { record };
}

/**
 * The scopes that let a key read a record of this kind with another operation. To find it, a key needs one of them in addition to
 * the scope of search. Operators can read all records of the other kinds.
 */
const SCOPES_OF_KINDS: Readonly<Partial<Record<Found['kind'], readonly KeyScope[]>>> = {
  transfer: ['transfers:read'],
  reversal: ['transfers:read'],
  card: ['cards:read'],
  webhook: ['webhooks:read'],
  case: ['cases:read', 'operator:cases'],
};

function groupsOf(found: readonly Found[], caller: Caller): SearchResults['data'] {
  return FOUND_KINDS.filter((kind) => SCOPES_OF_KINDS[kind]?.some((one) => hasScope(caller, one)) ?? true).flatMap(
    (kind) => {
      const records = new Map<string, FoundRecord>();
      // If a record matches in two ways, only the first match is shown.
      for (const one of found) {
        const key = `${one.record.program_id} ${one.record.id} ${kind === 'idempotency_key' ? one.record.summary : ''}`;
        if (one.kind === kind && !records.has(key)) records.set(key, one.record);
      }
      if (records.size === 0) return [];
      return [{ kind, results: [...records.values()].slice(0, MAX_RESULTS), has_more: records.size > MAX_RESULTS }];
    },
  );
}

async function findByText(context: SearchContext): Promise<readonly Found[]> {
  const finders = [findCards, findReferences, findKey, findAmounts, findAmountsOfHolder, findCode, findNames];
  const found: Found[] = [];
  for (const find of finders) found.push(...(await find(context)));
  return found;
}

async function findCards({ term, programIds, read }: SearchContext): Promise<readonly Found[]> {
  const { text, cardName, lastFour, tokenHash } = term;
  const named = cardName === undefined ? [] : await read(findCardsByName(programIds, cardName, COUNT));
  const ending = lastFour === undefined ? [] : await read(findCardsByLastFour(programIds, lastFour, COUNT));
  const held = await read(findCardsByHolder(programIds, text, COUNT));
  const atProcessor = await read(findCardsByToken(programIds, tokenHash, COUNT));
  return [
    ...named.map((row) => foundCard(toCardDetails(row), row.name === text ? 'id' : 'id_prefix')),
    ...ending.map((row) => foundCard(toCardDetails(row), 'last_four')),
    ...held.map((row) => foundCard(toCardDetails(row), 'holder_reference')),
    ...atProcessor.map((row) => foundCard(toCardDetails(row), 'processor_token', toTokenEnd(row))),
  ];
}

async function findReferences({ term, programIds, read }: SearchContext): Promise<readonly Found[]> {
  const transfers = await read(findTransfersByReference(programIds, term.text, COUNT));
  const movements = await read(findMovementsByReference(programIds, term.text, COUNT));
  return [
    ...transfers.map((row) => foundTransfer(toTransfer(row), 'reference')),
    ...movements.map((row) => foundMovement(toFoundMovement(row), 'reference')),
  ];
}

const KEYED = OPERATION_IDS.filter((id) => OPERATIONS[id].idempotency !== 'none');
const isOfProgram = (id: OperationId): boolean =>
  OPERATIONS[id].reach === 'program' || OPERATIONS[id].path.includes('{program_id}');
const OF_PROGRAMS = KEYED.filter(isOfProgram);
const OF_OPERATORS = KEYED.filter((id) => !isOfProgram(id));

/** Operations whose created record is shown instead of the idempotency key. */
const SUBJECTS: ReadonlyMap<string, 'transfer' | 'reversal' | 'card'> = new Map([
  ['create_transfer', 'transfer'],
  ['capture_transfer', 'transfer'],
  ['cancel_transfer', 'transfer'],
  ['reverse_transfer', 'reversal'],
  ['create_card', 'card'],
]);

/**
 * Finds the record that was created under an idempotency key. If the request was refused or created a different kind of
 * record, finds the key itself.
 */
async function findKey({ term, programId, programIds, read }: SearchContext): Promise<readonly Found[]> {
  const key = storedKeyOf(term.text);
  const uses = [
    ...(await read(findKeyUses(programIds, OF_PROGRAMS, key, COUNT))),
    ...(programId === null ? await read(findKeyUses([NO_PROGRAM], OF_OPERATORS, key, COUNT)) : []),
  ].map(toKeyUse);
  const idsOf = (kind: 'transfer' | 'reversal' | 'card'): readonly string[] =>
    uses.filter((use) => SUBJECTS.get(use.operation) === kind).flatMap(({ subjectId }) => subjectId ?? []);
  const [transfers, reversals, cards] = [idsOf('transfer'), idsOf('reversal'), idsOf('card')];
  const isShown = ({ operation, subjectId }: KeyUse): boolean => subjectId !== null && SUBJECTS.has(operation);
  const readAll = async (ids: readonly string[], find: typeof findTransfersById): Promise<readonly Row[]> =>
    ids.length === 0 ? [] : await read(find([...new Set(uses.map((use) => use.programId))], ids, COUNT));
  return [
    ...(await readAll(transfers, findTransfersById)).map((row) => foundTransfer(toTransfer(row), 'idempotency_key')),
    ...(await readAll(reversals, findReversals)).map((row) => foundReversal(toFoundReversal(row), 'idempotency_key')),
    ...(await readAll(cards, findCardsById)).map((row) => foundCard(toCardDetails(row), 'idempotency_key')),
    ...uses.filter((use) => !isShown(use)).map((use) => foundKeyUse(term.text, use)),
  ];
}

function findAmounts(context: SearchContext): Promise<readonly Found[]> {
  return findTransfersOf(context, context.term.amounts, []);
}

async function findAmountsOfHolder(context: SearchContext): Promise<readonly Found[]> {
  const { term, programIds, read } = context;
  if (term.ofHolder === undefined) return [];
  const { part, amounts } = term.ofHolder;
  const cards = await read(findCardsByPartOfHolder(programIds, part, MAX_HOLDERS_EXAMINED, MAX_CARDS_OF_HOLDER));
  const cardIds = cards.map((row) => toCardDetails(row).card.cardId);
  return cardIds.length === 0 ? [] : findTransfersOf(context, amounts, cardIds);
}

async function findTransfersOf(
  { programIds, period, read }: SearchContext,
  amounts: Term['amounts'],
  cardIds: readonly string[],
): Promise<readonly Found[]> {
  if (amounts.length === 0 || programIds.length === 0) return [];
  const maxExamined = Math.max(COUNT, Math.floor(MAX_AMOUNTS_EXAMINED / (programIds.length * amounts.length)));
  const rows = await read(findTransfersByAmount(programIds, { amounts, cardIds, ...period }, maxExamined, COUNT));
  return rows.map((row) => foundTransfer(toTransfer(row), 'amount'));
}

/** Finds an error code and the latest requests that failed with it. */
async function findCode({ term, programId, period, read }: SearchContext): Promise<readonly Found[]> {
  const { text: code } = term;
  if (!isErrorCode(code)) return [];
  const filter = { after: null, count: COUNT, programId, codes: [code], operation: null, cardName: null, ...period };
  const rows = await read(listErrors(filter));
  return [foundCode(code, ERRORS[code].meaning), ...rows.map((row) => foundRequest(toLoggedError(row), 'error_code'))];
}

async function findNames({ term, programId, programIds, read }: SearchContext): Promise<readonly Found[]> {
  const { text } = term;
  if (text.length < MIN_NAME_LENGTH || term.amounts.length > 0) return [];
  const cards = await read(findCardsByPartOfHolder(programIds, text, MAX_HOLDERS_EXAMINED, COUNT));
  const programs = await read(findPrograms(programIds, text, COUNT));
  const keys = await read(findKeysByName(text, programId, COUNT));
  return [
    ...cards.map((row) => foundCard(toCardDetails(row), 'holder_reference')),
    ...programs.map((row) => foundProgram(toFoundProgram(row), 'name')),
    ...keys.map((row) => foundKey(toFoundKey(row), 'name')),
  ];
}
