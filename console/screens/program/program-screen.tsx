import { useState } from 'preact/hooks';
import type { ProgramRecord } from '../../../sdk/client.ts';
import { Actions } from '../../components/actions.tsx';
import { ApprovalNotice, PendingApproval } from '../../components/approval.tsx';
import { Badge } from '../../components/badge.tsx';
import { Button, WhoMay } from '../../components/button.tsx';
import { useCsvExport } from '../../components/csv-export.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { Details, Highlights, metadataFacts } from '../../components/details.tsx';
import { DIRECTIONS, LimitsDialog } from '../../components/dialogs/limits-dialog.tsx';
import { Id } from '../../components/id.tsx';
import { later } from '../../components/later.tsx';
import { Empty, Loaded } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Money } from '../../components/money.tsx';
import { Page, Section } from '../../components/page.tsx';
import { PagedTable } from '../../components/paged-list.tsx';
import { hrefTo, type Parameters } from '../../data/location.ts';
import { useSession } from '../../data/session.ts';
import { useOperation } from '../../data/use-operation.ts';
import { usePages } from '../../data/use-pages.ts';
import { useAskedDialog } from '../../data/use-url-state.ts';
import { formatCount } from '../../format/amounts.ts';
import { type Limits, type LimitsChange, limitText, rowsOf } from '../../format/limits.ts';
import { sentenceCase } from '../../format/names.ts';
import { isLow } from '../programs/programs-screen.tsx';
import { MOVEMENT_COLUMNS } from './movement-columns.tsx';
import { MoveDialog, SettingsDialog, useEditProgram } from './program-dialogs.tsx';

const PAGE_ROWS = 20;

const SWITCH_POLL_MILLISECONDS = 5_000;

const CreateCardDialog = later(async () => (await import('../cards/create-card-dialog.tsx')).CreateCardDialog);

type Open = 'deposit' | 'withdrawal' | 'card' | 'settings' | 'limits' | 'card_limits' | undefined;

/** One card program: its funding, its deposits and withdrawals, and the limits of all cards and of each card. */
export function ProgramScreen({ parameters }: { readonly parameters: Parameters }) {
  const programId = parameters.program_id ?? '';
  const program = useOperation((api, options) => api.programs.get(programId, options), { deps: [programId] });
  const [moves, setMoves] = useState(0);
  const [open, setOpen] = useState<Open>(undefined);
  const { can } = useSession();
  useAskedDialog((asked) => {
    if (asked === 'deposit' && can('create_deposit')) setOpen(asked);
    if (asked === 'withdrawal' && can('create_withdrawal')) setOpen(asked);
  });
  const close = () => setOpen(undefined);
  const changed = () => {
    close();
    program.reload();
    setMoves(moves + 1);
  };
  const { data } = program;
  const dialog = { onChanged: changed, onClose: close };
  return (
    <Page
      title={data?.name ?? 'Card program'}
      lead={<Id id={programId} whole />}
      actions={data !== undefined && <ProgramActions program={data} onOpen={setOpen} />}
    >
      <PendingApproval record={data} />
      <Loaded state={program}>{(found) => <ProgramFacts program={found} onOpen={setOpen} />}</Loaded>
      <Movements programId={programId} moves={moves} />
      {data !== undefined && (open === 'deposit' || open === 'withdrawal') && (
        <MoveDialog program={data} kind={open} {...dialog} />
      )}
      {open === 'card' && <CreateCardDialog programId={programId} onClose={close} />}
      {data !== undefined && open === 'settings' && <SettingsDialog program={data} {...dialog} />}
      {data !== undefined && (open === 'limits' || open === 'card_limits') && (
        <ProgramLimitsDialog program={data} which={open} {...dialog} />
      )}
    </Page>
  );
}

function ProgramActions({
  program: { program_id: programId, funding },
  onOpen,
}: {
  readonly program: ProgramRecord;
  readonly onOpen: (open: Open) => void;
}) {
  const { can } = useSession();
  const mayStop = can('change_switch');
  const switches = useOperation(mayStop ? (api, options) => api.switch.get(options) : undefined, {
    isOwn: true,
    pollMilliseconds: SWITCH_POLL_MILLISECONDS,
  });
  const isStopped = switches.data?.data.some(({ disabled, program_id: id, type, connector_id: connector }) => {
    return disabled && id === programId && type === null && connector === null;
  });
  const hasFunds = funding.some(({ available }) => available > 0);
  return (
    <Actions
      kind={can('create_deposit') ? 'main' : 'plain'}
      actions={[
        can('create_deposit') && { text: 'Deposit', onChoose: () => onOpen('deposit') },
        can('create_withdrawal') && {
          text: 'Withdraw',
          whyNot: hasFunds ? undefined : 'The program has no available funds.',
          onChoose: () => onOpen('withdrawal'),
        },
        can('create_card') && { text: 'New card', onChoose: () => onOpen('card') },
        can('update_program') && { text: 'Change', onChoose: () => onOpen('settings') },
        can('list_move_ins') && { text: 'Move-ins', href: hrefTo('/console/move-ins', { of: programId }) },
        can('get_day') && { text: "Yesterday's report", href: hrefTo(`/console/programs/${programId}/day`) },
        mayStop && {
          text: 'Stop transfers…',
          whyNot: isStopped ? 'All transfers of the program are already stopped.' : undefined,
          isDanger: true,
          href: hrefTo('/console/switch', { scope: 'program', of: programId }),
        },
      ]}
    />
  );
}

function ProgramFacts({ program, onOpen }: { readonly program: ProgramRecord; readonly onOpen: (open: Open) => void }) {
  const { currency, funding_low_threshold: threshold } = program;
  const { can } = useSession();
  const edit = (which: 'limits' | 'card_limits') =>
    can('update_program') && <Button onClick={() => onOpen(which)}>Change the limits</Button>;
  const alert =
    threshold === null ? (
      'off'
    ) : (
      <>
        below <Money amount={threshold} currency={currency} />
        {isLow(program) && (
          <>
            {' '}
            <Badge tone="bad">funds are low</Badge>
          </>
        )}
      </>
    );
  return (
    <>
      <Highlights
        facts={program.funding.map((account) => ({
          name: 'Available funds',
          value: <Money amount={account.available} currency={account.currency} />,
          note:
            account.balance === account.available ? undefined : (
              <>
                of <Money amount={account.balance} currency={account.currency} />; the rest is on hold
              </>
            ),
        }))}
      />
      <Details
        facts={[
          ['Low-balance alert', alert],
          ['Currency', currency],
          ['Time zone', program.time_zone],
          ['Created', <Moment at={program.created_at} />],
          ...metadataFacts(program.metadata),
        ]}
      />
      <WhoMay operation="create_deposit" to="deposit or withdraw" />
      <WhoMay operation="update_program" to="change the limits or the alert" />
      <div class="two-parts">
        <Section title="Limits of all cards together" actions={edit('limits')}>
          <LimitsTable limits={program.limits} currency={currency} label="Limits of all cards together" />
        </Section>
        <Section title="Limits of each card" actions={edit('card_limits')}>
          <LimitsTable limits={program.card_limits} currency={currency} label="Limits of each card" />
        </Section>
      </div>
    </>
  );
}

function Movements({ programId, moves }: { readonly programId: string; readonly moves: number }) {
  const movements = usePages(
    (api, options, cursor) =>
      api.programs.movements(programId, { limit: PAGE_ROWS, ...(cursor !== undefined && { cursor }) }, options),
    { deps: [programId, moves] },
  );
  const csv = useCsvExport('deposits-and-withdrawals.csv', 'deposits and withdrawals', (api, options) =>
    api.programs.exportMovements(programId, {}, options),
  );
  return (
    <Section title="Deposits and withdrawals" actions={csv.button}>
      {csv.note}
      <PagedTable
        pages={movements}
        label="Deposits and withdrawals"
        columns={MOVEMENT_COLUMNS}
        rowKey={({ movement_id: id }) => id}
        empty={
          <Empty title="No deposits yet">Cards are loaded from the funds of their program: make a deposit first.</Empty>
        }
      />
    </Section>
  );
}

type Row = ReturnType<typeof rowsOf>[number];

function LimitsTable({
  limits,
  currency,
  label,
}: {
  readonly limits: Limits | null;
  readonly currency: string;
  readonly label: string;
}) {
  return (
    <DataTable
      label={label}
      rows={rowsOf(limits)}
      rowKey={({ direction, name }) => `${direction}.${name}`}
      empty={<Empty title="No limits">Only funds and balances limit transfers.</Empty>}
      columns={[
        {
          title: 'Direction',
          onPhone: 'note',
          cell: ({ direction }: Row) =>
            direction === 'in' || direction === 'out' ? DIRECTIONS[direction] : 'On each card',
        },
        { title: 'Limit', onPhone: 'title', cell: ({ name }: Row) => sentenceCase(limitText(name)) },
        {
          title: 'Value',
          align: 'end',
          onPhone: 'value',
          cell: ({ name, value }: Row) =>
            name.endsWith('_count') ? formatCount(value) : <Money amount={value} currency={currency} />,
        },
      ]}
    />
  );
}

/** Changes the limits of a program, either for all its cards together or for each card. */
function ProgramLimitsDialog({
  program,
  which,
  onChanged,
  onClose,
}: {
  readonly program: ProgramRecord;
  readonly which: 'limits' | 'card_limits';
  readonly onChanged: () => void;
  readonly onClose: () => void;
}) {
  const update = useEditProgram(program);
  const whose = which === 'limits' ? `all cards of ${program.name} together` : `each card of ${program.name}`;
  return (
    <LimitsDialog
      title={`Limits of ${whose}`}
      confirm={`Save the limits of ${program.name}`}
      field={which}
      limits={program[which]}
      currency={program.currency}
      hasBalance={which === 'card_limits'}
      pending={update.pending}
      error={update.error}
      onConfirm={async (change: LimitsChange) => {
        if ((await update.run({ [which]: change })) !== undefined) onChanged();
      }}
      onClose={onClose}
    >
      <ApprovalNotice operation="update_program" fields={[which]} />
    </LimitsDialog>
  );
}
