import './audit.css';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { AuditEntryRecord, AuditPortion } from '../../../sdk/client.ts';
import { Button, CopyButton } from '../../components/button.tsx';
import { useCsvExport } from '../../components/csv-export.tsx';
import { Details } from '../../components/details.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { SelectField } from '../../components/field.tsx';
import { Filters, type Option, PeriodFilter, ProgramFilter, withChosen } from '../../components/filters.tsx';
import { Id } from '../../components/id.tsx';
import { Empty, Progress } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { KeyName, ProgramName } from '../../components/name.tsx';
import { Page, Section } from '../../components/page.tsx';
import { PagedList } from '../../components/paged-list.tsx';
import { client } from '../../data/client.ts';
import { useOperation } from '../../data/use-operation.ts';
import { given, usePages } from '../../data/use-pages.ts';
import { useUrlState } from '../../data/use-url-state.ts';
import { formatCount } from '../../format/amounts.ts';
import { ACTIONS, describeEntry, type Part } from '../../format/audit.ts';
import { kindOfSubject } from '../../format/ids.ts';
import { nameOfActor } from '../../format/names.ts';
import { boundsOf } from '../../format/times.ts';

const PAGE_ROWS = 50;

/** The maximum number of keys that a filter lists. The URL can contain others. */
const MAX_OPTIONS = 100;

const FILTERS = { action: '', actor: '', of: '', period: '', from: '', to: '' };

/** Lists the actions of operators and the refused credentials. */
export function AuditScreen() {
  return (
    <Page title="Audit log" lead="Who changed what, and which credentials were refused.">
      <Entries />
      <Section title="Integrity">
        <VerifyChain />
      </Section>
    </Page>
  );
}

function Entries() {
  const [filters, setFilters] = useUrlState(FILTERS);
  const { action, actor, of } = filters;
  const query = () => {
    const { from, to } = boundsOf(filters, Date.now());
    return { action, actor, program_id: of, created_from: from, created_to: to };
  };
  const entries = usePages(
    (api, options, cursor) => api.audit.list({ limit: PAGE_ROWS, ...given({ ...query(), cursor }) }, options),
    { deps: [filters] },
  );
  const csv = useCsvExport('audit.csv', 'entries', (api, options) => api.audit.export(given(query()), options));
  const isFiltered = Object.values(filters).some((value) => value !== '');
  return (
    <>
      <Filters onClear={isFiltered ? () => setFilters(FILTERS) : undefined}>
        <PersonFilter value={actor} onChange={(chosen) => setFilters({ actor: chosen })} />
        <SelectField
          label="Action"
          value={action}
          onChange={(chosen) => setFilters({ action: chosen })}
          options={withChosen([['', 'Any'], ...ACTIONS], action)}
        />
        <ProgramFilter value={of} onChange={(chosen) => setFilters({ of: chosen })} />
        <PeriodFilter label="Time" isActual value={filters} onChange={setFilters} />
        {csv.button}
      </Filters>
      {csv.note}
      <PagedList pages={entries}>
        {(rows, stale) =>
          rows.length === 0 ? (
            <Empty title="No entry">
              {isFiltered ? 'Change the filters, or clear them.' : 'No operator has done anything yet.'}
            </Empty>
          ) : (
            <ol class={stale ? 'audit stale' : 'audit'} aria-label="Entries of the audit log">
              {rows.map((entry) => (
                <Entry key={entry.entry_id} entry={entry} />
              ))}
            </ol>
          )
        }
      </PagedList>
    </>
  );
}

const WITHOUT_KEY = ['sandbox', 'host', 'anonymous'].map((actor): Option => [actor, nameOfActor(actor) ?? actor]);

function PersonFilter({ value, onChange }: { readonly value: string; readonly onChange: (value: string) => void }) {
  const { data } = useOperation((api, options) => api.keys.list({ limit: MAX_OPTIONS }, options));
  const keys = (data?.data ?? []).map(({ key_id, name }): Option => [key_id, name]);
  const byName = keys.toSorted(([, left], [, right]) => left.localeCompare(right));
  return (
    <SelectField
      label="Who"
      value={value}
      onChange={onChange}
      options={withChosen([['', 'Anyone'], ...byName, ...WITHOUT_KEY], value)}
    />
  );
}

/** An entry in one sentence, with all its stored fields below at the full width of the list. */
function Entry({ entry }: { readonly entry: AuditEntryRecord }) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  return (
    <li>
      <div class="audit-line">
        <span class="audit-when">
          <Moment at={entry.created_at} short actual />
        </span>
        <span class="audit-what">
          <Sentence entry={entry} />
        </span>
        <button
          class="button quiet"
          type="button"
          aria-expanded={isOpen}
          aria-controls={id}
          aria-label={`Details of entry ${entry.position}`}
          onClick={() => setOpen(!isOpen)}
        >
          Details
        </button>
      </div>
      <div id={id}>{isOpen && <EntryDetails entry={entry} />}</div>
    </li>
  );
}

function Sentence({ entry }: { readonly entry: AuditEntryRecord }) {
  return (
    <>
      <b>
        <KeyName id={entry.actor} plain />
      </b>
      {describeEntry(entry).map((part, at) => (
        // Puts a space before each part, except before punctuation.
        <span key={`${at} ${JSON.stringify(part)}`}>
          {typeof part === 'string' && /^[:,.]/.test(part) ? '' : ' '}
          <SentencePart part={part} />
        </span>
      ))}
    </>
  );
}

function SentencePart({ part }: { readonly part: Part }) {
  if (typeof part === 'string') return <>{part}</>;
  if ('moment' in part) return <Moment at={part.moment} short />;
  const { id, kind, programId } = part;
  return <Id id={id} kind={kind} programId={programId} plain />;
}

function EntryDetails({ entry }: { readonly entry: AuditEntryRecord }) {
  const { position, created_at, action, actor, program_id, subject_id, request_id, details, hash, previous_hash } =
    entry;
  const { case_id } = details;
  return (
    <div class="audit-whole">
      <Details
        facts={[
          ['Entry', position],
          ['Time', <Moment key="time" at={created_at} actual />],
          ['Action', <code key="action">{action}</code>],
          ['Who', <KeyName key="who" id={actor} />],
          program_id !== null && ['Card program', <ProgramName key="program" id={program_id} />],
          subject_id !== null && [
            'Subject',
            <Id key="subject" id={subject_id} kind={kindOfSubject(action)} programId={program_id} />,
          ],
          request_id !== null && ['Request', <Id key="request" id={request_id} />],
          typeof case_id === 'string' && case_id !== subject_id && ['From the case', <Id key="case" id={case_id} />],
        ]}
      />
      {Object.keys(details).length > 0 && <pre class="json">{JSON.stringify(details, null, 2)}</pre>}
      <p class="quiet">
        Hash <code>{hash}</code>
        <CopyButton text={hash} label="Copy the hash" />, previous hash <code>{previous_hash}</code>
      </p>
    </div>
  );
}

type Verification = {
  readonly isRunning: boolean;
  readonly verified: number;
  readonly last: AuditPortion;
  readonly at: string;
};

/** Verifies the whole log in batches, and shows its last position and hash, for the user to note elsewhere. */
function VerifyChain() {
  const [found, setFound] = useState<Verification | undefined>(undefined);
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<Error | undefined>(undefined);
  const leaving = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => leaving.current?.abort(), []);
  const verify = async () => {
    leaving.current?.abort();
    const controller = new AbortController();
    const { signal } = controller;
    leaving.current = controller;
    setRunning(true);
    setError(undefined);
    setFound(undefined);
    try {
      let verified = 0;
      for (let after: number | null = 0; after !== null && !signal.aborted; ) {
        const last: AuditPortion = await client.audit.verify(after === 0 ? {} : { after }, { signal });
        verified += last.verified;
        after = last.intact ? last.next_after : null;
        setFound({ isRunning: after !== null, verified, last, at: new Date().toISOString() });
      }
    } catch (thrown) {
      if (!signal.aborted) setError(thrown instanceof Error ? thrown : new Error(String(thrown)));
    }
    if (!signal.aborted) setRunning(false);
  };
  return (
    <>
      <p>
        <Button onClick={verify} pending={isRunning}>
          Verify the log
        </Button>
      </p>
      {error !== undefined && <ErrorRecord error={error} stale={found !== undefined} />}
      {isRunning && (
        <Progress
          label={found === undefined ? 'Verifying' : `Verified up to entry ${formatCount(found.last.position)}`}
          value={found?.last.position}
          max={Math.max(found?.last.head?.position ?? 1, 1)}
        />
      )}
      {found !== undefined && !found.isRunning && <Verdict found={found} />}
    </>
  );
}

function Verdict({ found: { verified, last, at } }: { readonly found: Verification }) {
  const { intact, first_broken: broken, position, hash } = last;
  return (
    <div role="status" class="loaded">
      {intact ? (
        <p class="answer">
          The log is intact: {formatCount(verified)} {verified === 1 ? 'entry' : 'entries'} checked, none changed,
          removed, inserted or moved.
        </p>
      ) : (
        <p class="answer unknown">
          <b>The log is not intact.</b> {broken?.message} Nothing after it was checked. See{' '}
          <a href="/guides/audit">the guide</a>.
        </p>
      )}
      <Details
        facts={[
          ['Last entry', formatCount(position)],
          [
            'Latest hash',
            <span class="id">
              <code>{hash}</code>
              <CopyButton text={`${position} ${hash}`} label="Copy the position and the hash" />
            </span>,
          ],
          ['Verified', <Moment at={at} actual />],
        ]}
      />
      <p class="quiet">
        Store the position and the hash where no one with access to the database can change them. Only a hash that you
        noted earlier can show that the latest entries were removed. On the service's host,{' '}
        <code>audit verify --expect</code> compares that hash with the log.
      </p>
    </div>
  );
}
