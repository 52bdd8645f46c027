import { useState } from 'preact/hooks';
import type { SessionRecord } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, WhoMay } from '../../components/button.tsx';
import type { Column } from '../../components/data-table.tsx';
import { ConfirmDialog } from '../../components/dialogs/dialog.tsx';
import { Empty } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Section } from '../../components/page.tsx';
import { PagedTable } from '../../components/paged-list.tsx';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';
import { usePages } from '../../data/use-pages.ts';

/** Lists who is signed in to the console. Sessions can be ended here. */
export function SessionsSection() {
  const { can } = useSession();
  const sessions = usePages((api, options, cursor) => api.sessions.list({ limit: 50, cursor }, options));
  const [ending, setEnding] = useState<SessionRecord | undefined>(undefined);
  const columns: readonly Column<SessionRecord>[] = [
    {
      title: 'Who',
      onPhone: 'title',
      cell: ({ key_id, person_id, current, ...session }) => (
        <span>
          <b title={key_id ?? person_id ?? ''}>{whoOf(session)}</b> {current && <Badge tone="good">yours</Badge>}
        </span>
      ),
    },
    { title: 'Role', onPhone: 'note', cell: ({ role }) => role ?? <span class="quiet">none</span> },
    { title: 'Signed in', onPhone: 'note', cell: ({ created_at }) => <Moment at={created_at} short actual /> },
    {
      title: 'Last active',
      onPhone: 'value',
      cell: ({ last_active_at }) => <Moment at={last_active_at} short actual />,
    },
    { title: 'Ends if idle', cell: ({ idle_ends_at }) => <Moment at={idle_ends_at} short actual /> },
    { title: 'Expires', cell: ({ ends_at }) => <Moment at={ends_at} short actual /> },
  ];
  const actions: readonly Column<SessionRecord>[] = can('revoke_session')
    ? [
        {
          title: 'Actions',
          onPhone: 'note',
          cell: (session) => (
            <span class="row-actions">
              <Button kind="danger" title={`End the session of ${whoOf(session)}`} onClick={() => setEnding(session)}>
                End
              </Button>
            </span>
          ),
        },
      ]
    : [];
  return (
    <Section title="Sessions">
      <PagedTable
        pages={sessions}
        label="Sessions"
        rowKey={(session) => session.session_id}
        columns={[...columns, ...actions]}
        empty={<Empty title="No one is signed in">A session begins when someone signs in to the console.</Empty>}
      />
      <WhoMay operation="revoke_session" to="end a session" />
      {ending !== undefined && (
        <EndSessionDialog session={ending} onClose={() => setEnding(undefined)} onDone={sessions.reload} />
      )}
    </Section>
  );
}

/** The name of the key or the person that a session belongs to. */
function whoOf({ key_name, person_name }: Pick<SessionRecord, 'key_name' | 'person_name'>): string {
  return key_name ?? person_name ?? 'a person';
}

function EndSessionDialog({
  session,
  onClose,
  onDone,
}: {
  readonly session: SessionRecord;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const isOfKey = session.key_id !== null;
  const end = useAction((id: string, api, options) => api.sessions.revoke(id, options));
  const submit = async () => {
    if ((await end.run(session.session_id)) === undefined) return;
    onDone();
    onClose();
  };
  return (
    <ConfirmDialog
      title={`End the session of ${whoOf(session)}`}
      confirm={`End the session of ${whoOf(session)}`}
      kind="danger"
      pending={end.pending}
      error={end.error}
      onConfirm={submit}
      onClose={onClose}
    >
      <p>
        It ends within a second.{' '}
        {isOfKey
          ? 'Anyone who has the key can sign in again. To prevent that, revoke the key.'
          : 'The person can sign in again. To prevent that, block the person.'}
      </p>
      {session.current && <p>This is your own session: you will be signed out.</p>}
    </ConfirmDialog>
  );
}
