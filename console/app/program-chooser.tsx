import { ChevronDown } from 'lucide-preact';
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Dialog } from '../components/dialogs/dialog.tsx';
import { ErrorRecord } from '../components/error-record.tsx';
import { TextField } from '../components/field.tsx';
import { Empty, Loading } from '../components/loaded.tsx';
import { Page } from '../components/page.tsx';
import type { Parameters } from '../data/location.ts';
import { useName } from '../data/names.ts';
import { useProgram } from '../data/program.ts';
import { useSession } from '../data/session.ts';
import { useOperation } from '../data/use-operation.ts';
import { shortId } from '../format/ids.ts';
import { chooseProgram, goToProgram, putIntoUrl } from './chosen-program.ts';
import type { Route } from './routes.ts';

export function ProgramChooser() {
  const { can, allPrograms } = useSession();
  const { programId } = useProgram();
  const [isOpen, setOpen] = useState(false);
  const { name } = useName('program', programId);
  const text = name ?? (programId === undefined ? 'Choose a program' : shortId(programId));
  if (!allPrograms || !can('list_programs')) {
    return (
      <span class="program fixed" title={programId}>
        {text}
      </span>
    );
  }
  return (
    <>
      <button class="program" type="button" title="Card program" onClick={() => setOpen(true)}>
        <span class="hidden">Card program: </span>
        <span class="program-name">{text}</span>
        <ChevronDown />
      </button>
      {isOpen && (
        <Dialog title="Card program" onClose={() => setOpen(false)}>
          <ProgramList
            onChoose={(chosen) => {
              setOpen(false);
              goToProgram(chosen);
            }}
          />
        </Dialog>
      )}
    </>
  );
}

const MAX_PROGRAMS = 100;

/** Lists the first hundred programs by name. The field filters them, and accepts the id of any other program. */
function ProgramList({ onChoose }: { readonly onChoose: (programId: string) => void }) {
  const { programId } = useProgram();
  const [text, setText] = useState('');
  const { data, error, loading } = useOperation((api, options) => api.programs.list({ limit: MAX_PROGRAMS }, options));
  const wanted = text.trim().toLowerCase();
  const all = data?.data ?? [];
  const found = all.filter((one) => one.name.toLowerCase().includes(wanted) || one.program_id.includes(wanted));
  const submit = (event: Event) => {
    event.preventDefault();
    const [first] = found;
    if (/^prog_[0-9a-f]{32}$/.test(wanted)) onChoose(wanted);
    else if (first !== undefined) onChoose(first.program_id);
  };
  return (
    <form class="programs" onSubmit={submit}>
      <TextField
        label="Name or id"
        value={text}
        onInput={setText}
        autoFocus
        hint={
          data?.next_cursor === null
            ? undefined
            : `Only the first ${MAX_PROGRAMS} programs are listed. For another program, paste its id.`
        }
      />
      {error !== undefined && <ErrorRecord error={error} />}
      <ul aria-busy={loading}>
        {found.map(({ program_id: id, name, currency }) => (
          <li key={id}>
            <button
              class="button quiet"
              type="button"
              title={id}
              aria-current={id === programId}
              onClick={() => onChoose(id)}
            >
              <span>{name}</span> <span class="quiet">{currency}</span>
            </button>
          </li>
        ))}
      </ul>
    </form>
  );
}

/**
 * Asks for a card program if the screen needs one and none is chosen. A shared link to a record may not name the record's
 * program, so screens that show one record first search for the program.
 */
export function ProgramPrompt({
  route,
  parameters,
  isGuess,
  children,
}: {
  readonly route: Route;
  readonly parameters: Parameters;
  /** Whether the program is the user's last choice, not part of the link. The record may then belong to another program. */
  readonly isGuess: boolean;
  readonly children: ComponentChildren;
}) {
  const { can } = useSession();
  const { isKnown, programId } = useProgram();
  const isMissing = route.ofProgram && !isKnown;
  const [id] = Object.values(parameters);
  const canFind = (isMissing || isGuess) && id !== undefined && can('search');
  const found = useOperation(canFind ? (api, options) => api.search.find({ q: id }, options) : undefined, {
    deps: [id],
    isOwn: true,
  });
  const programs = new Set(
    (found.data?.data ?? []).flatMap(({ results }) =>
      results.flatMap((result) => (result.id === id && result.program_id !== null ? [result.program_id] : [])),
    ),
  );
  const [only] = programs.size === 1 ? programs : [];
  const isRead = found.data !== undefined || found.error !== undefined;
  const isNowhere = canFind && isRead && !found.loading && programs.size === 0;
  const isOfChosen = programId !== undefined && (programs.has(programId) || isNowhere);
  useEffect(() => {
    if (only !== undefined) chooseProgram(only, { replace: true });
    else if (isGuess && isOfChosen) putIntoUrl(programId);
  }, [only, isGuess, isOfChosen, programId]);
  if (!isMissing && !isGuess) return <>{children}</>;
  if ((canFind && found.loading) || only !== undefined || isOfChosen) {
    return <Loading label="Finding the card program" />;
  }
  return (
    <Page title={route.title}>
      {found.error !== undefined && <ErrorRecord error={found.error} />}
      <Empty
        title={
          programs.size > 1 ? 'Several card programs have a record with this id. Choose one' : 'Choose a card program'
        }
      >
        {can('list_programs') ? (
          <ProgramList onChoose={(chosen) => chooseProgram(chosen)} />
        ) : (
          'Add ?program=prog_… to the URL, or ask an operator for the card program.'
        )}
      </Empty>
    </Page>
  );
}
