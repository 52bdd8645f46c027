import { abilitiesOf } from '../../../contract/abilities.ts';
import { AccessRecord } from '../../../contract/access.ts';
import type { PersonRecord } from '../../../contract/people.ts';
import { includesScope, inOrder, roleOf, scopesOf } from '../../../contract/scope.ts';
import { fromWireId, toCredentialId, toWireId } from '../../../domain/identifier.ts';
import { accessText, readAccess } from '../../../domain/people/access.ts';
import type { Call, Reply, Service } from '../../calls/call.ts';
import { LINES_FIRST, type Pages, writeCsv } from '../../calls/csv-export.ts';
import { type Chunk, DEFAULT_LIMIT, readCursor, readFiltered, readPage } from '../../calls/page.ts';
import { personMissing } from '../../calls/program.ts';
import { readRows } from '../../calls/read-rows.ts';
import { forEachPiece, readInTurn } from '../../calls/turns.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { forgetBodiesAbout } from '../../store/idempotency.ts';
import {
  type Holder,
  listHolders,
  listPeople as listStatement,
  lockPerson,
  type Person,
  readPerson,
  toHolder,
  toPerson,
  updatePerson,
} from '../../store/person.ts';
import { endSessionsOfPerson } from '../../store/session.ts';
import { auditOf } from '../audit/audit.ts';

// Invariant: The audit log contains no name or email of a person, and an erasure removes both from stored responses
// Kept by: `change`, and `signInPerson` in `subjects/sessions/`
// Tested by: `test/security/people.test.ts`

export async function listPeople(service: Service, call: Call<'list_people'>): Promise<Reply<'list_people'>> {
  const record = await readPage(service, call, {
    prefix: 'per',
    statement: listStatement,
    read: toPerson,
    idOf: (person) => person.personId,
    show: toPersonRecord,
  });
  return { record };
}

export async function getPerson(service: Service, call: Call<'get_person'>): Promise<Reply<'get_person'>> {
  return { record: await readRecord(service, call.params.person_id) };
}

async function readRecord({ database }: Service, sentId: string): Promise<PersonRecord> {
  const personId = fromWireId('per', sentId);
  const [row] = personId === undefined ? [] : await readRows(database, readPerson({ personId }));
  if (row === undefined) throw personMissing(sentId);
  return toPersonRecord(toPerson(row));
}

type ChangeId = 'block_person' | 'unblock_person' | 'erase_person';

/** block_person: every process refuses the sessions of the person within a second. Blocking again changes nothing. */
export function blockPerson(service: Service, call: Call<'block_person'>): Promise<Reply<'block_person'>> {
  return change(service, call, (person, now) => ({ ...person, blockedAt: person.blockedAt ?? now }));
}

export function unblockPerson(service: Service, call: Call<'unblock_person'>): Promise<Reply<'unblock_person'>> {
  return change(service, call, (person) => ({ ...person, blockedAt: null }));
}

/** erase_person: erases the name and email, and blocks the person, because the next sign-in would store both again. */
export function erasePerson(service: Service, call: Call<'erase_person'>): Promise<Reply<'erase_person'>> {
  return change(service, call, (person, now) => ({
    ...person,
    name: null,
    email: null,
    blockedAt: person.blockedAt ?? now,
    erasedAt: person.erasedAt ?? now,
  }));
}

async function change<Id extends ChangeId>(
  service: Service,
  call: Call<Id>,
  changed: (person: Person, now: Date) => Person,
): Promise<Reply<Id>> {
  const { person_id: sentId } = (call as Call<ChangeId>).params;
  const personId = fromWireId('per', sentId);
  if (personId === undefined) throw personMissing(sentId);
  const reply = await transactUnderKey<ChangeId, 'person'>(service, call as Call<ChangeId>, {
    load: { person: lockPerson(personId) },
    decide: ({ person: [row] }) => {
      if (row === undefined) throw personMissing(sentId);
      const person = changed(toPerson(row), row.now as Date);
      const record = toPersonRecord(person);
      const { name: _, email: __, ...details } = record;
      const audited = { programId: null, subjectId: record.person_id, details: JSON.stringify(details) };
      const ended = person.blockedAt === null ? [] : [endSessionsOfPerson(personId)];
      const forgotten =
        person.erasedAt === null ? [] : [forgetBodiesAbout(personId, ['block_person', 'unblock_person'])];
      const writes = [updatePerson(person), ...ended, ...forgotten, ...auditOf(call, audited)];
      return { record, subjectId: personId, writes };
    },
    // An erasure deletes names from stored responses, so this reads the record again.
    recall: () => readRecord(service, sentId),
  });
  return reply as Reply<Id>;
}

function toPersonRecord(person: Person): PersonRecord {
  return {
    person_id: toWireId('per', person.personId),
    issuer: person.issuer,
    subject: person.subject,
    name: person.name,
    email: person.email,
    roles: [...person.roles],
    first_seen_at: person.firstSeenAt.toISOString(),
    last_seen_at: person.lastSeenAt.toISOString(),
    blocked_at: person.blockedAt?.toISOString() ?? null,
    erased_at: person.erasedAt?.toISOString() ?? null,
  };
}

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
