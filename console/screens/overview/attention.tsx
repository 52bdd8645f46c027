import type { ComponentChildren } from 'preact';
import { useContext, useState } from 'preact/hooks';
import type { ConnectorRecord, Overview } from '../../../sdk/client.ts';
import { Button } from '../../components/button.tsx';
import { LinkedText } from '../../components/id.tsx';
import { later } from '../../components/later.tsx';
import { Moment } from '../../components/moment.tsx';
import { ProgramName } from '../../components/name.tsx';
import { Section } from '../../components/page.tsx';
import { hrefTo } from '../../data/location.ts';
import { PendingApprovalsContext } from '../../data/pending-approvals.ts';
import { useProgramId } from '../../data/program.ts';
import { useSession } from '../../data/session.ts';
import { useOperation } from '../../data/use-operation.ts';
import { attemptsText, breaksText, type Counted, lateOutcomesText } from '../../format/operators/processors.ts';
import { UNAVAILABLE } from '../../format/overview.ts';
import { openCasesText } from '../../format/support/cases.ts';
import { burstText, draftOfBurst } from '../../format/support/incidents.ts';

/** Alerts cover all of this, so once a minute is enough here. */
const POLL_MILLISECONDS = 60_000;

/** The maximum number of breaks, cases and incidents to read. If there are more, the screen says so. */
const MAX_READ = 100;

/** A thing that needs attention. */
type Concern = {
  readonly key: string;
  readonly count?: string;
  readonly isBad?: boolean;
  readonly text: ComponentChildren;
  /** The links to where the work is. */
  readonly links?: ComponentChildren;
};

type Burst = Overview['proposed_incidents'][number];

export type Attention = {
  readonly concerns: readonly Concern[];
  /** Codes that suddenly occur often and that no open incident covers. */
  readonly bursts: readonly Burst[];
  /** Whether a part has not been read yet. */
  readonly isLoading: boolean;
};

/** Finds everything that needs attention today, for the list and for the number in the first line. */
export function useAttention(overview: Overview | undefined): Attention {
  const processors = useProcessors();
  const cases = useCases();
  const approvals = useContext(PendingApprovalsContext);
  const bursts = useBursts(overview?.proposed_incidents ?? []);
  if (overview === undefined) return { concerns: [], bursts: [], isLoading: true };
  const parts = { processors, cases, approvals };
  const unread = Object.entries(parts).flatMap(([name, { data, error }]) =>
    data === undefined && error ? [name] : [],
  );
  return {
    concerns: [
      ...serviceConcerns(overview),
      ...processorConcerns(processors.data, Date.parse(overview.made_at)),
      ...caseConcerns(cases.data),
      ...approvalConcerns(approvals.data),
      // While the database does not respond, the line about it is enough.
      ...(unread.length === 0 || overview.status.unknown.length > 0 ? [] : [unreadConcern(unread)]),
    ],
    bursts,
    isLoading: Object.values(parts).some(({ data, loading }) => loading && data === undefined),
  };
}

function serviceConcerns({ status, processes }: Overview): readonly Concern[] {
  const { readiness, degraded, unknown } = status;
  const shown = readiness.ready ? degraded : [{ ...readiness, name: readiness.reason }, ...degraded];
  const gone = (processes ?? []).filter(({ alive }) => !alive);
  return [
    ...shown.map(({ name, message, runbook }) => ({
      key: name,
      isBad: name === readiness.reason || name === 'books_not_balanced' || name === 'day_not_adding_up',
      text: <LinkedText text={message} />,
      links: (
        <>
          {name === 'service_disabled' && <a href={hrefTo('/console/switch')}>Open the switch</a>}
          {name === 'webhooks_failing' && <a href={hrefTo('/console/failed-webhooks')}>What failed</a>}
          {name === 'day_not_adding_up' && <Days days={status.yesterday.days ?? []} />}
          {runbook !== null && <a href={`/${runbook}`}>What to do</a>}
        </>
      ),
    })),
    ...gone.map(({ host, process_id: id, seen_at: at }) => ({
      key: `${host} ${id}`,
      isBad: true,
      text: (
        <>
          The process {id} on {host} has not been seen since <Moment at={at} short actual />.
        </>
      ),
    })),
    ...(unknown.length === 0 ? [] : [{ key: 'unknown', text: `${UNAVAILABLE}: ${unknown.join(', ')}.` }]),
  ];
}

function Days({ days }: { readonly days: NonNullable<Overview['status']['yesterday']['days']> }) {
  return (
    <>
      {days.map(({ program_id: id, program_name: program, day }) => (
        <a key={`${id} ${day}`} href={hrefTo(`/console/programs/${id}/day`, { day })}>
          See {day} of {program}
        </a>
      ))}
    </>
  );
}

type Processors = {
  readonly connectors: readonly ConnectorRecord[];
  readonly breaks: number;
  readonly hasMore: boolean;
};

function useProcessors() {
  const { can } = useSession();
  return useOperation<Processors>(
    can('list_connectors')
      ? async (api, options) => {
          const { data: connectors } = await api.connectors.list(options);
          // Reads no breaks if there are no connectors, because only processors cause them.
          const found = connectors.length === 0 ? undefined : await api.breaks.list({ limit: MAX_READ }, options);
          return { connectors, breaks: found?.data.length ?? 0, hasMore: (found?.next_cursor ?? null) !== null };
        }
      : undefined,
    { isOwn: true, ofAnyProgram: true, pollMilliseconds: POLL_MILLISECONDS },
  );
}

function processorConcerns(found: Processors | undefined, now: number): readonly Concern[] {
  if (found === undefined) return [];
  const { connectors, breaks, hasMore } = found;
  const path = '/console/processors';
  const down = connectors.filter(({ state }) => state === 'down');
  return [
    ...down.map(({ connector_id: id, since, reason }) => ({
      key: `connector ${id}`,
      isBad: true,
      text: (
        <>
          The connector {id} is down
          {since !== null && (
            <>
              {' '}
              since <Moment at={since} short />
            </>
          )}
          {reason === null ? '.' : `: ${reason}`}
        </>
      ),
      links: <a href={hrefTo(path)}>Its transfers</a>,
    })),
    ...counted('attempts', attemptsText(connectors), { path, link: 'Open the queue', isBad: true }),
    ...counted('late', lateOutcomesText(connectors, now), { path, link: 'See what waits' }),
    ...counted('breaks', breaksText(breaks, hasMore), { path, link: 'Open the breaks' }),
  ];
}

function useCases() {
  const { can } = useSession();
  return useOperation(
    // The most urgent cases come first, so one page is enough.
    can('search_cases') ? (api, options) => api.cases.search({ limit: MAX_READ }, options) : undefined,
    { isOwn: true, pollMilliseconds: POLL_MILLISECONDS },
  );
}

function caseConcerns(found: ReturnType<typeof useCases>['data']): readonly Concern[] {
  if (found === undefined) return [];
  const text = openCasesText(found.data, found.next_cursor !== null);
  return counted('cases', text, { path: '/console/cases', link: 'Open the cases', isBad: text?.isUrgent ?? false });
}

function approvalConcerns(
  found: { readonly count: number; readonly hasMore: boolean } | undefined,
): readonly Concern[] {
  if (found === undefined || found.count === 0) return [];
  const text = found.count === 1 ? 'request waits for an approval.' : 'requests wait for an approval.';
  const count = `${found.count}${found.hasMore ? '+' : ''}`;
  return counted('approvals', { count, text }, { path: '/console/approvals', link: 'Open the approvals' });
}

function counted(
  key: string,
  found: Counted | undefined,
  { path, link, isBad = false }: { readonly path: string; readonly link: string; readonly isBad?: boolean },
): readonly Concern[] {
  if (found === undefined) return [];
  return [{ key, count: found.count, text: found.text, isBad, links: <a href={hrefTo(path)}>{link}</a> }];
}

function unreadConcern(names: readonly string[]): Concern {
  return {
    key: 'unread',
    text: `Not everything could be read, so something may be missing here: ${names.join(', ')}.`,
  };
}

/** Skips codes that an open incident already covers. */
function useBursts(proposed: readonly Burst[]): readonly Burst[] {
  const open = useOperation(
    proposed.length > 0
      ? (api, options) => api.incidents.list({ status: 'open', limit: MAX_READ }, options)
      : undefined,
    { deps: [proposed.map(({ code }) => code).join(' ')], isOwn: true, pollMilliseconds: POLL_MILLISECONDS },
  );
  const known = open.data?.data ?? [];
  return proposed.filter(({ code }) => !known.some(({ codes }) => codes.includes(code)));
}

const IncidentDialog = later(async () => (await import('../../components/support/incident-dialog.tsx')).IncidentDialog);

/** Lists everything that needs attention, one line for each thing, or says in one quiet line that nothing does. */
export function AttentionSection({
  attention: { concerns, bursts, isLoading },
  status,
}: {
  readonly attention: Attention;
  readonly status: Overview['status'];
}) {
  const { can } = useSession();
  const [draft, setDraft] = useState<Burst | undefined>(undefined);
  const yesterday = yesterdayOf(status);
  const isQuiet = concerns.length + bursts.length === 0;
  return (
    <Section title="What needs attention today">
      {!isQuiet && (
        <ul class="attention" aria-label="What needs attention">
          {concerns.map(({ key, count, isBad = false, text, links }) => (
            <Line key={key} count={count} isBad={isBad} links={links}>
              {text}
            </Line>
          ))}
          {bursts.map((burst) => (
            <Line
              key={burst.code}
              isBad
              links={can('create_incident') && <Button onClick={() => setDraft(burst)}>Open an incident…</Button>}
            >
              <a href={hrefTo('/console/errors', { code: burst.code })}>{burst.code}</a> occurred {burstText(burst)}:
              there may be one cause.
            </Line>
          ))}
        </ul>
      )}
      {(isQuiet || yesterday !== undefined) && (
        <p class="quiet">
          {isQuiet && (isLoading ? 'Looking for open work… ' : 'Nothing needs attention. ')}
          {yesterday !== undefined && <Yesterday message={yesterday} />}
        </p>
      )}
      {draft !== undefined && (
        <IncidentDialog draft={draftOfBurst(draft, Date.now())} onClose={() => setDraft(undefined)} />
      )}
    </Section>
  );
}

function Line({
  count,
  isBad,
  links,
  children,
}: {
  readonly count?: string | undefined;
  readonly isBad: boolean;
  readonly links?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <li class={isBad ? 'bad' : ''}>
      {count === undefined ? (
        <span class="attention-count" aria-hidden="true">
          !
        </span>
      ) : (
        <b class="attention-count">{count}</b>
      )}{' '}
      <span class="attention-what">{children}</span> <span class="attention-links">{links}</span>
    </li>
  );
}

/** During an upgrade, the response of an earlier version has no `yesterday`. */
type UpgradedStatus = Omit<Overview['status'], 'yesterday'> & Partial<Pick<Overview['status'], 'yesterday'>>;

/** Returns the sentence about yesterday, unless the list has it. */
function yesterdayOf({ yesterday, degraded }: UpgradedStatus): string | undefined {
  const isInList = degraded.some(({ name }) => name === 'day_not_adding_up' || name === 'day_not_checked');
  return isInList ? undefined : (yesterday?.message ?? undefined);
}

/** Says whether yesterday added up. Leads to the day of the chosen card program. */
function Yesterday({ message }: { readonly message: string }) {
  const programId = useProgramId();
  return (
    <>
      {message}{' '}
      {programId === undefined ? (
        <a href={hrefTo('/console/programs')}>See the day of a card program</a>
      ) : (
        <a href={hrefTo(`/console/programs/${programId}/day`)}>
          See the day of <ProgramName id={programId} plain linked={false} />
        </a>
      )}
    </>
  );
}
