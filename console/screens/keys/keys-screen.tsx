import { useState } from 'preact/hooks';
import type { KeyRecord } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { Empty } from '../../components/empty.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { SelectField } from '../../components/field.tsx';
import { Filters } from '../../components/filters.tsx';
import { Id } from '../../components/id.tsx';
import { Loading } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Page, Section } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { useSession } from '../../data/session.ts';
import { usePages } from '../../data/use-pages.ts';
import { useUrlState } from '../../data/use-url-state.ts';
import { isUnused, stateOfKey } from '../../format/keys.ts';
import { CreateKeyDialog } from './create-key-dialog.tsx';
import { RevokeKeyDialog, RollKeyDialog } from './end-key-dialogs.tsx';
import { SessionsSection } from './sessions-section.tsx';

type Open = { readonly what: 'create' } | { readonly what: 'roll' | 'revoke'; readonly key: KeyRecord } | undefined;

const SHOWN = [
  ['usable', 'Keys that work'],
  ['unused', 'Keys that work and are not used'],
  ['all', 'All keys'],
] as const;

/** Keys: who has which, which are not used; create, roll and revoke them, and end sessions. */
export function KeysScreen() {
  const { can } = useSession();
  const [{ show }, setFilters] = useUrlState({ show: 'usable' });
  const keys = usePages((api, options, cursor) => api.keys.list({ limit: 50, cursor }, options));
  const [open, setOpen] = useState<Open>(undefined);
  const close = () => setOpen(undefined);
  const now = Date.now();
  const rows = keys.rows.filter((key) => {
    if (show === 'all') return true;
    return stateOfKey(key, now) === 'active' && (show !== 'unused' || isUnused(key, now));
  });
  const left = keys.rows.length - rows.length;
  return (
    <Page
      title="Keys and sessions"
      lead="Who may call the API, and who is signed in to the console."
      actions={
        can('create_key') && (
          <Button kind="main" onClick={() => setOpen({ what: 'create' })}>
            Create a key
          </Button>
        )
      }
    >
      <Section title="Keys">
        <Filters onClear={show === 'usable' ? undefined : () => setFilters({ show: 'usable' })}>
          <SelectField label="Show" value={show} onChange={(next) => setFilters({ show: next })} options={SHOWN} />
        </Filters>
        {keys.error !== undefined && <ErrorRecord error={keys.error} stale={keys.isLoaded} />}
        {!keys.isLoaded && keys.error === undefined && <Loading />}
        {keys.isLoaded && (
          <DataTable
            label="Keys"
            rows={rows}
            rowKey={(key) => key.key_id}
            stale={keys.stale && keys.error !== undefined}
            columns={columnsFor(now, can('roll_key'), setOpen)}
            empty={
              <Empty title={left === 0 ? 'There are no keys' : 'No such key on this page'}>
                {left === 0
                  ? 'Create one for each program and person that calls the API.'
                  : `${left} others are not shown.`}
              </Empty>
            }
          />
        )}
        {left > 0 && rows.length > 0 && <p class="quiet">{left} others on this page are not shown.</p>}
        <Pager {...keys.pager} count={rows.length} />
      </Section>
      <SessionsSection />
      {open?.what === 'create' && <CreateKeyDialog onClose={close} onDone={keys.reload} />}
      {open?.what === 'roll' && <RollKeyDialog record={open.key} onClose={close} onDone={keys.reload} />}
      {open?.what === 'revoke' && <RevokeKeyDialog record={open.key} onClose={close} onDone={keys.reload} />}
    </Page>
  );
}

function columnsFor(now: number, mayChange: boolean, open: (what: Open) => void) {
  const columns = [
    {
      title: 'Name',
      cell: (key: KeyRecord) => (
        <span>
          <b>{key.name}</b> <code class="quiet">{key.shown_as}</code>
        </span>
      ),
    },
    { title: 'Role', cell: (key: KeyRecord) => <Scopes record={key} /> },
    {
      title: 'Card program',
      cell: (key: KeyRecord) => (key.program_id === null ? 'All' : <Id id={key.program_id} kind="program" />),
    },
    { title: 'Last used', cell: (key: KeyRecord) => <LastUsed record={key} now={now} /> },
    { title: 'Expires', cell: (key: KeyRecord) => <Moment at={key.expires_at} />, wideOnly: true },
    { title: 'State', cell: (key: KeyRecord) => <Badge>{stateOfKey(key, now)}</Badge> },
  ];
  if (!mayChange) return columns;
  return [
    ...columns,
    {
      title: 'Actions',
      cell: (key: KeyRecord) =>
        stateOfKey(key, now) === 'active' || stateOfKey(key, now) === 'rolled' ? (
          <span class="row-actions">
            {key.replaced_by === null && (
              <Button title={`Roll ${key.name}`} onClick={() => open({ what: 'roll', key })}>
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

/** The role, or how many scopes there are where they are no role; all of them in the title. */
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
  if (record.last_used_at === null) return <span class="quiet">never</span>;
  return (
    <span>
      <Moment at={record.last_used_at} distance />
      {isUnused(record, now) && stateOfKey(record, now) === 'active' && (
        <>
          {' '}
          <Badge tone="waiting">unused</Badge>
        </>
      )}
    </span>
  );
}
