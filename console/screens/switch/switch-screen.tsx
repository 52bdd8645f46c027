import { useState } from 'preact/hooks';
import type { IncidentRecord, SwitchRecord } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, WhoMay } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { ConfirmDialog } from '../../components/dialogs/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { Empty, Loaded } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { KeyName, SwitchSetting } from '../../components/name.tsx';
import { Page, Section } from '../../components/page.tsx';
import { IncidentDialog } from '../../components/support/incident-dialog.tsx';
import { EndIncidentDialog } from '../../components/support/resolution.tsx';
import { hrefTo } from '../../data/location.ts';
import { useName } from '../../data/names.ts';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';
import { useOperation } from '../../data/use-operation.ts';
import { pathOf } from '../../format/ids.ts';
import { scopeText, settingKey } from '../../format/operators/switch.ts';
import { draftOfStop, incidentsOfSwitch } from '../../format/support/incidents.ts';
import { Preview, usePreview } from './preview.tsx';
import { StopForm } from './stop-form.tsx';

const POLL_MILLISECONDS = 5_000;

/** Shows what is stopped, and stops or restarts transfers. */
export function SwitchScreen() {
  const { can } = useSession();
  const state = useOperation((api, options) => api.switch.get(options), { pollMilliseconds: POLL_MILLISECONDS });
  const [restarting, setRestarting] = useState<SwitchRecord | undefined>(undefined);
  const mayChange = can('change_switch');
  const [restarts, setRestarts] = useState(0);
  const [changed, setChanged] = useState<Changed | undefined>(undefined);
  const close = () => setRestarting(undefined);
  return (
    <Page
      title="Switch"
      lead="Stops everything, the transfers of a card program, one type of transfer, or transfers at a connector. Takes effect immediately."
    >
      {changed !== undefined && <IncidentOffer changed={changed} onDone={() => setChanged(undefined)} />}
      <Section title="What is stopped">
        <Loaded state={state}>
          {({ data }) => (
            <DataTable
              label="Settings of the switch"
              rows={data}
              rowKey={settingKey}
              columns={columnsOf(mayChange ? setRestarting : undefined)}
              empty={<Empty title="Everything runs">Nothing has ever been stopped.</Empty>}
            />
          )}
        </Loaded>
      </Section>
      <Section title={mayChange ? 'Stop transfers' : 'Preview of a stop'}>
        <WhoMay operation="change_switch" to="stop or restart transfers" />
        <StopForm
          mayChange={mayChange}
          restarts={restarts}
          onStopped={(setting, programName) => setChanged({ setting, programName })}
        />
      </Section>
      {restarting !== undefined && (
        <RestartDialog
          setting={restarting}
          onRestarted={() => {
            close();
            setRestarts((count) => count + 1);
            setChanged({ setting: { ...restarting, disabled: false }, programName: '' });
          }}
          onClose={close}
        />
      )}
    </Page>
  );
}

function columnsOf(onRestart: ((setting: SwitchRecord) => void) | undefined): readonly Column<SwitchRecord>[] {
  const columns: readonly Column<SwitchRecord>[] = [
    { title: 'What', onPhone: 'title', cell: (setting) => <SwitchSetting setting={setting} starts /> },
    {
      title: 'State',
      onPhone: 'value',
      cell: ({ disabled }) => <Badge tone={disabled ? 'bad' : 'good'}>{disabled ? 'stopped' : 'running'}</Badge>,
    },
    { title: 'Reason', onPhone: 'note', cell: ({ reason }) => reason },
    { title: 'Since', onPhone: 'note', cell: ({ since }) => <Moment at={since} short /> },
    { title: 'Until', cell: ({ until }) => until !== null && <Moment at={until} short /> },
    { title: 'By', onPhone: 'note', cell: ({ actor }) => <KeyName id={actor} /> },
  ];
  if (onRestart === undefined) return columns;
  return [
    ...columns,
    {
      title: 'Change',
      onPhone: 'note',
      cell: (setting) =>
        setting.disabled ? (
          <span class="row-actions">
            <Button onClick={() => onRestart(setting)}>Restart</Button>
          </span>
        ) : (
          <span class="quiet none">–</span>
        ),
    },
  ];
}

/** Restarts one scope. If other settings still stop the same transfers, it says so. */
function RestartDialog({
  setting,
  onRestarted,
  onClose,
}: {
  readonly setting: SwitchRecord;
  readonly onRestarted: () => void;
  readonly onClose: () => void;
}) {
  const [reason, setReason] = useState('');
  const { name } = useName('program', setting.program_id);
  const title = `Restart ${scopeText(setting, name ?? setting.program_id ?? '')}`;
  const scope = {
    ...(setting.program_id !== null && { program_id: setting.program_id }),
    ...(setting.type !== null && { type: setting.type }),
    ...(setting.connector_id !== null && { connector_id: setting.connector_id }),
  };
  const preview = usePreview(scope);
  const change = useAction((body: { readonly reason?: string }, api, options) =>
    api.switch.change({ disabled: false, ...scope, ...body }, options),
  );
  const restart = async () => {
    if ((await change.run(reason === '' ? {} : { reason })) === undefined) return;
    onRestarted();
  };
  return (
    <ConfirmDialog
      title={title}
      confirm={title}
      pending={change.pending}
      error={change.error}
      onConfirm={restart}
      onClose={onClose}
    >
      <TextField
        label="Reason"
        name="reason"
        hint="Optional. Kept in the audit log."
        value={reason}
        onInput={setReason}
      />
      <Loaded state={preview}>{(found) => <Preview preview={found} isRestarting />}</Loaded>
    </ConfirmDialog>
  );
}

/** A setting that was just stopped or restarted on this screen. */
type Changed = { readonly setting: SwitchRecord; readonly programName: string };

type OfferParts = {
  readonly changed: Changed;
  /** Called when there is nothing more to offer. */
  readonly onDone: () => void;
};

/** After a stop, offers to open an incident for callers. After a restart, offers to end that incident. */
function IncidentOffer(parts: OfferParts) {
  const { can } = useSession();
  const { changed } = parts;
  if (!changed.setting.disabled) return can('resolve_incident') ? <Ending {...parts} /> : null;
  return can('create_incident') ? <Opening {...parts} /> : null;
}

function Opening({ changed: { setting, programName }, onDone }: OfferParts) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <p class="notice" role="status">
        Stopped. Tell the affected callers? <Button onClick={() => setOpen(true)}>Open an incident…</Button>{' '}
        <Button kind="quiet" onClick={onDone}>
          No
        </Button>
      </p>
      {isOpen && (
        <IncidentDialog
          draft={draftOfStop(setting, programName, setting.reason ?? '')}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}

function Ending({ changed: { setting }, onDone }: OfferParts) {
  const [ending, setEnding] = useState<IncidentRecord | undefined>(undefined);
  const { data } = useOperation((api, options) => api.incidents.list({ status: 'open', limit: 100 }, options), {
    deps: [setting],
    isOwn: true,
  });
  const caused = incidentsOfSwitch(data?.data ?? [], setting);
  if (caused.length === 0) return null;
  return (
    <>
      {caused.map((incident) => (
        <p key={incident.incident_id} class="notice" role="status">
          Restarted. The incident <a href={hrefTo(pathOf(incident.incident_id) ?? '')}>{incident.title}</a> is still
          open. <Button onClick={() => setEnding(incident)}>End the incident…</Button>{' '}
          <Button kind="quiet" onClick={onDone}>
            Not yet
          </Button>
        </p>
      ))}
      {ending !== undefined && (
        <EndIncidentDialog incident={ending} onDone={onDone} onClose={() => setEnding(undefined)} />
      )}
    </>
  );
}
