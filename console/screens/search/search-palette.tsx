import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialogs/dialog.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { TextField } from '../../components/field.tsx';
import { LinkedText } from '../../components/id.tsx';
import { Empty } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { CardName } from '../../components/name.tsx';
import { useName } from '../../data/names.ts';
import { type Group, type Hit, KIND_NAMES } from './hits.ts';
import { hrefOfHit, isSearchable, LABEL, openSearch, problemOf, useDebounced, useFound } from './search.ts';
import './search.css';

/** The search that `/` and Ctrl-K open everywhere. It shows hits while the user types, and Enter opens all results. */
export function SearchPalette({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState('');
  const box = useRef<HTMLDivElement>(null);
  useArrows(box);
  const problem = problemOf(text);
  const settled = useDebounced(text.trim());
  const isSought = settled === text.trim() && isSearchable(settled);
  const found = useFound(isSought ? { q: settled } : undefined);
  const isShort = settled === text.trim() && settled !== '' && problem === undefined && !isSearchable(settled);
  const groups = isSought && !found.stale ? found.data?.data : undefined;
  const submit = (event: Event) => {
    event.preventDefault();
    if (problem !== undefined || text.trim() === '') return;
    onClose();
    openSearch(text);
  };
  return (
    <Dialog title="Search" onClose={onClose}>
      <div ref={box}>
        <form onSubmit={submit}>
          <TextField
            label={LABEL}
            value={text}
            onInput={setText}
            problem={problem}
            hint="A single match opens directly. Search for an amount as 12.34, $1,234.56 or 12.34 USD, or for a name and an amount: Priya 75."
          />
          <footer class="dialog-actions">
            <Button type="submit" kind="main" disabled={problem !== undefined}>
              Search
            </Button>
          </footer>
        </form>
        <div class="found" aria-live="polite" aria-busy={found.loading && isSought}>
          {isSought && found.error !== undefined && <ErrorRecord error={found.error} />}
          {groups !== undefined && groups.length === 0 && <Empty title="Nothing found yet" />}
          {isShort && <p class="quiet">Press Enter to search for this.</p>}
          {groups !== undefined && groups.length > 0 && <Hits groups={groups} onOpen={onClose} />}
        </div>
      </div>
    </Dialog>
  );
}

/** The number of hits per kind while the user types. The search screen shows more. */
const MAX_OF_KIND = 3;

function Hits({ groups, onOpen }: { readonly groups: readonly Group[]; readonly onOpen: () => void }) {
  return (
    <ul class="hits" aria-label="Found so far">
      {groups.flatMap(({ kind, results }) =>
        results
          .slice(0, MAX_OF_KIND)
          .map((hit) => <FoundHit key={`${kind} ${hit.program_id} ${hit.id}`} kind={kind} hit={hit} onOpen={onOpen} />),
      )}
    </ul>
  );
}

function FoundHit({
  kind,
  hit,
  onOpen,
}: {
  readonly kind: Group['kind'];
  readonly hit: Hit;
  readonly onOpen: () => void;
}) {
  const id = useId();
  const href = hrefOfHit(kind, hit);
  const { name: program } = useName('program', kind === 'program' ? null : hit.program_id);
  return (
    <li>
      <span class="hit-kind" id={id}>
        {KIND_NAMES[kind]}
      </span>
      <span class="hit-what">
        <span class="hit-title">
          {kind === 'card' ? (
            <CardName id={hit.id} programId={hit.program_id} plain />
          ) : href === undefined ? (
            <LinkedText text={hit.summary} programId={hit.program_id} />
          ) : (
            <a href={href} aria-describedby={id} onClick={onOpen}>
              <LinkedText text={hit.summary} programId={hit.program_id} linked={false} />
            </a>
          )}
        </span>
        {kind === 'card' && <small class="quiet">{hit.summary}</small>}
        <small class="quiet">
          {program}
          {program !== undefined && hit.created_at !== null && ', '}
          {hit.created_at !== null && <Moment at={hit.created_at} short />}
        </small>
      </span>
    </li>
  );
}

/** The arrow keys move through the field and the hits, like Tab. */
function useArrows(box: { readonly current: HTMLElement | null }): void {
  useEffect(() => {
    const move = (event: KeyboardEvent): void => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const stops = [...(box.current?.querySelectorAll<HTMLElement>('input, .hit-title a') ?? [])];
      const at = stops.findIndex((stop) => stop.matches(':focus'));
      if (step === undefined || at === -1) return;
      event.preventDefault();
      stops[Math.min(Math.max(at + step, 0), stops.length - 1)]?.focus();
    };
    const element = box.current;
    element?.addEventListener('keydown', move);
    return () => element?.removeEventListener('keydown', move);
  }, []);
}
