import '../transfer/transfer.css';
import './break.css';
import { useState } from 'preact/hooks';
import type { BreakRecord } from '../../../sdk/client.ts';
import { TransferStatus } from '../../components/badge.tsx';
import { Button, WhoMay } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Details, Highlights } from '../../components/details.tsx';
import { Id, LinkedText } from '../../components/id.tsx';
import { Empty, Loaded } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Money } from '../../components/money.tsx';
import { KeyName, ProgramName } from '../../components/name.tsx';
import { Page, Section } from '../../components/page.tsx';
import { hrefTo, type Parameters } from '../../data/location.ts';
import { useProgramOf } from '../../data/program.ts';
import { useSession } from '../../data/session.ts';
import { useOperation } from '../../data/use-operation.ts';
import { pathOf, shortId } from '../../format/ids.ts';
import { sentenceCase } from '../../format/names.ts';
import { ageText, BREAK_KINDS, meaningOf, orderOf, statementOf } from '../../format/operators/processors.ts';
import { CloseDialog, canNameOrders } from '../processors/breaks.tsx';
import { readTransfer, Timeline } from '../transfer/timeline.tsx';

const POLL_MILLISECONDS = 5_000;

/** The number of newest approved attempts among which the proposed ones are looked for. */
const MAX_ATTEMPTS = 100;

/** What the form that closes a break proposes: the account of a booking, or the attempt that a line is about. */
type Chosen = { readonly chosen?: string; readonly orders?: string };

/** One break: the values of both sides, the ways to close it, and the history of the transfer next to the processor's statement. */
export function BreakScreen({ parameters }: { readonly parameters: Parameters }) {
  const id = parameters.break_id ?? '';
  const { can } = useSession();
  const [done, setDone] = useState('');
  const [closing, setClosing] = useState<Chosen | undefined>(undefined);
  const state = useOperation((api, options) => api.breaks.get(id, options), {
    deps: [id],
    ofAnyProgram: true,
    pollMilliseconds: POLL_MILLISECONDS,
  });
  const found = state.data;
  useProgramOf(found?.program_id);
  const isOpen = found?.closed_at === null;
  return (
    <Page
      title={found === undefined ? 'Break' : `Break: ${BREAK_KINDS[found.kind].word}`}
      lead={<Id id={id} whole />}
      actions={
        isOpen &&
        can('close_break') && (
          <Button kind="main" onClick={() => setClosing({})}>
            Close…
          </Button>
        )
      }
    >
      <p class={done === '' ? 'hidden' : 'notice'} role="status">
        {done}
      </p>
      <Loaded state={state}>
        {(shown) => (
          <>
            <Answer found={shown} />
            {isOpen && <WhoMay operation="close_break" to="close a break" />}
            <Facts found={shown} />
            <Bookings found={shown} onChoose={can('close_break') ? setClosing : undefined} />
            <div class="beside">
              <Statement found={shown} />
              <Transfer found={shown} />
            </div>
          </>
        )}
      </Loaded>
      {closing !== undefined && found !== undefined && (
        <CloseDialog
          found={found}
          {...closing}
          onDone={(text) => {
            setClosing(undefined);
            setDone(text);
            state.reload();
          }}
          onClose={() => setClosing(undefined)}
        />
      )}
    </Page>
  );
}

function Answer({ found: { kind, closed_at: at, closed_by: by, note } }: { readonly found: BreakRecord }) {
  return (
    <div class={at === null ? 'answer unknown' : 'answer'}>
      <p>{BREAK_KINDS[kind].meaning}</p>
      {at !== null && (
        <p>
          Closed by <KeyName id={by} plain />, <Moment at={at} />
          {note !== null && `: ${note}`}
        </p>
      )}
    </div>
  );
}

function Facts({ found }: { readonly found: BreakRecord }) {
  const { amount, currency, age_seconds: age, closed_at: at, booked_against: against } = found;
  return (
    <>
      <Highlights
        facts={[
          currency !== null && {
            name: found.attempt_id === null ? 'Amount' : 'Amount of the order',
            value: <Money amount={amount} currency={currency} />,
          },
          { name: at === null ? 'Open for' : 'Found before', value: ageText(age) },
        ]}
      />
      <Details
        facts={[
          ['In the books', <LinkedText key="expected" text={found.expected} />],
          ['The processor says', <LinkedText key="found" text={statementOf(found)} />],
          ['Found', <Moment key="found-at" at={found.created_at} />],
          ['Connector', found.connector_id],
          found.program_id !== null && ['Program', <ProgramName key="program" id={found.program_id} />],
          found.attempt_id !== null && ['Attempt', <Id key="attempt" id={found.attempt_id} />],
          against !== null && ['Booked against', against],
        ]}
      />
    </>
  );
}

type Booking = BreakRecord['bookings'][number];

/** Shows what can be booked before the break is closed. */
function Bookings({
  found,
  onChoose,
}: {
  readonly found: BreakRecord;
  readonly onChoose: ((chosen: Chosen) => void) | undefined;
}) {
  const { bookings, currency, closed_at: closedAt } = found;
  if (canNameOrders(found)) return <Proposals found={found} onChoose={onChoose} />;
  if (bookings.length === 0) {
    return closedAt === null ? (
      <Section title="What can be done">
        <p>No difference can be booked. Ask the processor, then close the break with a note of what you found.</p>
      </Section>
    ) : null;
  }
  const columns: readonly Column<Booking>[] = [
    { title: 'Booking', onPhone: 'title', cell: (booking) => meaningOf(booking) },
    { title: 'From the account', onPhone: 'note', cell: ({ from }) => `from ${from}` },
    { title: 'To the account', onPhone: 'note', cell: ({ to }) => `to ${to}` },
    {
      title: 'Amount',
      align: 'end',
      onPhone: 'value',
      cell: ({ amount }) => <Money amount={amount} currency={currency ?? ''} />,
    },
    ...(onChoose === undefined ? [] : [actionOf(onChoose)]),
  ];
  return (
    <Section title="What can be done">
      <p class="quiet">
        Ask the processor first. Then book the difference in one of these ways, or close without a booking.
      </p>
      <DataTable
        label="Ways to book the difference"
        columns={columns}
        rows={bookings}
        rowKey={(one) => one.book_against}
      />
    </Section>
  );
}

function actionOf(onChoose: (chosen: Chosen) => void): Column<Booking> {
  return {
    title: 'Actions',
    onPhone: 'note',
    cell: (booking) => (
      <span class="row-actions">
        <Button title={`Book: ${meaningOf(booking)}`} onClick={() => onChoose({ chosen: booking.book_against })}>
          Book…
        </Button>
      </span>
    ),
  };
}

/** Shows the approved orders that a line could be about. The newest approved attempts say what they are. */
function Proposals({
  found: { proposed_attempt_ids: ids, connector_id },
  onChoose,
}: {
  readonly found: BreakRecord;
  readonly onChoose: ((chosen: Chosen) => void) | undefined;
}) {
  const attempts = useOperation(
    ids.length === 0
      ? undefined
      : (api, { programId: _, ...options }) =>
          api.attempts.search({ connector_id, status: 'approved', limit: MAX_ATTEMPTS }, options),
    { deps: [connector_id, ids.join()], ofAnyProgram: true },
  );
  const known = (id: string) => attempts.data?.data.find((one) => one.attempt_id === id);
  return (
    <Section title="What can be done">
      <p class="quiet">
        Ask the processor which orders the line pays. Name them when you close the break, so that they count as settled.
        {ids.length > 0 && ' These approved orders have the amount of the line, and no settlement file has them yet.'}
      </p>
      <DataTable
        label="Orders that fit the line"
        rows={ids}
        rowKey={(id) => id}
        empty={<Empty title="No approved order fits the line" />}
        columns={[
          {
            title: 'Order',
            onPhone: 'title',
            cell: (id) => {
              const one = known(id);
              return one === undefined ? (
                <Id id={id} />
              ) : (
                <a href={hrefTo(pathOf(one.transfer_id) ?? '', { program: one.program_id })}>
                  {sentenceCase(orderOf(one))}
                </a>
              );
            },
          },
          { title: 'Made', onPhone: 'note', cell: (id) => <Moment at={known(id)?.created_at} short /> },
          { title: 'Program', onPhone: 'note', cell: (id) => <ProgramName id={known(id)?.program_id} plain /> },
          ...(onChoose === undefined
            ? []
            : [
                {
                  title: 'Actions',
                  onPhone: 'note',
                  cell: (id: string) => (
                    <span class="row-actions">
                      <Button title={`Accept the attempt ${id}`} onClick={() => onChoose({ orders: id })}>
                        Accept…
                      </Button>
                    </span>
                  ),
                } as const,
              ]),
        ]}
      />
    </Section>
  );
}

/** Shows the lines of settlement files that the break is about. */
function Statement({ found: { settlement_lines: lines, found } }: { readonly found: BreakRecord }) {
  return (
    <Section title="What the processor says">
      {lines.length === 0 && (
        <p>
          <LinkedText text={sentenceCase(found)} />. The break names no line of a settlement file.
        </p>
      )}
      {lines.map((line) => (
        <Details
          key={`${line.file_id} ${line.line_number}`}
          facts={[
            [
              'Line',
              <>
                {line.line_number} of{' '}
                <a href={hrefTo(`/console/settlement/${line.file_id}`)} title={line.file_id}>
                  {shortId(line.file_id)}
                </a>
              </>,
            ],
            ['Order', `${sentenceCase(orderOf(line))}${line.status === 'reversed' ? ', reversed' : ''}`],
            ['Fee', <Money key="fee" amount={line.fee} currency={line.currency} />],
            ['Settled on', line.settled_on],
            line.processor_reference !== null && ['Their reference', line.processor_reference],
            line.attempt_id !== null && ['Our id in the line', line.attempt_id],
            line.settled_attempt_ids.length > 0 && ['Settles', line.settled_attempt_ids.join(', ')],
          ]}
        />
      ))}
    </Section>
  );
}

/** Shows the history of the transfer. */
function Transfer({ found: { transfer_id: id, program_id: programId } }: { readonly found: BreakRecord }) {
  const { can } = useSession();
  const isReadable = id !== null && programId !== null && can('get_transfer_timeline');
  const state = useOperation(
    isReadable ? (api, options) => readTransfer(api, id, { ...options, programId }) : undefined,
    { deps: [id], ofAnyProgram: true },
  );
  return (
    <Section title="What the books say">
      {id === null && <p>The break names no transfer.</p>}
      {id !== null && !isReadable && <Id id={id} programId={programId} />}
      {isReadable && (
        <Loaded state={state}>
          {({ transfer, money, steps }) => (
            <>
              <p>
                <a href={hrefTo(`/console/transfer/${id}`, { program: programId })}>The transfer</a>{' '}
                <TransferStatus transfer={transfer} />
              </p>
              <p>
                <LinkedText text={money.sentence} programId={programId} />
              </p>
              <Timeline steps={steps} transfer={transfer} />
            </>
          )}
        </Loaded>
      )}
    </Section>
  );
}
