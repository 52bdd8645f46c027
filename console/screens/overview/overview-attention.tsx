import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Overview } from '../../../sdk/client.ts';
import { Button } from '../../components/button.tsx';
import { later } from '../../components/later.tsx';
import { ProgramName } from '../../components/name.tsx';
import { Section } from '../../components/page.tsx';
import { hrefTo } from '../../data/location.ts';
import { useProgramId } from '../../data/program.ts';
import { useSession } from '../../data/session.ts';
import { burstText, draftOfBurst } from '../../format/support/incidents.ts';
import type { Attention, Burst } from './use-attention.tsx';

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
