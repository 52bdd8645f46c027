import { abilitiesOf } from '../../../contract/abilities.ts';
import { AccessRecord } from '../../../contract/access.ts';
import { includesScope, inOrder, roleOf, scopesOf } from '../../../contract/scope.ts';
import { toCredentialId, toWireId } from '../../../domain/identifier.ts';
import { accessText, readAccess } from '../../../domain/people/access.ts';
import type { Call, Reply, Service } from '../../calls/call.ts';
import { LINES_FIRST, type Pages, writeCsv } from '../../calls/csv-export.ts';
import { type Chunk, DEFAULT_LIMIT, readCursor, readFiltered } from '../../calls/page.ts';
import { readRows } from '../../calls/read-rows.ts';
import { forEachPiece, readInTurn } from '../../calls/turns.ts';
import { type Holder, listHolders, toHolder } from '../../store/person.ts';

type ListCall = Call<'list_access'> | Call<'export_access'>;

type Found = { readonly holderId: string; readonly record: AccessRecord };

/**
 * list_access answers the question "Who can move money?". A person has the roles of the last sign-in. The identity provider may
 * have changed them since.
 */
export async function listAccess(service: Service, call: Call<'list_access'>): Promise<Reply<'list_access'>> {
  const { limit = DEFAULT_LIMIT, cursor, scope, moves_money: movesMoney } = call.query;
  const { items, next } = await readFiltered<Found>({
    call,
    limit,
    after: readCursor(call, 'key', cursor),
    isFiltered: scope !== undefined || movesMoney !== undefined,
    read: (after, count, maxExamined) => readChunk(service, call, after, count, maxExamined),
    idOf: ({ holderId }) => holderId,
  });
  const data = items.map(({ record }) => record);
  // All cursors of this list have this prefix, even if the last item is a person.
  return { record: { data, next_cursor: next === null ? null : toWireId('key', next) } };
}

export async function exportAccess(service: Service, call: Call<'export_access'>): Promise<Reply<'export_access'>> {
  const pages = readPages(service, call);
  return { csv: await writeCsv('access', AccessRecord, pages, call.query.raw === true) };
}

async function* readPages(service: Service, call: Call<'export_access'>): Pages {
  const turns = forEachPiece(call);
  let after: string | null = null;
  let count = LINES_FIRST;
  do {
    const [from, lines] = [after, count] as const;
    const chunk: Chunk<Found> = await readInTurn(turns, () => readChunk(service, call, from, lines, lines));
    count = yield chunk.items.map(({ record }) => record);
    after = chunk.next;
  } while (after !== null);
}

/** Reads at most `count` matching key holders among the next `maxExamined`. */
async function readChunk(
  { database }: Service,
  { query: { scope, moves_money: movesMoney } }: ListCall,
  after: string | null,
  count: number,
  maxExamined: number,
): Promise<Chunk<Found>> {
  const rows = await readRows(database, listHolders(after, maxExamined));
  const holders = rows.map(toHolder).map((holder) => ({ holderId: holder.holderId, record: toAccessRecord(holder) }));
  const matches = holders.filter(
    ({ record }) =>
      (scope === undefined || includesScope(record.scopes, scope)) &&
      (movesMoney === undefined || record.moves_money === movesMoney),
  );
  const items = matches.slice(0, count);
  const last = matches.length > count ? items.at(-1) : rows.length === maxExamined ? holders.at(-1) : undefined;
  return { items, next: last?.holderId ?? null };
}

function toAccessRecord({
  holderId,
  ownerId,
  name,
  programId,
  scopes,
  roles,
  lastUsedAt,
  expiresAt,
}: Holder): AccessRecord {
  const access = (roles ?? []).flatMap((text) => readAccess(text) ?? []);
  const allowed = scopes === null ? scopesOf(access) : inOrder(scopes);
  const own = roleOf(allowed);
  // A session is for all card programs, or for the program that the person chose.
  const boundTo = scopes === null ? (access.find((one) => one.programId !== null)?.programId ?? null) : programId;
  const abilities = abilitiesOf(allowed);
  return {
    holder_id: toCredentialId(holderId),
    kind: scopes === null ? 'person' : 'key',
    person_id: ownerId === null ? null : toWireId('per', ownerId),
    name,
    program_id: boundTo === null ? null : toWireId('prog', boundTo),
    roles: scopes === null ? access.map(accessText) : own === null ? [] : [own],
    scopes: allowed,
    moves_money: abilities.includes('move_money'),
    abilities,
    last_used_at: lastUsedAt?.toISOString() ?? null,
    expires_at: expiresAt?.toISOString() ?? null,
  };
}
