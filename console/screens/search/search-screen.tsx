import { useEffect, useState } from 'preact/hooks';
import type { SearchResults } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Empty } from '../../components/empty.tsx';
import { CheckField, TextField } from '../../components/field.tsx';
import { Filters } from '../../components/filters.tsx';
import { Id, LinkedText } from '../../components/id.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Page, Section } from '../../components/page.tsx';
import { hrefTo, navigate } from '../../data/location.ts';
import { useProgramId } from '../../data/program.ts';
import { useSession } from '../../data/session.ts';
import { useOperation } from '../../data/use-operation.ts';
import { useUrlState } from '../../data/use-url-state.ts';
import { toFieldValue, toIso } from '../../format/times.ts';
import { type Group, type Hit, KIND_TITLES, onlyHit, pathOfHit } from './hits.ts';
import { openSearch, problemOf } from './open-search.ts';
import { searchOwnProgram } from './search-own-program.ts';
import './search.css';

const NOTHING = { q: '', from: '', to: '', only: '', open: '' };

/** Finds what a text names: in every card program for operators, in their own for everybody else. */
export function SearchScreen() {
  const [{ q, from, to, only, open }, setState] = useUrlState(NOTHING);
  const programId = useProgramId();
  const { has } = useSession();
  const isOperator = has('operator:read');
  const text = q.trim();
  const problem = problemOf(text);
  const canSearch = text !== '' && problem === undefined;
  const query = {
    q: text,
    created_from: from || undefined,
    created_to: to || undefined,
    program_id: only === '' ? undefined : programId,
  };
  const scopes = { transfers: has('transfers:read'), cards: has('cards:read'), errors: has('errors:read') };
  const found = useOperation(
    canSearch
      ? (api, options) => (isOperator ? api.search.find(query, options) : searchOwnProgram(api, options, text, scopes))
      : undefined,
    { deps: [JSON.stringify(query), isOperator] },
  );
  useOnlyHit(open === '' || found.loading || found.stale ? undefined : found.data);
  return (
    <Page title="Search">
      <SearchForm text={q} problem={problem} />
      {isOperator && (
        <Filters
          onClear={from === '' && to === '' && only === '' ? undefined : () => setState({ from: '', to: '', only: '' })}
        >
          <TextField
            label="Amounts from"
            type="datetime-local"
            value={toFieldValue(from)}
            onInput={(value) => setState({ from: toIso(value) ?? '', open: '' }, { replace: true })}
          />
          <TextField
            label="Amounts before"
            type="datetime-local"
            value={toFieldValue(to)}
            onInput={(value) => setState({ to: toIso(value) ?? '', open: '' }, { replace: true })}
          />
          {programId !== undefined && (
            <CheckField
              label="Only in the chosen card program"
              checked={only !== ''}
              onChange={(checked) => setState({ only: checked ? '1' : '', open: '' })}
            />
          )}
        </Filters>
      )}
      {canSearch ? (
        <Loaded state={found}>{(results) => <Results results={results} q={text} />}</Loaded>
      ) : (
        problem === undefined && <WhatIsFound />
      )}
    </Page>
  );
}

/** Opens the only hit in the place of the search, so that "back" leads to where the reader searched. */
function useOnlyHit(results: SearchResults | undefined): void {
  useEffect(() => {
    const only = results === undefined ? undefined : onlyHit(results.data);
    const href = only === undefined ? undefined : hrefOfHit(only.kind, only.hit);
    if (href?.startsWith('/console/') === true) navigate(href, { replace: true });
  }, [results]);
}

function SearchForm({ text, problem }: { readonly text: string; readonly problem: string | undefined }) {
  const [typed, setTyped] = useState(text);
  useEffect(() => setTyped(text), [text]);
  const wrong = typed === text ? problem : problemOf(typed);
  const submit = (event: Event) => {
    event.preventDefault();
    if (wrong === undefined && typed.trim() !== '') openSearch(typed);
  };
  return (
    <form class="search-form" onSubmit={submit}>
      <TextField
        label="Id, reference, card, last four digits, amount or error code"
        type="search"
        value={typed}
        onInput={setTyped}
        problem={wrong}
        autoFocus
      />
      <Button type="submit" kind="main" disabled={wrong !== undefined}>
        Search
      </Button>
    </form>
  );
}

const COLUMNS = (kind: Group['kind']): readonly Column<Hit>[] => [
  { title: 'Id', cell: (hit) => <HitLink kind={kind} hit={hit} /> },
  { title: 'What it is', cell: ({ summary }) => <LinkedText text={summary} /> },
  { title: 'Found by', cell: ({ matched }) => <Badge>{matched}</Badge> },
  { title: 'Time', cell: ({ created_at }) => <Moment at={created_at} /> },
  { title: 'Program', wideOnly: true, cell: ({ program_id }) => <Id id={program_id} /> },
];

function Results({ results: { data, complete }, q }: { readonly results: SearchResults; readonly q: string }) {
  return (
    <>
      {!complete && (
        <p class="hint">There are more card programs than one search looks into. Choose one to search all of it.</p>
      )}
      {data.length === 0 && (
        <Empty title={`Nothing was found for “${q}”`}>
          References, keys and ids are found as they are written, ids as a whole. An amount is found as 12.34.
        </Empty>
      )}
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

/** Where the others of a kind are: in the list, with the same filter. */
function MoreOf({ kind, hit, q }: { readonly kind: Group['kind']; readonly hit: Hit | undefined; readonly q: string }) {
  const program = hit?.program_id ?? undefined;
  const list: Partial<Readonly<Record<Hit['matched'], string>>> = {
    last_four: hrefTo('/console/cards', { last_four: q, program }),
    holder_reference: hrefTo('/console/cards', { holder_reference: q, program }),
    id: hrefTo('/console/cards', { card_id_prefix: q, program }),
    id_prefix: hrefTo('/console/cards', { card_id_prefix: q, program }),
    error_code: hrefTo('/console/errors', { code: q }),
  };
  const href = kind === 'card' || kind === 'request' ? hit && list[hit.matched] : undefined;
  return (
    <p class="hint">
      There are more.{' '}
      {href === undefined ? 'Narrow the search by a time or a card program.' : <a href={href}>See the list</a>}
    </p>
  );
}

/** The link to a hit, in its own card program. */
function hrefOfHit(kind: Group['kind'], hit: Hit): string | undefined {
  const path = pathOfHit(kind, hit);
  if (path === undefined || !path.startsWith('/console/')) return path;
  return hrefTo(path, hit.program_id === null ? {} : { program: hit.program_id });
}

function HitLink({ kind, hit }: { readonly kind: Group['kind']; readonly hit: Hit }) {
  const href = hrefOfHit(kind, hit);
  if (kind === 'transfer' || kind === 'card' || kind === 'request' || kind === 'program' || kind === 'webhook') {
    return <Id id={hit.id} kind={kind} programId={hit.program_id} />;
  }
  return href === undefined ? <code>{hit.id}</code> : <a href={href}>{hit.id}</a>;
}

function WhatIsFound() {
  return (
    <Empty title="What do you have?">
      <ul>
        <li>An id from a log or a ticket: req_…, tr_…, evt_… and all others.</li>
        <li>The last four digits of a card, its id or the beginning of it, or the holder reference.</li>
        <li>A reference or an idempotency key.</li>
        <li>An amount, such as 12.34, best with a time.</li>
        <li>An error code, such as insufficient_funds.</li>
      </ul>
    </Empty>
  );
}
