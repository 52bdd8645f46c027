import { type AccessRecord, KEY_SCOPES } from '../../../sdk/client.ts';
import { ButtonLink, CopyButton } from '../../components/button.tsx';
import type { Column } from '../../components/data-table.tsx';
import { SelectField } from '../../components/field.tsx';
import { Filters } from '../../components/filters.tsx';
import { Empty } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { ProgramName } from '../../components/name.tsx';
import { Page } from '../../components/page.tsx';
import { PagedTable } from '../../components/paged-list.tsx';
import { hrefTo } from '../../data/location.ts';
import { usePages } from '../../data/use-pages.ts';
import { useUrlState } from '../../data/use-url-state.ts';

const SHOWN = [
  ['money', 'Can move money'],
  ['others', 'Cannot'],
  ['all', 'Everyone'],
] as const;

const ABILITIES: Readonly<Record<AccessRecord['abilities'][number], string>> = {
  move_money: 'move money',
  change_funding: 'change funding',
  manage_keys: 'create keys',
  approve: "approve other people's requests",
  change_other: 'change other things',
  read: 'read',
};

const NO_FILTERS = { show: 'money', scope: '' };

/** Answers "Who can move money?": the keys that work and the people who may sign in, with what each can do. */
export function AccessScreen() {
  const [filters, setFilters] = useUrlState(NO_FILTERS);
  const { show, scope } = filters;
  const query = {
    limit: 50,
    moves_money: show === 'all' ? undefined : show !== 'others',
    scope: KEY_SCOPES.find((one) => one === scope),
  };
  const holders = usePages((api, options, cursor) => api.access.list({ ...query, cursor }, options), {
    deps: [show, scope],
  });
  const isFiltered = show !== NO_FILTERS.show || scope !== NO_FILTERS.scope;
  return (
    <Page
      title="Access"
      lead="The keys that work and the people who may sign in, with their roles at the last sign-in."
      actions={<ButtonLink href={hrefTo('/console/keys')}>Keys and people</ButtonLink>}
    >
      <Filters onClear={isFiltered ? () => setFilters(NO_FILTERS) : undefined}>
        <SelectField label="Who" value={show} onChange={(next) => setFilters({ show: next })} options={SHOWN} />
        <SelectField
          label="Scope"
          value={scope}
          onChange={(next) => setFilters({ scope: next })}
          options={[['', 'Any scope'], ...KEY_SCOPES.map((one) => [one, one] as const)]}
        />
      </Filters>
      <PagedTable
        pages={holders}
        label="Keys and people"
        rowKey={(holder) => holder.holder_id}
        columns={COLUMNS}
        empty={<Empty title="No one">No key and no person matches these filters.</Empty>}
      />
    </Page>
  );
}

const COLUMNS: readonly Column<AccessRecord>[] = [
  {
    title: 'Who',
    onPhone: 'title',
    cell: ({ holder_id, kind, name }) => (
      <span>
        <b title={holder_id}>{name ?? holder_id}</b> <span class="quiet">{kind}</span>
        <CopyButton text={holder_id} label={`Copy the ${kind}'s id`} />
      </span>
    ),
  },
  {
    title: 'Can',
    onPhone: 'note',
    cell: ({ abilities, scopes }) => (
      <span title={scopes.join(', ')}>{abilities.map((ability) => ABILITIES[ability] ?? ability).join(', ')}</span>
    ),
  },
  { title: 'Roles', onPhone: 'note', cell: ({ roles }) => roles.join(', ') || <span class="quiet">none</span> },
  {
    title: 'Card program',
    onPhone: 'note',
    cell: ({ program_id }) => (program_id === null ? 'All programs' : <ProgramName id={program_id} />),
  },
  {
    title: 'Last used',
    onPhone: 'value',
    cell: ({ last_used_at }) =>
      last_used_at === null ? <span class="quiet">never</span> : <Moment at={last_used_at} short actual />,
  },
  { title: 'Expires', cell: ({ expires_at: at }) => at !== null && <Moment at={at} short /> },
];
