import type { InspectedIncident, QueuedCase } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { LinkedText } from '../../components/id.tsx';
import { Empty, Loaded } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { ProgramName } from '../../components/name.tsx';
import { Section } from '../../components/page.tsx';
import { hrefOfCase } from '../../components/support/contact-support.tsx';
import { hrefTo } from '../../data/location.ts';
import { useAction } from '../../data/use-action.ts';
import { useOperation } from '../../data/use-operation.ts';
import { formatNumber } from '../../format/operators/switch.ts';
import { STATUS_TONES, statusOf } from '../../format/support/cases.ts';
import { uncoveredText } from '../../format/support/incidents.ts';

const POLL_MILLISECONDS = 5_000;

/** The maximum number of cases per status. The queue has all of them. */
const MAX_CASES = 50;

/** The maximum number of proposed cases, and of cases that are searched for their details. */
const MAX_PROPOSED = 100;

type Parts = {
  readonly incident: InspectedIncident;
  readonly onDone: (text: string) => void;
};

/** Shows the cases of an incident, and the cases that may belong to it. */
export function IncidentCases({ incident, onDone }: Parts) {
  return (
    <>
      <Proposed incident={incident} onDone={onDone} />
      <Attached incident={incident} />
    </>
  );
}

function Attached({
  incident: { incident_id: id, status, case_count: count, unresolved_case_count: left },
}: Pick<Parts, 'incident'>) {
  const statuses =
    status === 'open' ? (['open', 'waiting'] as const) : (['resolved', 'open', 'waiting', 'closed'] as const);
  const cases = useOperation(
    async (api, options) => {
      const pages = statuses.map((one) =>
        api.cases.search({ incident_id: id, status: one, limit: MAX_CASES }, options),
      );
      return (await Promise.all(pages)).flatMap(({ data }) => data);
    },
    { deps: [id, status, count, left], pollMilliseconds: POLL_MILLISECONDS },
  );
  return (
    <Section title={count === 0 ? 'Cases' : formatNumber(count, 'case')}>
      {status === 'resolved' && left > 0 && (
        <p role="status">{formatNumber(left, 'more case')} will be resolved in a moment.</p>
      )}
      <Loaded state={cases}>
        {(found) => (
          <DataTable
            label="Cases of the incident"
            rows={found}
            rowKey={({ case_id }) => case_id}
            href={hrefOfCase}
            columns={COLUMNS}
            empty={<Empty title="No open case belongs to it">Cases are resolved when their incident ends.</Empty>}
          />
        )}
      </Loaded>
      {count > 0 && (
        <p>
          <a href={hrefTo('/console/cases', { incident: id, status: status === 'open' ? '' : 'resolved' })}>
            See them in the queue
          </a>
        </p>
      )}
    </Section>
  );
}

/**
 * Proposes the cases that the incident covers and that belong to no incident. The user attaches all of them with one
 * key press, or each separately.
 */
function Proposed({ incident, onDone }: Parts) {
  const { incident_id: id, proposed_case_ids: proposed } = incident;
  const attach = useAction(({ ids }: { readonly ids: readonly string[] }, api, options) =>
    api.incidents.attach(id, ids, options),
  );
  const rows = useProposed(incident);
  if (proposed.length === 0) return null;
  const run = async (ids: readonly string[]) => {
    const attached = await attach.run({ ids });
    if (attached === undefined) return;
    const uncovered = uncoveredText(ids.length, attached.uncovered_case_ids.length);
    onDone(`Attached ${formatNumber(ids.length, 'case')}.${uncovered}`);
  };
  return (
    <Section
      title={`${formatNumber(proposed.length, 'case')} may belong to it`}
      actions={
        <Button kind="main" onClick={() => void run(proposed)} pending={attach.pending} shortcut="a">
          {proposed.length === 1 ? 'Attach it' : `Attach all ${proposed.length}`}
        </Button>
      }
    >
      {attach.error !== undefined && <ErrorRecord error={attach.error} />}
      <DataTable
        label="Proposed cases"
        rows={rows}
        rowKey={({ case_id }) => case_id}
        href={hrefOfCase}
        columns={[
          ...COLUMNS,
          {
            title: 'Attach',
            onPhone: 'note',
            cell: ({ case_id: one }) => (
              <span class="row-actions">
                <Button onClick={() => void run([one])} pending={attach.pending}>
                  Attach
                </Button>
              </span>
            ),
          },
        ]}
      />
    </Section>
  );
}

/** Returns the details of the proposed cases that are among the most urgent. */
function useProposed({ proposed_case_ids: ids, codes }: InspectedIncident): readonly QueuedCase[] {
  const [code, ...others] = codes;
  const isOne = code !== undefined && others.length === 0;
  const { data } = useOperation(
    ids.length === 0
      ? undefined
      : async (api, options) => {
          const wanted = { limit: MAX_PROPOSED, ...(isOne && { code }) };
          const pages = (['open', 'waiting'] as const).map((status) =>
            api.cases.search({ ...wanted, status }, options),
          );
          return (await Promise.all(pages)).flatMap((page) => page.data);
        },
    { deps: [ids.join(' ')], isOwn: true },
  );
  return (data ?? []).filter(({ case_id: id }) => ids.includes(id));
}

const COLUMNS: readonly Column<QueuedCase>[] = [
  {
    title: 'Opened',
    onPhone: 'note',
    cell: (row) => (
      <a href={hrefOfCase(row)}>
        <Moment at={row.created_at} short />
      </a>
    ),
  },
  {
    title: 'What happened',
    onPhone: 'title',
    cell: ({ summary, program_id: programId }) => (
      <span class="error-text">
        {summary === null ? 'Erased' : <LinkedText text={summary} programId={programId} />}
      </span>
    ),
  },
  { title: 'Program', onPhone: 'note', cell: ({ program_id }) => <ProgramName id={program_id} plain /> },
  {
    title: 'Status',
    onPhone: 'value',
    cell: ({ status }) => <Badge tone={STATUS_TONES[status]}>{statusOf(status, 'support')}</Badge>,
  },
];
