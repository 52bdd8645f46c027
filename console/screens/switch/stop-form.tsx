import { useState } from 'preact/hooks';
import {
  type ChangeSwitchBody,
  type PreviewSwitchQuery,
  type SwitchPreview,
  type SwitchRecord,
  TRANSFER_TYPES,
} from '../../../sdk/client.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/dialogs/dialog.tsx';
import { SelectField, TextField } from '../../components/field.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { ProgramField } from '../../components/program-field.tsx';
import { useName } from '../../data/names.ts';
import { useProgramId } from '../../data/program.ts';
import { useAction } from '../../data/use-action.ts';
import { useUrlState } from '../../data/use-url-state.ts';
import { sentenceCase } from '../../format/names.ts';
import { formatNumber, kindText, scopeText } from '../../format/operators/switch.ts';
import { formatMoment, toIso } from '../../format/times.ts';
import { Preview, usePreview } from './preview.tsx';

const SCOPES = [
  ['service', 'Everything'],
  ['program', 'All transfers of a card program'],
  ['transfer_type', 'One type of transfer of a card program'],
] as const;

/** Without a scope it is the chosen program, if there is one. */
const CHOICE = { scope: '', of: '', type: 'load' };

/** The fields of the form besides the scope. */
type StopDetails = { readonly reason: string; readonly until: string };

const NO_DETAILS: StopDetails = { reason: '', until: '' };

/** Chooses a scope and shows what stopping it does, before there is a button to do so. */
export function StopForm({
  mayChange,
  restarts,
  onStopped,
}: {
  readonly mayChange: boolean;
  /** Receives what was stopped, and what people call its card program. */
  readonly onStopped: (setting: SwitchRecord, programName: string) => void;
  /** How often something was restarted on this screen: what is in force has changed then. */
  readonly restarts: number;
}) {
  const [inUrl, setChoice] = useUrlState(CHOICE);
  const chosen = useProgramId();
  const of = inUrl.of === '' ? (chosen ?? '') : inUrl.of;
  const choice = { ...inUrl, of, scope: inUrl.scope === '' ? (of === '' ? 'service' : 'program') : inUrl.scope };
  const scope = scopeOf(choice);
  const what = useWords(choice);
  const loaded = usePreview(scope, restarts);
  // While another scope is loaded, and when that fails, the data is still of the previous scope.
  const preview = isOf(scope, loaded.data) ? loaded : { ...loaded, data: undefined };
  const current = preview.stale ? undefined : preview.data;
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [wish, setWish] = useState(NO_DETAILS);
  const [isAsking, setAsking] = useState(false);
  const ask = (event: Event) => {
    event.preventDefault();
    const isMissing = wish.reason.trim() === '';
    setProblem(isMissing ? 'Enter a reason: people whose transfers are refused will ask.' : undefined);
    if (!isMissing && current !== undefined) setAsking(true);
  };
  const { name } = useName('program', scope?.program_id);
  const stopped = (setting: SwitchRecord) => {
    setAsking(false);
    setWish(NO_DETAILS);
    preview.reload();
    onStopped(setting, name ?? setting.program_id ?? '');
  };
  return (
    <div class="two-parts">
      <form class="form" onSubmit={ask}>
        <ScopeFields choice={choice} onChoose={(changes) => setChoice(changes, { replace: true })} />
        {mayChange && (
          <>
            <TextField
              label="Reason"
              value={wish.reason}
              onInput={(reason) => setWish({ ...wish, reason })}
              problem={problem}
              hint="Shown to operators, and kept in the audit log."
            />
            <TextField
              label="Until"
              type="datetime-local"
              value={wish.until}
              onInput={(until) => setWish({ ...wish, until })}
              hint="Optional. Transfers restart automatically then."
            />
            <p>
              <Button type="submit" kind="danger" disabled={current === undefined}>
                Stop {what}…
              </Button>
            </p>
          </>
        )}
      </form>
      <div class="loaded" aria-live="polite">
        {scope === undefined ? (
          <p class="quiet">Choose a card program to see what this would stop.</p>
        ) : (
          <Loaded state={preview}>{(found) => <Preview preview={found} />}</Loaded>
        )}
      </div>
      {isAsking && scope !== undefined && current !== undefined && (
        <ConfirmStop
          scope={scope}
          what={what}
          wish={wish}
          preview={current}
          onStopped={stopped}
          onClose={() => setAsking(false)}
        />
      )}
    </div>
  );
}

function ScopeFields({
  choice,
  onChoose,
}: {
  readonly choice: typeof CHOICE;
  readonly onChoose: (changes: Partial<typeof CHOICE>) => void;
}) {
  return (
    <>
      <SelectField
        label="What to stop"
        value={choice.scope}
        options={SCOPES}
        onChange={(scope) => onChoose({ scope })}
      />
      {choice.scope !== 'service' && <ProgramField value={choice.of} onChange={(of) => onChoose({ of })} />}
      {choice.scope === 'transfer_type' && (
        <SelectField
          label="Type of transfer"
          value={choice.type}
          options={TRANSFER_TYPES.map((type) => [type, sentenceCase(kindText(type))] as const)}
          onChange={(type) => onChoose({ type })}
        />
      )}
    </>
  );
}

/** Asks for confirmation, with what will be refused, and stops it. */
function ConfirmStop({
  scope,
  what,
  wish: { reason, until },
  preview,
  onStopped,
  onClose,
}: {
  readonly scope: PreviewSwitchQuery;
  /** What will be stopped: `loads for Lumen Gift Cards`. */
  readonly what: string;
  readonly wish: StopDetails;
  readonly preview: SwitchPreview;
  readonly onStopped: (setting: SwitchRecord) => void;
  readonly onClose: () => void;
}) {
  const change = useAction((body: ChangeSwitchBody, api, options) => api.switch.change(body, options));
  const end = toIso(until);
  const stop = async () => {
    const { program_id: programId, type } = scope;
    const body: ChangeSwitchBody = {
      disabled: true,
      reason: reason.trim(),
      ...(programId !== undefined && { program_id: programId }),
      ...(type !== undefined && { type }),
      ...(end !== undefined && { until: end }),
    };
    const setting = await change.run(body);
    if (setting !== undefined) onStopped(setting);
  };
  return (
    <ConfirmDialog
      title={`Stop ${what}`}
      confirm={`Stop ${what}`}
      kind="danger"
      pending={change.pending}
      error={change.error}
      onConfirm={stop}
      onClose={onClose}
    >
      <p>
        {formatNumber(preview.programs.count, 'card program')}, {formatNumber(preview.last_hour.transfers, 'transfer')}{' '}
        in the last hour. New transfers, captures and reversals are refused{' '}
        {end === undefined ? 'until somebody restarts them.' : `until ${formatMoment(end)}.`}
      </p>
      <p>
        Reason: <b>{reason}</b>
      </p>
    </ConfirmDialog>
  );
}

/** What the form would stop, in words. */
function useWords({ scope, of, type }: typeof CHOICE): string {
  const { name } = useName('program', scope === 'service' ? undefined : of);
  const known = TRANSFER_TYPES.find((one) => one === type) ?? null;
  return scopeText(
    { scope: scope === 'service' ? 'service' : 'program', type: scope === 'transfer_type' ? known : null },
    name ?? (of === '' ? 'a card program' : of),
  );
}

/** The scope as the API takes it; undefined while its program is not chosen. */
function scopeOf({ scope, of, type }: typeof CHOICE): PreviewSwitchQuery | undefined {
  if (scope === 'service') return {};
  if (of === '') return undefined;
  const known = TRANSFER_TYPES.find((one) => one === type);
  return scope === 'transfer_type' && known !== undefined ? { program_id: of, type: known } : { program_id: of };
}

/** Whether a preview is of the scope. */
function isOf(scope: PreviewSwitchQuery | undefined, preview: SwitchPreview | undefined): boolean {
  if (scope === undefined || preview === undefined) return false;
  const { program_id: programId = null, type = null } = scope;
  const name = programId === null ? 'service' : type === null ? 'program' : 'transfer_type';
  return preview.scope === name && preview.program_id === programId && preview.type === type;
}
