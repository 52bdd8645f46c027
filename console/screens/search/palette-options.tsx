import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useMemo } from 'preact/hooks';
import { ErrorRecord } from '../../components/error-record.tsx';
import { LinkedText } from '../../components/id.tsx';
import { Moment } from '../../components/moment.tsx';
import { CardName } from '../../components/name.tsx';
import { hrefTo } from '../../data/location.ts';
import { useName } from '../../data/names.ts';
import { useProgramId } from '../../data/program.ts';
import { useSession } from '../../data/session.ts';
import { findCommands, type KnownScreen } from './commands.ts';
import { type Group, type Hit, isExact, KIND_NAMES } from './hits.ts';
import { amountOf, hrefOfRefusals, hrefOfRequest, type RefusedRequest, readAmount, useRefused } from './refused.ts';
import { hrefOfHit, hrefOfSearch, isSearchable, useDebounced, useFound } from './search.ts';
import { readWhen, type Timed } from './when.ts';

export type PaletteParts = {
  readonly listId: string;
  /** The typed text, or an empty text if it can't be sent. */
  readonly text: string;
  readonly screens: readonly KnownScreen[];
  /** The id of the selected option. */
  readonly active: string | undefined;
  /** Receives the id of the option that Enter opens while the user has selected none. */
  readonly onFirst: (id: string | undefined) => void;
  readonly onOpen: () => void;
};

/** The number of hits per kind while the user types. The search screen shows more. */
const MAX_OF_KIND = 3;
const MAX_COMMANDS = 6;

/** The options of the search: exact hits, then screens and actions, then all other hits. */
export function PaletteOptions({ listId, text, screens, active, onFirst, onOpen }: PaletteParts) {
  const { can } = useSession();
  const programId = useProgramId();
  const commands = findCommands(text, { screens, can, programId }).slice(0, text === '' ? undefined : MAX_COMMANDS);
  const search = useSearch(text);
  const idOf = (key: string): string => `${listId}-${encodeURIComponent(key)}`;
  // Without a text, Enter does nothing.
  const [first] = text === '' ? [] : commands;
  const firstId = first === undefined ? undefined : idOf(first.path);
  useLayoutEffect(() => onFirst(firstId), [firstId]);
  const option = (key: string, href: string, kind: string, children: ComponentChildren) => (
    <a
      key={key}
      id={idOf(key)}
      role="option"
      tabIndex={-1}
      aria-selected={idOf(key) === active}
      href={href}
      onClick={onOpen}
    >
      <span class="hit-kind">{kind}</span>
      <span class="hit-what">{children}</span>
    </a>
  );
  const hits = search.hits.map(({ kind, hit }) => ({
    isExact: isExact(hit),
    shown: option(
      `${kind} ${hit.program_id} ${hit.id}`,
      hrefOfHit(kind, hit) ?? hrefOfSearch(text),
      KIND_NAMES[kind],
      <HitText kind={kind} hit={hit} />,
    ),
  }));
  const isShort = text !== '' && !isSearchable(text);
  return (
    <>
      <div id={listId} class="options" role="listbox" aria-label="Results">
        {hits.filter((one) => one.isExact).map(({ shown }) => shown)}
        {commands.map(({ kind, title, path }) => option(path, hrefTo(path), kind, title))}
        {hits.filter((one) => !one.isExact).map(({ shown }) => shown)}
        {search.refused.map((error) =>
          option(error.request_id, hrefOfRequest(error), 'Refused', <RefusedText error={error} />),
        )}
        {search.isNothing &&
          search.timed !== undefined &&
          readAmount(search.timed.q) !== undefined &&
          can('list_errors') &&
          option(
            'refusals',
            hrefOfRefusals(search.timed),
            'Errors',
            search.timed.from === '' ? 'All refused transfers' : 'All refused transfers of that time',
          )}
        {text !== '' && option('all', hrefOfSearch(text), 'Search', `All results for “${text}”`)}
      </div>
      <div class="found" aria-live="polite" aria-busy={search.isLoading}>
        {search.error !== undefined && <ErrorRecord error={search.error} />}
        {search.isNothing && commands.length === 0 && (
          <p class="quiet">{search.refused.length === 0 ? 'Nothing found yet.' : 'Found only refused requests.'}</p>
        )}
        {isShort && commands.length === 0 && <p class="quiet">Press Enter to search for this.</p>}
      </div>
    </>
  );
}

/** Searches for the text once typing has paused. Looks for refused requests if nothing else is found. */
function useSearch(text: string) {
  const settled = useDebounced(text);
  // A time without a day is relative to the moment of the search.
  const timed = useMemo(() => readWhen(settled, Date.now()), [settled]);
  const isSought = settled === text && isSearchable(settled);
  const found = useFound(
    isSought ? { q: timed.q, ...(timed.from !== '' && { created_from: timed.from, created_to: timed.to }) } : undefined,
  );
  const groups = isSought && !found.stale ? found.data?.data : undefined;
  const isNothing = groups?.length === 0;
  const refused = useRefused(isNothing ? timed : undefined);
  const hits = (groups ?? []).flatMap(({ kind, results }) =>
    results.slice(0, MAX_OF_KIND).map((hit) => ({ kind, hit })),
  );
  return {
    hits,
    isNothing,
    refused: isNothing && !refused.stale ? (refused.data?.rows ?? []) : NOTHING,
    timed: isSought ? timed : (undefined as Timed | undefined),
    error: isSought ? (found.error ?? refused.error) : undefined,
    isLoading: isSought && (found.loading || refused.loading),
  };
}

const NOTHING: readonly RefusedRequest[] = [];

function HitText({ kind, hit }: { readonly kind: Group['kind']; readonly hit: Hit }) {
  return (
    <>
      <span class="hit-title">
        {kind === 'card' ? (
          <CardName id={hit.id} programId={hit.program_id} plain linked={false} />
        ) : (
          <LinkedText text={hit.summary} programId={hit.program_id} linked={false} />
        )}
      </span>
      {kind === 'card' && <small class="quiet">{hit.summary}</small>}
      <Where programId={kind === 'program' ? null : hit.program_id} at={hit.created_at} />
    </>
  );
}

function RefusedText({ error }: { readonly error: RefusedRequest }) {
  const { message, code, program_id: programId, created_at: at } = error;
  return (
    <>
      <span class="hit-title">
        <LinkedText text={message} programId={programId} linked={false} />
      </span>
      <small class="quiet">
        {amountOf(error)} <code>{code}</code>
      </small>
      <Where programId={programId ?? null} at={at} actual />
    </>
  );
}

/** Says in which card program something is, and when it happened. */
function Where({
  programId,
  at,
  actual = false,
}: {
  readonly programId: string | null;
  readonly at: string | null;
  readonly actual?: boolean;
}) {
  const { name } = useName('program', programId);
  return (
    <small class="quiet">
      {name}
      {name !== undefined && at !== null && ', '}
      {at !== null && <Moment at={at} short actual={actual} />}
    </small>
  );
}
