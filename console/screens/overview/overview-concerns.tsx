import { useState } from 'preact/hooks';
import type { ConnectorRecord, Overview } from '../../../sdk/client.ts';
import { Button } from '../../components/button.tsx';
import { Moment } from '../../components/moment.tsx';
import { IncidentDialog } from '../../components/support/incident-dialog.tsx';
import { hrefTo } from '../../data/location.ts';
import { useSession } from '../../data/session.ts';
import { useOperation } from '../../data/use-operation.ts';
import { attentionText } from '../../format/operators/processors.ts';
import { urgentText } from '../../format/support/cases.ts';
import { burstText, draftOfBurst } from '../../format/support/incidents.ts';

/** Alerts cover all of this, so once a minute is enough here. */
const POLL_MILLISECONDS = 60_000;

/** The maximum number of breaks to count. If there are more, the screen says so. */
const MAX_BREAKS = 100;

/** The open tasks for processors: the connectors that are down, and a sentence about everything that needs attention. */
export type ProcessorConcerns = { readonly down: readonly ConnectorRecord[]; readonly attention: string | undefined };

export function useProcessorConcerns(): ProcessorConcerns {
  const { can } = useSession();
  const { data } = useOperation(
    can('list_connectors')
      ? async (api, options) => {
          const { data: connectors } = await api.connectors.list(options);
          // Reads no breaks if there are no connectors, because only processors cause them.
          const found = connectors.length === 0 ? undefined : await api.breaks.list({ limit: MAX_BREAKS }, options);
          return { connectors, breaks: found?.data.length ?? 0, hasMore: (found?.next_cursor ?? null) !== null };
        }
      : undefined,
    { isOwn: true, ofAnyProgram: true, pollMilliseconds: POLL_MILLISECONDS },
  );
  if (data === undefined) return { down: [], attention: undefined };
  const down = data.connectors.filter(({ state }) => state === 'down');
  const attention = attentionText(data.connectors, data.breaks, data.hasMore);
  return { down, attention };
}

/** Lists the open tasks for processors below the first line. Shows nothing if there are none. */
export function ProcessorConcernList({ of: { down, attention } }: { readonly of: ProcessorConcerns }) {
  if (down.length === 0 && attention === undefined) return null;
  return (
    <ul class="concerns" aria-label="Open tasks for processors">
      {down.map(({ connector_id: id, since, reason }) => (
        <li key={id}>
          The connector {id} is down
          {since !== null && (
            <>
              {' '}
              since <Moment at={since} short />
            </>
          )}
          {reason === null ? '.' : `: ${reason}`} <a href={hrefTo('/console/processors')}>Its transfers</a>
        </li>
      ))}
      {attention !== undefined && (
        <li>
          {attention} <a href={hrefTo('/console/processors')}>Open the queue</a>
        </li>
      )}
    </ul>
  );
}

/** The most urgent cases come first, so one page is enough. */
const MAX_CASES = 100;

type Burst = Overview['proposed_incidents'][number];

/** Lists the open tasks for support: urgent cases, and errors that may have one cause. Shows nothing if there are none. */
export function Support({ proposed }: { readonly proposed: readonly Burst[] }) {
  const { can } = useSession();
  const [draft, setDraft] = useState<Burst | undefined>(undefined);
  const urgent = useUrgentCases();
  const isBurst = proposed.length > 0;
  // Reads the open incidents, to skip codes that one already covers.
  const open = useOperation(
    isBurst ? (api, options) => api.incidents.list({ status: 'open', limit: 100 }, options) : undefined,
    { deps: [proposed.map(({ code }) => code).join(' ')], isOwn: true, pollMilliseconds: POLL_MILLISECONDS },
  );
  const known = open.data?.data ?? [];
  const news = proposed.filter(({ code }) => !known.some(({ codes }) => codes.includes(code)));
  if (urgent === undefined && news.length === 0) return null;
  return (
    <>
      <ul class="concerns" aria-label="Open tasks for support">
        {urgent !== undefined && (
          <li>
            {urgent} <a href={hrefTo('/console/cases')}>Open the queue</a>
          </li>
        )}
        {news.map((burst) => (
          <li key={burst.code}>
            <a href={hrefTo('/console/errors', { code: burst.code })}>{burst.code}</a> occurred {burstText(burst)}:
            there may be one cause.{' '}
            {can('create_incident') && <Button onClick={() => setDraft(burst)}>Open an incident…</Button>}
          </li>
        ))}
      </ul>
      {draft !== undefined && (
        <IncidentDialog draft={draftOfBurst(draft, Date.now())} onClose={() => setDraft(undefined)} />
      )}
    </>
  );
}

/** Counts the open urgent cases in a sentence. Undefined if there are none. */
function useUrgentCases(): string | undefined {
  const { can } = useSession();
  const { data } = useOperation(
    can('search_cases') ? (api, options) => api.cases.search({ limit: MAX_CASES }, options) : undefined,
    { isOwn: true, pollMilliseconds: POLL_MILLISECONDS },
  );
  const urgent = (data?.data ?? []).filter(({ urgency }) => urgency === 'urgent');
  return urgent.length === 0 ? undefined : urgentText(urgent, MAX_CASES);
}
