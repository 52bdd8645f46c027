import { useState } from 'preact/hooks';
import type { CreateProgramBody, ProgramRecord } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, WhoMay } from '../../components/button.tsx';
import type { Column } from '../../components/data-table.tsx';
import { ConfirmDialog } from '../../components/dialogs/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { Empty } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Money } from '../../components/money.tsx';
import { NameLink } from '../../components/name.tsx';
import { Page } from '../../components/page.tsx';
import { PagedTable } from '../../components/paged-list.tsx';
import { hrefTo, navigate } from '../../data/location.ts';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';
import { usePages } from '../../data/use-pages.ts';
import { useAskedDialog } from '../../data/use-url-state.ts';
import { shortId } from '../../format/ids.ts';

const PAGE_ROWS = 50;

export function ProgramsScreen() {
  const { can } = useSession();
  const [isCreating, setCreating] = useState(false);
  useAskedDialog((asked) => setCreating(asked === 'create' && can('create_program')));
  const programs = usePages((api, options, cursor) =>
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
      <PagedTable
        pages={programs}
        label="Card programs"
        columns={COLUMNS}
        rowKey={({ program_id: id }) => id}
        href={pathOf}
        empty={<Empty title="No card programs yet">Cards and transfers belong to a program: create one first.</Empty>}
      />
      <WhoMay operation="create_program" to="create a program" />
      {isCreating && <CreateDialog onClose={() => setCreating(false)} />}
    </Page>
  );
}

function pathOf({ program_id: id }: ProgramRecord): string {
  return hrefTo(`/console/programs/${id}`, { program: id });
}

const COLUMNS: readonly Column<ProgramRecord>[] = [
  {
    title: 'Name',
    onPhone: 'title',
    cell: (program) => <NameLink kind="program" id={program.program_id} name={program.name} />,
  },
  {
    title: 'Available funds',
    align: 'end',
    onPhone: 'value',
    cell: ({ funding }) => (
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
    title: 'Low-balance alert',
    onPhone: 'note',
    optional: 'shown',
    cell: (program) => {
      if (program.funding_low_threshold === null) return null;
      return isLow(program) ? (
        <Badge tone="bad">funds are low</Badge>
      ) : (
        <>
          alert below <Money amount={program.funding_low_threshold} currency={program.currency} />
        </>
      );
    },
  },
  {
    title: 'Yesterday',
    onPhone: 'note',
    optional: 'shown',
    cell: ({ program_id: id }) => (
      <a class="unbroken" href={hrefTo(`/console/programs/${id}/day`, { program: id })}>
        See the day
      </a>
    ),
  },
  { title: 'Time zone', optional: 'shown', cell: ({ time_zone: zone }) => zone },
  { title: 'Created', optional: 'shown', cell: ({ created_at: at }) => <Moment at={at} short /> },
  { title: 'Id', optional: 'hidden', cell: ({ program_id: id }) => <code>{shortId(id)}</code> },
];

function CreateDialog({ onClose }: { readonly onClose: () => void }) {
  const [body, setBody] = useState<CreateProgramBody>({ name: '', currency: '', time_zone: 'UTC' });
  const create = useAction((wanted: CreateProgramBody, api, options) => api.programs.create(wanted, options), {
    operation: 'create_program',
  });
  const submit = async () => {
    const made = await create.run(body);
    if (made !== undefined) navigate(pathOf(made));
  };
  return (
    <ConfirmDialog
      title="New card program"
      confirm={body.name.trim() === '' ? 'Create the program' : `Create ${body.name.trim()}`}
      pending={create.pending}
      disabled={body.name.trim() === '' || body.currency === ''}
      error={create.error}
      onConfirm={submit}
      onClose={onClose}
    >
      <TextField label="Name" name="name" value={body.name} onInput={(name) => setBody({ ...body, name })} />
      <TextField
        label="Currency"
        name="currency"
        hint="Three letters, such as USD: the currency of its cards. It can't be changed later."
        value={body.currency}
        onInput={(currency) => setBody({ ...body, currency: currency.trim().toUpperCase() })}
      />
      <TextField
        label="Time zone"
        name="time_zone"
        hint="Such as Europe/Berlin. Daily limits reset at midnight there. It can't be changed later."
        value={body.time_zone ?? ''}
        onInput={(zone) => setBody({ ...body, time_zone: zone.trim() })}
      />
    </ConfirmDialog>
  );
}

/** Whether the available funds in the program's currency are below its threshold. */
export function isLow({ funding, currency, funding_low_threshold: threshold }: ProgramRecord): boolean {
  if (threshold === null) return false;
  return (funding.find((account) => account.currency === currency)?.available ?? 0) < threshold;
}
