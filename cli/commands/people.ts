import type { PersonRecord } from '../../sdk/client.ts';
import { type AddCommands, addCommand, addList, KEY_OPTION, type KeyOption } from '../command.ts';
import { pairsOf } from '../output.ts';
import { showChanged } from '../session.ts';

const PERSON_ID = 'person id, per_...';

const CHANGES = {
  block: 'end the sessions of a person, and refuse their next sign-in',
  unblock: 'let a blocked person sign in again',
  erase: 'block a person, and erase their name and email',
} as const;

/** Adds `people list | get | block | unblock | erase`. */
export const addPeople: AddCommands = (program, context) => {
  const people = program.command('people').description('people who have signed in to the console');
  addList<PersonRecord>(people, context, {
    name: 'list',
    description: 'list the people who have signed in',
    columns: [
      'person_id',
      'name',
      'email',
      { heading: 'roles', show: ({ roles }) => roles.join(',') },
      'last_seen_at',
      'blocked_at',
    ],
    list: (service, query) => service.people.list(query),
    empty: { text: 'No people: no one has signed in with an OpenID provider.' },
  });
  addCommand(people, context, {
    name: 'get <person_id>',
    argument: PERSON_ID,
    description: 'show a person',
    run: async ({ service, show }, _, personId) => {
      const person = await service.people.get(personId);
      show(person, pairsOf({ ...person, roles: person.roles.join(', ') }));
    },
  });
  for (const [name, description] of Object.entries(CHANGES)) {
    addCommand<KeyOption>(people, context, {
      name: `${name} <person_id>`,
      argument: PERSON_ID,
      description,
      options: KEY_OPTION,
      run: async (session, { idempotencyKey }, personId) => {
        const person = await session.service.people[name as keyof typeof CHANGES](personId, { idempotencyKey });
        showChanged(session, person, pairsOf({ ...person, roles: person.roles.join(', ') }));
      },
    });
  }
};
