import type { PreviewSwitchQuery, SwitchPreview } from '../../../sdk/client.ts';
import { Details, Highlights } from '../../components/details.tsx';
import { Moment } from '../../components/moment.tsx';
import { NameLink, SwitchSetting } from '../../components/name.tsx';
import { type OperationState, useOperation } from '../../data/use-operation.ts';
import { formatCount } from '../../format/amounts.ts';
import { settingKey } from '../../format/operators/switch.ts';

/** Reads the preview for a scope, and reads it again whenever `changes` has a new value. Without a scope nothing is sent. */
export function usePreview(scope: PreviewSwitchQuery | undefined, changes = 0): OperationState<SwitchPreview> {
  return useOperation<SwitchPreview>(scope && ((api, options) => api.switch.preview(scope, options)), {
    deps: [scope?.program_id, scope?.type, scope?.connector_id, changes],
  });
}

/** Shows what a change affects: the transfers in the scope, what waits, what stops and what continues. */
export function Preview({
  preview,
  isRestarting = false,
}: {
  readonly preview: SwitchPreview;
  readonly isRestarting?: boolean;
}) {
  const { programs, last_hour: hour, last_day: day, scheduled, in_force: inForce } = preview;
  return (
    <>
      <Highlights
        facts={[
          {
            name: 'Transfers in the last hour',
            value: countText(hour),
            note: (
              <>
                since <Moment at={hour.since} short actual />
              </>
            ),
          },
          { name: 'In the last day', value: countText(day) },
        ]}
      />
      <Details
        facts={[
          [
            preview.connector_id === null ? 'Card programs' : 'Card programs in the last day',
            <Programs programs={programs} />,
          ],
          [
            isRestarting ? 'Scheduled transfers' : 'Scheduled transfers that wait',
            scheduled.transfers === 0
              ? 'none'
              : `${scheduled.at_least ? 'at least ' : ''}${formatCount(scheduled.transfers)}, ${formatCount(scheduled.within_day)} of them within 24 hours`,
          ],
          scheduled.next_at !== null && ['The next is due', <Moment at={scheduled.next_at} />],
        ]}
      />
      <InForce settings={inForce} isRestarting={isRestarting} />
      {!isRestarting && <Effects preview={preview} />}
    </>
  );
}

function countText({ transfers, at_least: atLeast }: SwitchPreview['last_hour']): string {
  return `${atLeast ? 'at least ' : ''}${formatCount(transfers)}`;
}

/** Lists the programs by name if there are few, or else their number. */
function Programs({ programs: { count, data } }: { readonly programs: SwitchPreview['programs'] }) {
  if (count === 0 || count > data.length) return formatCount(count);
  return (
    <>
      {data.map(({ program_id: id, name }, at) => (
        <span key={id}>
          {at > 0 && ', '}
          <NameLink kind="program" id={id} name={name} plain />
        </span>
      ))}
    </>
  );
}

/** Lists settings that already stop the scope, or that will still stop it when the chosen setting is removed. */
function InForce({
  settings,
  isRestarting,
}: {
  readonly settings: SwitchPreview['in_force'];
  readonly isRestarting: boolean;
}) {
  const isOther = isRestarting ? settings.length > 1 : settings.length > 0;
  if (!isOther) return null;
  return (
    <p class="answer unknown">
      {isRestarting ? 'More than one setting stops these transfers: ' : 'Already stopped: '}
      {settings.map((setting, at) => (
        <span key={settingKey(setting)}>
          {at > 0 && ', '}
          <SwitchSetting setting={setting} plain />
        </span>
      ))}
      {isRestarting ? '. Restart each of them.' : '.'}
    </p>
  );
}

function Effects({ preview: { stops, goes_on: goesOn } }: { readonly preview: SwitchPreview }) {
  return (
    <div class="effects">
      <div>
        <h3>What stops</h3>
        <ul>
          {stops.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      </div>
      <div>
        <h3>What continues</h3>
        <ul>
          {goesOn.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      </div>
    </div>
  );
}
