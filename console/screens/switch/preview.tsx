import type { PreviewSwitchQuery, SwitchPreview } from '../../../sdk/client.ts';
import { Facts } from '../../components/facts.tsx';
import { Id } from '../../components/id.tsx';
import { Moment } from '../../components/moment.tsx';
import { type OperationState, useOperation } from '../../data/use-operation.ts';
import { formatCount } from '../../format/amounts.ts';
import { formatNumber, scopeText } from '../../format/switch.ts';

/** What a change of a scope would reach; nothing is asked without a scope. */
export function usePreview(scope: PreviewSwitchQuery | undefined): OperationState<SwitchPreview> {
  return useOperation<SwitchPreview>(scope && ((api, options) => api.switch.preview(scope, options)), {
    deps: [scope?.program_id, scope?.type],
  });
}

/** The blast radius: what is in the scope, what will wait, what stops and what goes on. */
export function Preview({
  preview,
  isEnabling = false,
}: {
  readonly preview: SwitchPreview;
  readonly isEnabling?: boolean;
}) {
  const { programs, last_hour: hour, last_day: day, scheduled, in_force: inForce } = preview;
  return (
    <>
      <Facts
        facts={[
          ['Card programs', formatCount(programs.count)],
          ['Transfers in the last hour', <Since {...hour} />],
          ['Transfers in the last day', <Since {...day} />],
          [
            isEnabling ? 'Scheduled' : 'Will wait when due',
            <>
              {scheduled.at_least && 'at least '}
              {formatNumber(scheduled.transfers, 'transfer')}
              <br />
              <span class="quiet">{formatCount(scheduled.within_day)} within 24 hours</span>
            </>,
          ],
          scheduled.next_at !== null && ['The next is due', <Moment at={scheduled.next_at} />],
        ]}
      />
      {programs.count > 0 && programs.count <= programs.data.length && <Programs programs={programs.data} />}
      <InForce settings={inForce} isEnabling={isEnabling} />
      {!isEnabling && <Effects preview={preview} />}
    </>
  );
}

function Since({ since, transfers }: SwitchPreview['last_hour']) {
  return (
    <>
      {formatCount(transfers)}
      <br />
      <span class="quiet">
        since <Moment at={since} />
      </span>
    </>
  );
}

function Programs({ programs }: { readonly programs: SwitchPreview['programs']['data'] }) {
  return (
    <p>
      {programs.length === 1 ? 'The card program: ' : 'The card programs: '}
      {programs.map(({ program_id: id, name }, at) => (
        <span key={id}>
          {at > 0 && ', '}
          {name} <Id id={id} />
        </span>
      ))}
    </p>
  );
}

/** Settings that already disable the scope, or that go on disabling it when another one is enabled. */
function InForce({
  settings,
  isEnabling,
}: {
  readonly settings: SwitchPreview['in_force'];
  readonly isEnabling: boolean;
}) {
  const isOther = isEnabling ? settings.length > 1 : settings.length > 0;
  if (!isOther) return null;
  const names = settings.map((setting) => scopeText(setting).toLowerCase()).join(', ');
  return (
    <p class="answer unknown">
      {isEnabling
        ? `More than one setting disables these transfers now: ${names}. Enable each of them.`
        : `These transfers are disabled already, by the setting for: ${names}.`}
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
        <h3>What goes on</h3>
        <ul>
          {goesOn.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      </div>
    </div>
  );
}
