import { useState } from 'preact/hooks';
import type { SwitchRecord } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { Empty } from '../../components/empty.tsx';
import { TextField } from '../../components/field.tsx';
import { Id } from '../../components/id.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Page, Section } from '../../components/page.tsx';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';
import { useOperation } from '../../data/use-operation.ts';
import { scopeText } from '../../format/switch.ts';
import { DisableForm } from './disable-form.tsx';
import { Preview, usePreview } from './preview.tsx';

const POLL_MILLISECONDS = 5_000;

/** What is disabled, and how to change that. */
export function SwitchScreen() {
  const { can } = useSession();
  const state = useOperation((api, options) => api.switch.get(options), { pollMilliseconds: POLL_MILLISECONDS });
  const [enabling, setEnabling] = useState<SwitchRecord | undefined>(undefined);
  const mayChange = can('change_switch');
  const close = () => setEnabling(undefined);
  return (
    <Page
      title="Switch"
      lead="Stops transfers of the whole service, of a card program, or of one type, at once. After the response nothing in the scope completes."
    >
      <Section title="Settings">
        <Loaded state={state}>
          {({ data }) => (
            <DataTable
              label="Settings of the switch"
              rows={data}
              rowKey={({ program_id: programId, type }) => `${programId} ${type}`}
              columns={columnsOf(mayChange ? setEnabling : undefined)}
              empty={<Empty title="Everything is enabled">Nothing was ever disabled.</Empty>}
            />
          )}
        </Loaded>
      </Section>
      <Section title={mayChange ? 'Disable transfers' : 'What disabling would stop'}>
        <DisableForm mayChange={mayChange} />
      </Section>
      {enabling !== undefined && <EnableDialog setting={enabling} onClose={close} />}
    </Page>
  );
}

function columnsOf(onEnable: ((setting: SwitchRecord) => void) | undefined) {
  return [
    { title: 'Scope', cell: (setting: SwitchRecord) => scopeText(setting) },
    { title: 'Program', cell: ({ program_id: id }: SwitchRecord) => <Id id={id} /> },
    {
      title: 'State',
      cell: ({ disabled }: SwitchRecord) => (
        <Badge tone={disabled ? 'bad' : 'good'}>{disabled ? 'disabled' : 'enabled'}</Badge>
      ),
    },
    { title: 'Reason', cell: ({ reason }: SwitchRecord) => reason ?? <span class="quiet">–</span> },
    { title: 'Since', cell: ({ since }: SwitchRecord) => <Moment at={since} /> },
    { title: 'Until', cell: ({ until }: SwitchRecord) => <Moment at={until} /> },
    { title: 'By', wideOnly: true, cell: ({ actor }: SwitchRecord) => <Id id={actor} /> },
    ...(onEnable === undefined
      ? []
      : [
          {
            title: 'Change',
            cell: (setting: SwitchRecord) =>
              setting.disabled ? (
                <Button onClick={() => onEnable(setting)}>Enable</Button>
              ) : (
                <span class="quiet">–</span>
              ),
          },
        ]),
  ];
}

/** Enables one scope. Other settings can still disable the same transfers, and it says so. */
function EnableDialog({ setting, onClose }: { readonly setting: SwitchRecord; readonly onClose: () => void }) {
  const [reason, setReason] = useState('');
  const scope = {
    ...(setting.program_id !== null && { program_id: setting.program_id }),
    ...(setting.type !== null && { type: setting.type }),
  };
  const preview = usePreview(scope);
  const change = useAction((body: { readonly reason?: string }, api, options) =>
    api.switch.change({ disabled: false, ...scope, ...body }, options),
  );
  const enable = async () => {
    if ((await change.run(reason === '' ? {} : { reason })) === undefined) return;
    onClose();
  };
  return (
    <ConfirmDialog
      title={`Enable ${scopeText(setting).toLowerCase()}`}
      confirm={`Enable ${scopeText(setting).toLowerCase()}`}
      pending={change.pending}
      error={change.error}
      onConfirm={enable}
      onClose={onClose}
    >
      <TextField label="Reason" hint="Optional; it is in the audit log." value={reason} onInput={setReason} />
      <Loaded state={preview}>{(found) => <Preview preview={found} isEnabling />}</Loaded>
    </ConfirmDialog>
  );
}
