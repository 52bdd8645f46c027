import { useState } from 'preact/hooks';
import type { PersonRecord } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, CopyButton, WhoMay } from '../../components/button.tsx';
import type { Column } from '../../components/data-table.tsx';
import { ConfirmDialog } from '../../components/dialogs/dialog.tsx';
import { Empty } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Section } from '../../components/page.tsx';
import { PagedTable } from '../../components/paged-list.tsx';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';
import { usePages } from '../../data/use-pages.ts';

const nameOf = ({ name, person_id }: PersonRecord): string => name ?? person_id;

/** Lists the people who have signed in. Users block and unblock them here. */
export function PeopleSection() {
  const { can } = useSession();
  const people = usePages((api, options, cursor) => api.people.list({ limit: 50, cursor }, options));
  const [changing, setChanging] = useState<PersonRecord | undefined>(undefined);
  const columns: readonly Column<PersonRecord>[] = [
    {
      title: 'Person',
      onPhone: 'title',
      cell: (person) => (
        <span>
          <b title={person.person_id}>{nameOf(person)}</b> <span class="quiet">{person.email}</span>
          <CopyButton text={person.person_id} label="Copy the person's id" />
        </span>
      ),
    },
    { title: 'Roles', onPhone: 'note', cell: ({ roles }) => roles.join(', ') },
    { title: 'Signed in', onPhone: 'note', cell: ({ last_seen_at }) => <Moment at={last_seen_at} short actual /> },
    {
      title: 'State',
      onPhone: 'value',
      cell: ({ blocked_at }) => (blocked_at === null ? 'may sign in' : <Badge tone="bad">blocked</Badge>),
    },
  ];
  const actions: readonly Column<PersonRecord>[] = can('block_person')
    ? [
        {
          title: 'Actions',
          onPhone: 'note',
          cell: (person) => {
            const verb = person.blocked_at === null ? 'Block' : 'Unblock';
            return (
              <span class="row-actions">
                <Button
                  kind={verb === 'Block' ? 'danger' : 'plain'}
                  title={`${verb} ${nameOf(person)}`}
                  onClick={() => setChanging(person)}
                >
                  {verb}
                </Button>
              </span>
            );
          },
        },
      ]
    : [];
  return (
    <Section title="People">
      <PagedTable
        pages={people}
        label="People"
        rowKey={(person) => person.person_id}
        columns={[...columns, ...actions]}
        empty={<Empty title="No people yet">A person is listed here after the first sign-in without a key.</Empty>}
      />
      <WhoMay operation="block_person" to="block or unblock people" />
      {changing !== undefined && (
        <BlockPersonDialog person={changing} onClose={() => setChanging(undefined)} onDone={people.reload} />
      )}
    </Section>
  );
}

function BlockPersonDialog({
  person,
  onClose,
  onDone,
}: {
  readonly person: PersonRecord;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const { personId } = useSession();
  const isBlocked = person.blocked_at !== null;
  const change = useAction((id: string, api, options) =>
    isBlocked ? api.people.unblock(id, options) : api.people.block(id, options),
  );
  const submit = async () => {
    if ((await change.run(person.person_id)) === undefined) return;
    onDone();
    onClose();
  };
  const title = `${isBlocked ? 'Unblock' : 'Block'} ${nameOf(person)}`;
  return (
    <ConfirmDialog
      title={title}
      confirm={title}
      kind={isBlocked ? 'main' : 'danger'}
      pending={change.pending}
      error={change.error}
      onConfirm={submit}
      onClose={onClose}
    >
      <p>
        {isBlocked
          ? 'The person can sign in again, with the roles that the provider assigns at that time.'
          : "The person's sessions end within a second, and the next sign-in is refused. Keys that the person knows stay valid."}
      </p>
      {person.person_id === personId && !isBlocked && <p>This is you: you will be signed out.</p>}
    </ConfirmDialog>
  );
}
