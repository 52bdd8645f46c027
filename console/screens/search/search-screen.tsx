import { useEffect, useMemo } from 'preact/hooks';
import type { SearchResults } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { CheckField, TextField } from '../../components/field.tsx';
import { Filters, PeriodFilter } from '../../components/filters.tsx';
import { Id, LinkedText } from '../../components/id.tsx';
import { Empty, Loaded } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { ProgramName } from '../../components/name.tsx';
import { Page, Section } from '../../components/page.tsx';
import { useNow } from '../../data/clock.ts';
import { hrefTo, navigate } from '../../data/location.ts';
import { useProgramId } from '../../data/program.ts';
import { useSession } from '../../data/session.ts';
import { useDebouncedText, useUrlState } from '../../data/use-url-state.ts';
import type { IdKind } from '../../format/ids.ts';
import { boundsOf } from '../../format/times.ts';
import { type Group, type Hit, KIND_TITLES, onlyHit } from './hits.ts';
import { hrefOfRefusals, hrefOfRequest, type RefusedRequest, readAmount, useRefused } from './refused.ts';
import { DEBOUNCE_MILLISECONDS, hrefOfHit, isSearchable, LABEL, openSearch, problemOf, useFound } from './search.ts';
import type { Timed } from './when.ts';
import './search.css';

const NOTHING = { q: '', period: '', from: '', to: '', only: '', open: '' };

/** Shows the search results: from every card program for operators, from their card program for other callers. */
export function SearchScreen() {
  const [{ q, period, from, to, only, open }, setState] = useUrlState(NOTHING);
  const programId = useProgramId();
  const { has } = useSession();
  const isOperator = has('operator:read');
  const text = q.trim();
  const problem = problemOf(text);
  const canSearch = text !== '' && problem === undefined;
  // The bounds of a period are fixed when it is chosen. New bounds on each rendering would repeat the search endlessly.
  const now = useNow();
  const bounds = useMemo(() => boundsOf({ period, from, to }, now), [period, from, to, text]);
  const query = {
    q: text,
    created_from: bounds.from,
    created_to: bounds.to,
    program_id: only === '' ? undefined : programId,
  };
  const found = useFound(canSearch ? query : undefined);
  useOnlyHit(open === '' || found.loading || found.stale ? undefined : found.data);
  return (
    <Page title="Search">
      <SearchForm text={q} problem={problem} onType={(typed) => setState({ q: typed, open: '' }, { replace: true })} />
      {isOperator && (
        <Filters
          onClear={
            period + from + to + only === '' ? undefined : () => setState({ period: '', from: '', to: '', only: '' })
          }
        >
          <PeriodFilter
            label="When, for an amount"
            value={{ period, from, to }}
            onChange={(changes, options) => setState({ ...changes, open: '' }, options)}
          />
          {programId !== undefined && (
            <CheckField
              label="Only in the chosen program"
              checked={only !== ''}
              onChange={(checked) => setState({ only: checked ? '1' : '', open: '' })}
            />
          )}
        </Filters>
      )}
      {canSearch ? (
        <Loaded state={found}>
          {(results) => (
            <Results results={results} search={{ q: text, from: bounds.from ?? '', to: bounds.to ?? '' }} />
          )}
        </Loaded>
      ) : (
        problem === undefined && <WhatIsFound />
      )}
    </Page>
  );
}

/** Replaces the search with its only hit, so that "back" leads to the screen before the search. */
function useOnlyHit(results: SearchResults | undefined): void {
  useEffect(() => {
    const only = results === undefined ? undefined : onlyHit(results.data);
    const href = only === undefined ? undefined : hrefOfHit(only.kind, only.hit);
    if (href?.startsWith('/console/') === true) navigate(href, { replace: true });
  }, [results]);
}

function SearchForm({
  text,
  problem,
  onType,
}: {
  readonly text: string;
  readonly problem: string | undefined;
  /** Receives the typed text after a pause. */
  readonly onType: (text: string) => void;
}) {
  const search = (query: string) => {
    if (isSearchable(query.trim())) onType(query);
  };
  const [typed, setTyped] = useDebouncedText(text, search, { pauseMilliseconds: DEBOUNCE_MILLISECONDS });
  const wrong = typed === text ? problem : problemOf(typed);
  const isWaiting = typed !== text && typed.trim() !== '' && wrong === undefined && !isSearchable(typed.trim());
  const submit = (event: Event) => {
    event.preventDefault();
    if (wrong === undefined && typed.trim() !== '') openSearch(typed);
  };
  return (
    <form class="search-form" onSubmit={submit}>
      <TextField
        label={LABEL}
        type="search"
        value={typed}
        onInput={setTyped}
        problem={wrong}
        hint={isWaiting ? 'Press Enter to search for this.' : undefined}
        autoFocus
      />
    </form>
  );
}

/** The kinds whose screen shows one record. */
const OF_THEIR_KIND: ReadonlySet<string> = new Set<Group['kind'] & IdKind>([
  ...(['card', 'program', 'webhook', 'transfer', 'request', 'case', 'incident', 'approval'] as const),
]);

const NAMED: ReadonlySet<Group['kind']> = new Set(['card', 'program', 'webhook', 'api_key', 'person']);

const COLUMNS = (kind: Group['kind']): readonly Column<Hit>[] => [
  { title: NAMED.has(kind) ? 'Name' : 'Id', onPhone: 'note', cell: (hit) => <HitLink kind={kind} hit={hit} /> },
  {
    title: 'What it is',
    onPhone: 'title',
    cell: ({ summary, program_id: id }) => <LinkedText text={summary} programId={id} />,
  },
  { title: 'Found by', onPhone: 'note', cell: ({ matched }) => <Badge>{matched}</Badge> },
  {
    title: 'Time',
    onPhone: 'note',
    cell: ({ created_at: at }) => at !== null && <Moment at={at} short />,
  },
  {
    title: 'Program',
    cell: ({ program_id: id }) => id !== null && kind !== 'program' && <ProgramName id={id} plain />,
  },
];

function Results({ results: { data, complete }, search }: { readonly results: SearchResults; readonly search: Timed }) {
  const { q } = search;
  return (
    <>
      {!complete && (
        <p class="hint">There are more card programs than one search covers. Choose one to search it completely.</p>
      )}
      {data.length === 0 && <NoHits search={search} />}
      {data.map(({ kind, results, has_more }) => (
        <Section key={kind} title={KIND_TITLES[kind]}>
          <DataTable
            label={KIND_TITLES[kind]}
            columns={COLUMNS(kind)}
            rows={results}
            rowKey={({ id, program_id, summary }) => `${id} ${program_id} ${summary}`}
            href={(hit) => hrefOfHit(kind, hit)}
          />
          {has_more && <MoreOf kind={kind} hit={results[0]} q={q} />}
        </Section>
      ))}
    </>
  );
}

const REFUSED_COLUMNS: readonly Column<RefusedRequest>[] = [
  {
    title: 'Time',
    onPhone: 'note',
    cell: (row) => (
      <a href={hrefOfRequest(row)}>
        <Moment at={row.created_at} short actual />
      </a>
    ),
  },
  {
    title: 'What happened',
    onPhone: 'title',
    cell: ({ message, program_id: id }) => <LinkedText text={message} programId={id} />,
  },
  { title: 'Code', onPhone: 'note', cell: ({ code }) => <code>{code}</code> },
  {
    title: 'Program',
    onPhone: 'note',
    cell: ({ program_id: id }) => typeof id === 'string' && <ProgramName id={id} plain />,
  },
];

/** Says that nothing was found. For an amount, it also shows the refused requests, which may be what the user looks for. */
function NoHits({ search }: { readonly search: Timed }) {
  const { can } = useSession();
  const refused = useRefused(search);
  const { q } = search;
  const mayBeRefused = readAmount(q) !== undefined && can('list_errors');
  const isRefused = mayBeRefused && (refused.data?.rows.length ?? 0) > 0;
  return (
    <>
      {isRefused ? (
        <p class="answer">No transfer or record was found for “{q}”, only refused requests.</p>
      ) : (
        <Empty title={`Nothing found for “${q}”`}>
          Enter a whole id, reference or idempotency key, any part of a name, or an amount such as 12.34.
        </Empty>
      )}
      {mayBeRefused && <RefusedRequests refused={refused} search={search} />}
    </>
  );
}

function RefusedRequests({
  refused,
  search,
}: {
  readonly refused: ReturnType<typeof useRefused>;
  readonly search: Timed;
}) {
  return (
    <Section title="Refused requests">
      <Loaded state={refused}>
        {({ rows, hasOlder }) => (
          <DataTable
            label="Refused requests"
            columns={REFUSED_COLUMNS}
            rows={rows}
            rowKey={({ request_id: id }) => id}
            href={hrefOfRequest}
            empty={
              <p class="quiet">
                {hasOlder
                  ? 'None of the latest refused requests is for this amount.'
                  : 'No refused request is for this amount.'}
              </p>
            }
          />
        )}
      </Loaded>
      <p>
        <a href={hrefOfRefusals(search)}>All refused transfers{search.from !== '' && ' of that time'}</a>
      </p>
    </Section>
  );
}

/** Links to the other hits of a kind, in a list with the same filter. */
function MoreOf({ kind, hit, q }: { readonly kind: Group['kind']; readonly hit: Hit | undefined; readonly q: string }) {
  const program = hit?.program_id ?? undefined;
  const list: Partial<Readonly<Record<Hit['matched'], string>>> = {
    last_four: hrefTo('/console/cards', { last_four: q, program }),
    id: hrefTo('/console/cards', { card_id_prefix: q, program }),
    id_prefix: hrefTo('/console/cards', { card_id_prefix: q, program }),
    error_code: hrefTo('/console/errors', { code: q }),
  };
  const href = kind === 'card' || kind === 'request' ? hit && list[hit.matched] : undefined;
  return (
    <p class="hint">
      There are more.{' '}
      {href === undefined ? 'Narrow the search by time or card program.' : <a href={href}>See the list</a>}
    </p>
  );
}

function HitLink({ kind, hit }: { readonly kind: Group['kind']; readonly hit: Hit }) {
  const href = hrefOfHit(kind, hit);
  if (OF_THEIR_KIND.has(kind)) return <Id id={hit.id} kind={kind as IdKind} programId={hit.program_id} />;
  if (kind === 'api_key' || kind === 'person') return <Id id={hit.id} kind={kind === 'person' ? kind : 'key'} />;
  return href === undefined ? <code>{hit.id}</code> : <a href={href}>{hit.id}</a>;
}

function WhatIsFound() {
  return (
    <Empty title="What do you have?">
      <ul>
        <li>An id from a log or a ticket: req_…, tr_…, evt_… or any other.</li>
        <li>Part of the name of a card's holder, a card program or a key.</li>
        <li>The last four digits of a card, its id or the start of its id.</li>
        <li>A reference or an idempotency key.</li>
        <li>An amount, such as 12.34, ideally with a time, or after a name: Priya 75.</li>
        <li>An error code, such as insufficient_funds.</li>
      </ul>
    </Empty>
  );
}
