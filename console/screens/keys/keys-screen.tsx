import { useState } from 'preact/hooks';
import type { KeyRecord, SessionRecord } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, ButtonLink, CopyButton, WhoMay } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { ConfirmDialog, SecretDialog } from '../../components/dialogs/dialog.tsx';
import { SelectField } from '../../components/field.tsx';
import { Filters } from '../../components/filters.tsx';
import { Empty } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { ProgramName } from '../../components/name.tsx';
import { Page, Section } from '../../components/page.tsx';
import { PagedList, PagedTable } from '../../components/paged-list.tsx';
import { useNow } from '../../data/clock.ts';
import { useKeptState } from '../../data/kept-forms.ts';
import { hrefTo } from '../../data/location.ts';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';
import { usePages } from '../../data/use-pages.ts';
import { useAskedDialog, useUrlState } from '../../data/use-url-state.ts';
import { isUnused, stateOfKey } from '../../format/operators/keys.ts';
import { CreateKeyDialog } from './create-key-dialog.tsx';
import { PeopleSection } from './people-section.tsx';

type Open =
  | { readonly what: 'create' }
  | { readonly what: 'roll'; readonly key: Pick<KeyRecord, 'key_id' | 'name'> }
  | { readonly what: 'revoke'; readonly key: KeyRecord }
  | undefined;

const SHOWN = [
  ['usable', 'Active'],
  ['unused', 'Active but unused'],
  ['all', 'All'],
] as const;

/** Lists the keys with their roles and last use. Users create, roll and revoke keys here, and end sessions. */
export function KeysScreen() {
  const { can } = useSession();
  const [{ show }, setFilters] = useUrlState({ show: 'usable' });
  const keys = usePages((api, options, cursor) => api.keys.list({ limit: 50, cursor }, options));
  const [open, setOpen] = useKeptState<Open>('open', undefined);
  useAskedDialog((asked) => asked === 'create' && can('create_key') && setOpen({ what: 'create' }));
  const close = () => setOpen(undefined);
  const now = useNow();
  const rows = keys.rows.filter((key) => {
    if (show === 'all') return true;
    return stateOfKey(key, now) === 'active' && (show !== 'unused' || isUnused(key, Date.now()));
  });
  const left = keys.rows.length - rows.length;
  const others = `The filter hides ${left} ${left === 1 ? 'key' : 'keys'} on this page.`;
  return (
    <Page
      title="Keys and sessions"
      lead="Who can call the API, and who is signed in to the console."
      actions={
        <>
          <ButtonLink href={hrefTo('/console/access')}>Who can move money?</ButtonLink>
          {can('create_key') && (
            <Button kind="main" onClick={() => setOpen({ what: 'create' })}>
              Create a key
            </Button>
          )}
        </>
      }
    >
      <Section title="Keys">
        <Filters onClear={show === 'usable' ? undefined : () => setFilters({ show: 'usable' })}>
          <SelectField label="Show" value={show} onChange={(next) => setFilters({ show: next })} options={SHOWN} />
        </Filters>
        <PagedList pages={{ ...keys, rows, pager: { ...keys.pager, count: rows.length } }}>
          {(_, stale) => (
            <>
              <DataTable
                label="Keys"
                rows={rows}
                rowKey={(key) => key.key_id}
                stale={stale}
                columns={columnsFor(now, can('roll_key'), setOpen)}
                empty={
                  <Empty title={left === 0 ? 'No keys yet' : 'No matching keys on this page'}>
                    {left === 0 ? 'Create one for each application and person that calls the API.' : others}
                  </Empty>
                }
              />
              {left > 0 && rows.length > 0 && <p class="quiet">{others}</p>}
            </>
          )}
        </PagedList>
        <WhoMay operation="create_key" to="create, roll or revoke keys" />
      </Section>
      <PeopleSection />
      <SessionsSection />
      {open?.what === 'create' && <CreateKeyDialog onClose={close} onDone={keys.reload} />}
      {open?.what === 'roll' && <RollKeyDialog record={open.key} onClose={close} onDone={keys.reload} />}
      {open?.what === 'revoke' && <RevokeKeyDialog record={open.key} onClose={close} onDone={keys.reload} />}
    </Page>
  );
}

function columnsFor(now: number, mayChange: boolean, open: (what: Open) => void): readonly Column<KeyRecord>[] {
  const columns: readonly Column<KeyRecord>[] = [
    {
      title: 'Name',
      onPhone: 'title',
      cell: (key) => (
        <span>
          <b title={key.key_id}>{key.name}</b> <code class="quiet">{key.shown_as}</code>
          <CopyButton text={key.key_id} label="Copy the key's id" />
        </span>
      ),
    },
    { title: 'Role', onPhone: 'note', cell: (key) => <Scopes record={key} /> },
    {
      title: 'Card program',
      onPhone: 'note',
      cell: (key) => (key.program_id === null ? 'All programs' : <ProgramName id={key.program_id} />),
    },
    { title: 'Last used', onPhone: 'note', cell: (key) => <LastUsed record={key} now={now} /> },
    { title: 'Expires', cell: ({ expires_at: at }) => at !== null && <Moment at={at} short /> },
    { title: 'State', onPhone: 'value', cell: (key) => <Badge>{stateOfKey(key, now)}</Badge> },
  ];
  if (!mayChange) return columns;
  return [
    ...columns,
    {
      title: 'Actions',
      onPhone: 'note',
      cell: (key) =>
        stateOfKey(key, now) === 'active' || stateOfKey(key, now) === 'rolled' ? (
          <span class="row-actions">
            {key.replaced_by === null && (
              <Button
                title={`Roll ${key.name}`}
                onClick={() => open({ what: 'roll', key: { key_id: key.key_id, name: key.name } })}
              >
                Roll
              </Button>
            )}
            <Button kind="danger" title={`Revoke ${key.name}`} onClick={() => open({ what: 'revoke', key })}>
              Revoke
            </Button>
          </span>
        ) : null,
    },
  ];
}

/** Shows the role of a key, with its scopes in the tooltip, or the scopes of a custom key. */
function Scopes({ record: { role, scopes } }: { readonly record: KeyRecord }) {
  if (role !== null) return <span title={scopes.join(', ')}>{role}</span>;
  return scopes.length === 1 ? (
    <code>{scopes[0]}</code>
  ) : (
    <details>
      <summary>{scopes.length} scopes</summary>
      {scopes.map((scope) => (
        <div key={scope}>
          <code>{scope}</code>
        </div>
      ))}
    </details>
  );
}

function LastUsed({ record, now }: { readonly record: KeyRecord; readonly now: number }) {
  if (record.last_used_at === null) return <span class="quiet unbroken">never used</span>;
  return (
    <span>
      <Moment at={record.last_used_at} short actual />
      {isUnused(record, Date.now()) && stateOfKey(record, now) === 'active' && (
        <>
          {' '}
          <Badge tone="waiting">unused</Badge>
        </>
      )}
    </span>
  );
}

type DialogParts<Shown> = { readonly record: Shown; readonly onClose: () => void; readonly onDone: () => void };

/** How long the old key keeps working, in hours. */
const OVERLAPS = [
  ['0.0833', '5 minutes'],
  ['1', '1 hour'],
  ['24', '1 day'],
  ['168', '1 week'],
] as const;

/** Asks how long the old key keeps working, and shows the secret of the new key once. */
function RollKeyDialog({ record, onClose, onDone }: DialogParts<Pick<KeyRecord, 'key_id' | 'name'>>) {
  const [hours, setHours] = useKeptState('hours', '24');
  const { keyId, sessionId } = useSession();
  const now = useNow();
  const isOwn = sessionId !== null && record.key_id === keyId;
  const roll = useAction((overlapHours: string, api, options) => {
    const previousUntil = new Date(now + Number(overlapHours) * 3_600_000).toISOString();
    return api.keys.roll(record.key_id, overlapHours === '24' ? {} : { previous_until: previousUntil }, options);
  });
  const submit = async () => {
    if ((await roll.run(hours)) !== undefined) onDone();
  };
  if (roll.result !== undefined) {
    const { key, key_omitted: omitted } = roll.result;
    const title = `The new key for ${record.name}`;
    return <SecretDialog title={title} label="The new key" secret={key} omitted={omitted} onClose={onClose} />;
  }
  return (
    <ConfirmDialog
      title={`Roll ${record.name}`}
      confirm={`Roll ${record.name}`}
      disabled={isOwn}
      pending={roll.pending}
      error={roll.error}
      onConfirm={submit}
      onClose={onClose}
    >
      <p>
        A new key with the same scopes replaces it. Switch to it while both work. If the key has leaked, revoke it
        instead.
      </p>
      <SelectField
        label="The old key keeps working for"
        name="previous_until"
        value={hours}
        onChange={setHours}
        options={OVERLAPS}
      />
      {isOwn && (
        <p>
          You are signed in with this key, and your session would end before you could copy the new one. Sign in with
          another key, or run <code>transfer-service keys roll {record.key_id}</code>.
        </p>
      )}
    </ConfirmDialog>
  );
}

/** Asks before it revokes a key, which can't be undone. */
function RevokeKeyDialog({ record, onClose, onDone }: DialogParts<KeyRecord>) {
  const { keyId } = useSession();
  const revoke = useAction((id: string, api, options) => api.keys.revoke(id, options));
  const submit = async () => {
    if ((await revoke.run(record.key_id)) === undefined) return;
    onDone();
    onClose();
  };
  return (
    <ConfirmDialog
      title={`Revoke ${record.name}`}
      confirm={`Revoke ${record.name}`}
      kind="danger"
      pending={revoke.pending}
      error={revoke.error}
      onConfirm={submit}
      onClose={onClose}
    >
      <p>
        The key <code>{record.shown_as}</code> is refused within a second, and its sessions end. This cannot be undone.
      </p>
      <p>
        {record.last_used_at === null ? (
          'It was never used.'
        ) : (
          <>
            It was last used <Moment at={record.last_used_at} distance actual />.
          </>
        )}
      </p>
      {record.key_id === keyId && <p>You are signed in with this key: you will be signed out.</p>}
    </ConfirmDialog>
  );
}

/** Lists who is signed in to the console. Sessions can be ended here. */
function SessionsSection() {
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
