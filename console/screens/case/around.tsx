import type { CaseRecord, InspectedErrorRecord, LoggedErrorRecord } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { LinkedText } from '../../components/id.tsx';
import { Moment } from '../../components/moment.tsx';
import { ProgramName } from '../../components/name.tsx';
import { Section } from '../../components/page.tsx';
import { hrefOfCase } from '../../components/support/contact-support.tsx';
import { hrefTo } from '../../data/location.ts';
import { useSession } from '../../data/session.ts';
import { useOperation } from '../../data/use-operation.ts';
import { pathOf } from '../../format/ids.ts';
import { OUTCOMES, STATUS_TONES, statusOf } from '../../format/support/cases.ts';

/** Errors of the same key shortly before and after often show the cause. */
const WINDOW_MILLISECONDS = 10 * 60_000;

/** Maximum number of errors to read. The service lists the errors of all keys, and the screen picks the errors of one key. */
const MAX_ERRORS = 100;

/** Lists failed requests of the same key, from ten minutes before to ten minutes after. */
export function Around({ error }: { readonly error: InspectedErrorRecord }) {
  const { can } = useSession();
  const { request_id: requestId, key_id: keyId, program_id: programId, created_at: at } = error;
  const time = Date.parse(at);
  const found = useOperation<readonly LoggedErrorRecord[]>(
    async (api, options) => {
      const wanted = {
        limit: MAX_ERRORS,
        created_from: new Date(time - WINDOW_MILLISECONDS).toISOString(),
        created_to: new Date(time + WINDOW_MILLISECONDS).toISOString(),
      };
      if (can('search_errors') && programId !== null) {
        return (await api.errors.search({ ...wanted, program_id: programId }, options)).data;
      }
      return can('list_errors') ? (await api.errors.list(wanted, options)).data : [];
    },
    { deps: [requestId] },
  );
  const others = (found.data ?? []).filter((one) => one.key_id === keyId && one.request_id !== requestId);
  if (others.length === 0) return null;
  return (
    <Section title={keyId === null ? 'Other errors around that time' : 'Other errors of the same key'}>
      <DataTable
        label="Errors around that time"
        rows={others}
        rowKey={({ request_id }) => request_id}
        href={({ request_id }) => hrefTo(pathOf(request_id) ?? '')}
        columns={[
          {
            title: 'Time',
            onPhone: 'note',
            cell: (row) => (
              <a href={hrefTo(pathOf(row.request_id) ?? '')}>
                <Moment at={row.created_at} short actual />
              </a>
            ),
          },
          {
            title: 'What happened',
            onPhone: 'title',
            cell: ({ message }) => (
              <span class="error-text">
                <LinkedText text={message} programId={programId} />
              </span>
            ),
          },
          { title: 'Code', onPhone: 'note', cell: ({ code }) => <code>{code}</code> },
        ]}
      />
    </Section>
  );
}

/** Lists other cases with the same error code. Their outcomes may answer this case. */
export function Similar({ cases }: { readonly cases: readonly CaseRecord[] }) {
  if (cases.length === 0) return null;
  return (
    <Section title="Similar cases">
      <DataTable
        label="Similar cases"
        rows={cases}
        rowKey={({ case_id }) => case_id}
        href={hrefOfCase}
        columns={[
          {
            title: 'Opened',
            onPhone: 'note',
            cell: (row) => (
              <a href={hrefOfCase(row)}>
                <Moment at={row.created_at} distance />
              </a>
            ),
          },
          { title: 'Program', onPhone: 'title', cell: ({ program_id }) => <ProgramName id={program_id} plain /> },
          {
            title: 'Status',
            onPhone: 'value',
            cell: ({ status }) => <Badge tone={STATUS_TONES[status]}>{statusOf(status, 'support')}</Badge>,
          },
          { title: 'Outcome', onPhone: 'note', cell: ({ outcome }) => (outcome === null ? '' : OUTCOMES[outcome]) },
        ]}
      />
    </Section>
  );
}
