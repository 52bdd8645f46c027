import type { PersonRecord } from '../../../contract/people.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import type { Call, Reply, Service } from '../../calls/call.ts';
import { personMissing } from '../../calls/missing.ts';
import { readPage } from '../../calls/page.ts';
import { readRows } from '../../calls/read-rows.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { forgetBodiesAbout } from '../../store/idempotency.ts';
import {
  listPeople as listStatement,
  lockPerson,
  type Person,
  readPerson,
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
