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
import { ProgramField, SelectField, TextField } from '../../components/field.tsx';
import { Form } from '../../components/form.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { TimeField } from '../../components/time-field.tsx';
import { useName } from '../../data/names.ts';
import { useProgramId } from '../../data/program.ts';
import { useAction } from '../../data/use-action.ts';
import { useOperation } from '../../data/use-operation.ts';
import { useUrlState } from '../../data/use-url-state.ts';
import { sentenceCase } from '../../format/names.ts';
import { formatNumber, kindText, scopeText } from '../../format/operators/switch.ts';
import { formatMoment } from '../../format/times.ts';
import { Preview, usePreview } from './preview.tsx';

const SCOPES = [
  ['service', 'Everything'],
  ['program', 'All transfers of a card program'],
  ['transfer_type', 'One type of transfer of a card program'],
  ['connector', 'Transfers at one connector to a processor'],
] as const;

/** The default scope is the chosen program, if there is one. `at` is the connector, and `only` the type of transfers at it. */
const CHOICE = { scope: '', of: '', type: 'load', at: '', only: '' };

type StopDetails = { readonly reason: string; readonly until: string };

const NO_DETAILS: StopDetails = { reason: '', until: '' };

/** Asks for a scope and shows what stopping it does, before the button to stop it appears. */
export function StopForm({
  mayChange,
  restarts,
  onStopped,
}: {
  readonly mayChange: boolean;
  /** Receives the new setting and the name of its card program. */
  readonly onStopped: (setting: SwitchRecord, programName: string) => void;
  /** How many times something was restarted on this screen. Each restart changes which settings are in force. */
  readonly restarts: number;
}) {
  const [inUrl, setChoice] = useUrlState(CHOICE);
  const chosen = useProgramId();
  // A connector is stopped for every program, unless the user chooses one here.
  const of = inUrl.of === '' && inUrl.scope !== 'connector' ? (chosen ?? '') : inUrl.of;
  const choice = { ...inUrl, of, scope: inUrl.scope === '' ? (of === '' ? 'service' : 'program') : inUrl.scope };
  const scope = scopeOf(choice);
  const what = useWords(choice);
  const loaded = usePreview(scope, restarts);
  // While a newly chosen scope is loading, or after loading it failed, the data still belongs to the previous scope.
  const preview = isOf(scope, loaded.data) ? loaded : { ...loaded, data: undefined };
  const current = preview.stale ? undefined : preview.data;
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [wish, setWish] = useState(NO_DETAILS);
  const [isAsking, setAsking] = useState(false);
  const ask = () => {
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
      <Form look="form" onSubmit={ask}>
        <ScopeFields choice={choice} onChoose={(changes) => setChoice(changes, { replace: true })} />
        {mayChange && (
          <>
            <TextField
              label="Reason"
              name="reason"
              value={wish.reason}
              onInput={(reason) => setWish({ ...wish, reason })}
              problem={problem}
              hint="Shown to operators, and kept in the audit log."
            />
            <TimeField
              label="Until"
              name="until"
              value={wish.until}
              onChange={(until) => setWish({ ...wish, until })}
              presets="soon"
              hint="Optional. Transfers restart automatically then."
            />
            <p>
              <Button type="submit" kind="danger" disabled={current === undefined}>
                Stop {what}…
              </Button>
            </p>
          </>
        )}
      </Form>
      <div class="loaded" aria-live="polite">
        {scope === undefined ? (
          <p class="quiet">
            Choose a {choice.scope === 'connector' ? 'connector' : 'card program'} to see what this would stop.
          </p>
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
      {choice.scope === 'connector' && <ConnectorFields choice={choice} onChoose={onChoose} />}
      {(choice.scope === 'program' || choice.scope === 'transfer_type') && (
        <ProgramField value={choice.of} onChange={(of) => onChoose({ of })} />
      )}
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

/** Asks for a connector, a card program and a type of transfer. */
function ConnectorFields({ choice, onChoose }: Parameters<typeof ScopeFields>[0]) {
  const { data } = useOperation((api, options) => api.connectors.list(options), { ofAnyProgram: true });
  const ids = (data?.data ?? []).map(({ connector_id: id }) => id);
  const listed = choice.at === '' || ids.includes(choice.at) ? ids : [...ids, choice.at];
  return (
    <>
      <SelectField
        label="Connector"
        value={choice.at}
        options={[['', 'Choose a connector'], ...listed.map((id) => [id, id] as const)]}
        onChange={(at) => onChoose({ at })}
      />
      <ProgramField value={choice.of} onChange={(of) => onChoose({ of })} without="All card programs" />
      <SelectField
        label="Type of transfer"
        value={choice.only}
        options={[
          ['', 'Loads and unloads'],
          ...ORDERED_TYPES.map((type) => [type, sentenceCase(kindText(type))] as const),
        ]}
        onChange={(only) => onChoose({ only })}
      />
    </>
  );
}

/** Asks for confirmation, shows what will be refused, and stops it. */
function ConfirmStop({
  scope,
  what,
  wish: { reason, until },
  preview,
  onStopped,
  onClose,
}: {
  readonly scope: PreviewSwitchQuery;
  /** The scope in words: `loads for Lumen Gift Cards`. */
  readonly what: string;
  readonly wish: StopDetails;
  readonly preview: SwitchPreview;
  readonly onStopped: (setting: SwitchRecord) => void;
  readonly onClose: () => void;
}) {
  const change = useAction((body: ChangeSwitchBody, api, options) => api.switch.change(body, options));
  const stop = async () => {
    const { program_id: programId, type, connector_id: connectorId } = scope;
    const body: ChangeSwitchBody = {
      disabled: true,
      reason: reason.trim(),
      ...(programId !== undefined && { program_id: programId }),
      ...(type !== undefined && { type }),
      ...(connectorId !== undefined && { connector_id: connectorId }),
      ...(until !== '' && { until }),
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
        in the last hour. New {scope.connector_id === undefined ? 'transfers, captures and reversals' : 'ones'} are
        refused {until === '' ? 'until someone restarts them.' : `until ${formatMoment(until)}.`}
      </p>
      <p>
        Reason: <b>{reason}</b>
      </p>
    </ConfirmDialog>
  );
}

function useWords(choice: typeof CHOICE): string {
  const { scope, of, at } = choice;
  const { name } = useName('program', scope === 'service' || of === '' ? undefined : of);
  const isConnector = scope === 'connector';
  return scopeText(
    {
      scope: scope === 'service' || isConnector ? scope : 'program',
      type: typeOf(choice) ?? null,
      program_id: isConnector && of === '' ? null : of,
      connector_id: isConnector ? at : null,
    },
    name ?? (of === '' ? 'a card program' : of),
  );
}

const ORDERED_TYPES = TRANSFER_TYPES.filter((type) => type !== 'card_to_card');

function typeOf({ scope, type, only }: typeof CHOICE): PreviewSwitchQuery['type'] {
  const chosen = scope === 'transfer_type' ? type : scope === 'connector' ? only : '';
  return TRANSFER_TYPES.find((one) => one === chosen);
}

/** Returns the scope in the API's format, or undefined while its program or its connector is not chosen. */
function scopeOf(choice: typeof CHOICE): PreviewSwitchQuery | undefined {
  const { scope, of, at } = choice;
  if (scope === 'service') return {};
  if (scope === 'connector' ? at === '' : of === '') return undefined;
  const type = typeOf(choice);
  return {
    ...(of !== '' && { program_id: of }),
    ...(type !== undefined && { type }),
    ...(scope === 'connector' && { connector_id: at }),
  };
}

function isOf(scope: PreviewSwitchQuery | undefined, preview: SwitchPreview | undefined): boolean {
  if (scope === undefined || preview === undefined) return false;
  const { program_id: programId = null, type = null, connector_id: connectorId = null } = scope;
  return preview.program_id === programId && preview.type === type && preview.connector_id === connectorId;
}
