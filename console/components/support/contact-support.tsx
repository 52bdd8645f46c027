import { useState } from 'preact/hooks';
import type { CaseRecord, CreateCaseBody, KeyedCallOptions, TransferService } from '../../../sdk/client.ts';
import { hrefTo, navigate } from '../../data/location.ts';
import { ProgramContext, useProgram } from '../../data/program.ts';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';
import { useOperation } from '../../data/use-operation.ts';
import { given } from '../../data/use-pages.ts';
import { useAskedDialog } from '../../data/use-url-state.ts';
import { pathOf } from '../../format/ids.ts';
import { SEVERITIES } from '../../format/support/cases.ts';
import { Button, ButtonLink, WhoMay } from '../button.tsx';
import { ConfirmDialog } from '../dialogs/dialog.tsx';
import { AreaField, SelectField, TextField } from '../field.tsx';

/** The request or the transfer of a case. A general question is about no record. */
type About = Pick<CreateCaseBody, 'request_id' | 'transfer_id'>;

/** How many of the newest cases of the program to search for a case about a transfer. */
const MAX_CASES = 100;

/** Returns the link to a case, in the card program of the case. */
export function hrefOfCase({ case_id: id, program_id: program }: Pick<CaseRecord, 'case_id' | 'program_id'>): string {
  return hrefTo(pathOf(id) ?? '', { program });
}

/** Opens a case about a request or a transfer, or links to the existing case. Callers who can't open one see which role can. */
export function ContactSupport({
  about = {},
  programId,
}: {
  readonly about?: About;
  /** The card program of the request or transfer, if it may not be the chosen one. */
  readonly programId?: string | null | undefined;
}) {
  const chosen = useProgram();
  const program = typeof programId === 'string' ? { ...chosen, programId, isKnown: true } : chosen;
  return (
    <ProgramContext.Provider value={program}>
      <Way about={about} />
    </ProgramContext.Provider>
  );
}

function Way({ about }: { readonly about: About }) {
  const { can } = useSession();
  const { isKnown } = useProgram();
  const [isOpen, setOpen] = useState(false);
  const { request_id: requestId, transfer_id: transferId } = about;
  const isAbout = requestId !== undefined || transferId !== undefined;
  useAskedDialog((asked) => setOpen(!isAbout && asked === 'create'));
  const cases = useOperation(
    isAbout && isKnown && can('list_cases')
      ? (api, options) => api.cases.list({ limit: MAX_CASES, ...given({ request_id: requestId }) }, options)
      : undefined,
    { deps: [requestId, transferId], isOwn: true },
  );
  const known = cases.data?.data.find(
    (one) =>
      one.status !== 'closed' &&
      (requestId === undefined ? one.transfer_id === transferId : one.request_id === requestId),
  );
  if (known !== undefined) return <ButtonLink href={hrefOfCase(known)}>See its case</ButtonLink>;
  if (!can('create_case')) return isAbout ? <WhoMay operation="create_case" to="contact support about it" /> : null;
  return (
    <>
      <Button onClick={() => setOpen(true)}>Contact support</Button>
      {isOpen && <OpenCaseDialog about={about} onClose={() => setOpen(false)} />}
    </>
  );
}

function OpenCaseDialog({ about, onClose }: { readonly about: About; readonly onClose: () => void }) {
  const [text, setText] = useState('');
  const [severity, setSeverity] = useState<CaseRecord['severity']>('normal');
  const [contact, setContact] = useState('');
  const open = useAction((body: CreateCaseBody, api, options) => openCase(api, body, options), {
    operation: 'create_case',
  });
  const isAbout = about.request_id !== undefined || about.transfer_id !== undefined;
  const submit = async () => {
    const made = await open.run({
      ...about,
      severity,
      ...(text.trim() !== '' && { text: text.trim() }),
      ...(contact.trim() !== '' && { contact: contact.trim() }),
    });
    if (made !== undefined) navigate(hrefOfCase(made));
  };
  return (
    <ConfirmDialog
      title="Contact support"
      confirm="Open a case"
      pending={open.pending}
      disabled={!isAbout && text.trim() === ''}
      error={open.error}
      onConfirm={() => void submit()}
      onClose={onClose}
    >
      <AreaField
        name="text"
        label={isAbout ? 'What happened (optional)' : 'Question'}
        value={text}
        onInput={setText}
        isProse
        hint={
          isAbout
            ? 'No card numbers. Support sees the error, the request and its effects.'
            : 'Plain text, no card numbers.'
        }
      />
      <SelectField
        label="How much it matters"
        name="severity"
        value={severity}
        onChange={(chosen) => setSeverity(chosen as CaseRecord['severity'])}
        options={Object.entries(SEVERITIES)}
      />
      <TextField
        label="Contact (optional)"
        name="contact"
        value={contact}
        onInput={setContact}
        hint="How to reach you outside this case. The answer appears here."
      />
    </ConfirmDialog>
  );
}

/** Opens a case. If the request already has an open case, adds the text to that case as a message instead. */
async function openCase(api: TransferService, body: CreateCaseBody, options: KeyedCallOptions): Promise<CaseRecord> {
  const found = await api.cases.create(body, options);
  if (found.response.status === 201 || body.text === undefined) return found;
  const idempotencyKey = `${options.idempotencyKey}-reply`;
  return await api.cases.reply(found.case_id, { text: body.text }, { ...options, idempotencyKey });
}
