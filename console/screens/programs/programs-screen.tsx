import { useState } from 'preact/hooks';
import type { CreateProgramBody, ProgramRecord } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { Empty } from '../../components/empty.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { TextField } from '../../components/field.tsx';
import { Id } from '../../components/id.tsx';
import { Loading } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Money } from '../../components/money.tsx';
import { Page } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { hrefTo, navigate } from '../../data/location.ts';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';
import { usePages } from '../../data/use-pages.ts';
import { isLow } from '../../format/funding.ts';

const PAGE_ROWS = 50;

/** Every card program with its funding. */
export function ProgramsScreen() {
  const { can } = useSession();
  const [isCreating, setCreating] = useState(false);
  const { rows, isLoaded, error, stale, pager } = usePages((api, options, cursor) =>
    api.programs.list({ limit: PAGE_ROWS, ...(cursor !== undefined && { cursor }) }, options),
  );
  return (
    <Page
      title="Programs and funding"
      actions={
        can('create_program') && (
          <Button kind="main" onClick={() => setCreating(true)}>
            New program
          </Button>
        )
      }
    >
      {error !== undefined && <ErrorRecord error={error} stale={isLoaded} />}
      {!isLoaded && error === undefined && <Loading />}
      {isLoaded && (
        <DataTable
          label="Card programs"
          columns={COLUMNS}
          rows={rows}
          rowKey={({ program_id: id }) => id}
          href={pathOf}
          stale={stale}
          empty={<Empty title="No card program">Create one: cards and transfers belong to a program.</Empty>}
        />
      )}
      <Pager {...pager} />
      {isCreating && <CreateDialog onClose={() => setCreating(false)} />}
    </Page>
  );
}

function pathOf({ program_id: id }: ProgramRecord): string {
  return hrefTo(`/console/programs/${id}`, { program: id });
}

const COLUMNS = [
  { title: 'Name', cell: (program: ProgramRecord) => <a href={pathOf(program)}>{program.name}</a> },
  { title: 'Id', cell: ({ program_id: id }: ProgramRecord) => <Id id={id} programId={id} /> },
  {
    title: 'Available funds',
    align: 'end' as const,
    cell: ({ funding }: ProgramRecord) => (
      <div>
        {funding.map(({ currency, available }) => (
          <div key={currency}>
            <Money amount={available} currency={currency} />
          </div>
        ))}
      </div>
    ),
  },
  {
    title: 'Funds',
    cell: (program: ProgramRecord) => {
      if (isLow(program)) return <Badge tone="bad">low</Badge>;
      if (program.funding_low_threshold === null) return <Badge tone="quiet">not watched</Badge>;
      return <Badge tone="good">in order</Badge>;
    },
  },
  { title: 'Time zone', wideOnly: true, cell: ({ time_zone: zone }: ProgramRecord) => zone },
  { title: 'Created', wideOnly: true, cell: ({ created_at: at }: ProgramRecord) => <Moment at={at} /> },
];

function CreateDialog({ onClose }: { readonly onClose: () => void }) {
  const [body, setBody] = useState<CreateProgramBody>({ name: '', currency: '', time_zone: 'UTC' });
  const create = useAction((wanted: CreateProgramBody, api, options) => api.programs.create(wanted, options));
  const submit = async () => {
    const made = await create.run(body);
    if (made !== undefined) navigate(pathOf(made));
  };
  return (
    <ConfirmDialog
      title="New card program"
      confirm="Create the program"
      pending={create.pending}
      disabled={body.name.trim() === '' || body.currency === ''}
      error={create.error}
      onConfirm={submit}
      onClose={onClose}
    >
      <TextField label="Name" value={body.name} onInput={(name) => setBody({ ...body, name })} />
      <TextField
        label="Currency"
        hint="Three letters, such as USD: the currency of its cards. It cannot be changed."
        value={body.currency}
        onInput={(currency) => setBody({ ...body, currency: currency.trim().toUpperCase() })}
      />
      <TextField
        label="Time zone"
        hint="Its days begin there, for limits; such as Europe/Berlin. It cannot be changed."
        value={body.time_zone ?? ''}
        onInput={(zone) => setBody({ ...body, time_zone: zone.trim() })}
      />
    </ConfirmDialog>
  );
}
