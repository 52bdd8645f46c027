import { useState } from 'preact/hooks';
import type { ConnectorRecord, SwitchRecord } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { WhoMay } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Empty, Loaded } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { StoppedSetting } from '../../components/name.tsx';
import { Page, Section } from '../../components/page.tsx';
import { hrefTo } from '../../data/location.ts';
import { useOperation } from '../../data/use-operation.ts';
import { openText } from '../../format/operators/processors.ts';
import { settingKey } from '../../format/operators/switch.ts';
import { AttemptQueue } from './attempt-queue.tsx';
import { Breaks } from './breaks.tsx';

const POLL_MILLISECONDS = 5_000;

/** Shows the connectors to processors and their state, the attempts at each, and everything that needs attention. */
export function ProcessorsScreen() {
  const [done, setDone] = useState('');
  const connectors = useOperation((api, options) => api.connectors.list(options), {
    ofAnyProgram: true,
    pollMilliseconds: POLL_MILLISECONDS,
  });
  const ids = connectors.data?.data.map(({ connector_id: id }) => id) ?? [];
  return (
    <Page
      title="Processors"
      lead="The connectors to card processors, transfers with an unknown outcome, and contradictions between processors and the books."
    >
      <p class={done === '' ? 'hidden' : 'notice'} role="status">
        {done}
      </p>
      <Section title="Connectors">
        <Loaded state={connectors}>
          {({ data }) => (
            <DataTable
              label="Connectors"
              columns={[
                ...CONNECTOR_COLUMNS,
                ...(data.some(({ reason }) => reason !== null) ? [REASON] : []),
                ...(data.some(({ disabled_by: by }) => by.length > 0) ? [STOPPED] : []),
              ]}
              rows={data}
              rowKey={({ connector_id: id }) => id}
              href={hrefOf}
              empty={
                <Empty title="No connectors">
                  The money of all cards is in this ledger. <a href="/guides/processors">Connect a processor</a>
                </Empty>
              }
            />
          )}
        </Loaded>
      </Section>
      <AttemptQueue connectorIds={ids} onDone={setDone} />
      <Breaks onDone={setDone} />
      <WhoMay operation="resolve_attempt" to="resolve an attempt or close a break" />
    </Page>
  );
}

/** Whether a setting stops everything that goes to a connector. */
function isWhole({ program_id: programId, type }: SwitchRecord): boolean {
  return programId === null && type === null;
}

/** Returns the link that filters the list below for a connector. */
function hrefOf({ connector_id: id }: ConnectorRecord): string {
  return hrefTo('/console/processors', { status: 'open', connector_id: id });
}

const CONNECTOR_COLUMNS: readonly Column<ConnectorRecord>[] = [
  { title: 'Connector', onPhone: 'title', cell: (row) => <a href={hrefOf(row)}>{row.connector_id}</a> },
  {
    title: 'State',
    onPhone: 'value',
    cell: ({ state, since, disabled_by: settings }) => (
      <>
        <Badge tone={state === 'up' ? 'good' : 'bad'}>{state}</Badge>
        {since !== null && (
          <small class="quiet">
            {' '}
            since <Moment at={since} short />
          </small>
        )}
        {settings.length > 0 && (
          <>
            {' '}
            <Badge tone="bad">{settings.some(isWhole) ? 'stopped' : 'stopped in part'}</Badge>
          </>
        )}
      </>
    ),
  },
  { title: 'Open transfers', onPhone: 'note', cell: ({ open }) => openText(open) },
  {
    title: 'Oldest unknown',
    cell: ({ oldest_unknown_since: since }) =>
      since === null ? <span class="quiet">none</span> : <Moment at={since} short />,
  },
  { title: 'Calls now', align: 'end', cell: ({ in_flight: calls }) => calls },
];

const REASON: Column<ConnectorRecord> = { title: 'Why it is down', onPhone: 'note', cell: ({ reason }) => reason };

/** With more settings than this, the column shows only their number. The switch screen lists them all. */
const MAX_SETTINGS = 3;

const STOPPED: Column<ConnectorRecord> = {
  title: 'Stopped by the switch',
  onPhone: 'note',
  cell: ({ disabled_by: settings }) =>
    settings.length === 0 ? (
      <span class="quiet none">–</span>
    ) : (
      <>
        {settings.slice(0, MAX_SETTINGS).map((setting) => (
          <div key={settingKey(setting)}>
            <StoppedSetting setting={setting} />
          </div>
        ))}
        {settings.length > MAX_SETTINGS && (
          <div>
            <a href={hrefTo('/console/switch')}>And {settings.length - MAX_SETTINGS} more</a>
          </div>
        )}
      </>
    ),
};
