import type { SwitchRecord } from '../../sdk/client.ts';
import { hrefTo } from '../data/location.ts';
import type { NamedKind } from '../data/name-book.ts';
import { useName } from '../data/names.ts';
import { pathOf, shortId } from '../format/ids.ts';
import { nameOfActor, sentenceCase } from '../format/names.ts';
import { kindText } from '../format/operators/switch.ts';
import { CopyButton } from './button.tsx';
import { Moment } from './moment.tsx';

type NameParts = {
  readonly id: string | null | undefined;
  /** The program of a card or webhook, if it is not the chosen one. */
  readonly programId?: string | null | undefined;
  /** For sentences: without the button that copies the id. */
  readonly plain?: boolean;
  /** False inside a link, which can't contain other links. */
  readonly linked?: boolean;
};

/**
 * Shows the name of a record as a link to its screen, with the id in the tooltip and a button that copies it. If the name is
 * unknown, or the caller can't read it, it shows the id.
 */
export function Name({ kind, id, programId, ...shown }: NameParts & { readonly kind: NamedKind }) {
  const { name, isLoading } = useName(kind, id, programId);
  if (id === null || id === undefined || id === '') return <span class="quiet none">–</span>;
  return <NameLink kind={kind} id={id} name={name} programId={programId} isLoading={isLoading} {...shown} />;
}

/** Shows a name that is already loaded, such as in a list, as {@link Name} does. */
export function NameLink({
  kind,
  id,
  name,
  programId,
  plain = false,
  linked = true,
  isLoading = false,
}: NameParts & {
  readonly kind: NamedKind;
  readonly id: string;
  /** Undefined if the record has no name. */
  readonly name: string | undefined;
  readonly isLoading?: boolean;
}) {
  const path = linked ? pathOf(id, kind) : undefined;
  const program = kind === 'program' ? id : (programId ?? undefined);
  const shown = name ?? <code>{shortId(id)}</code>;
  return (
    <span class={plain ? 'name plain' : 'name'} aria-busy={isLoading}>
      {path === undefined ? (
        <span title={id}>{shown}</span>
      ) : (
        <a href={hrefTo(path, { program })} title={id}>
          {shown}
        </a>
      )}
      {!plain && <CopyButton text={id} label={`Copy the ${kind}'s id`} />}
    </span>
  );
}

export function ProgramName(parts: Omit<NameParts, 'programId'>) {
  return <Name kind="program" {...parts} />;
}

/** Shows an `actor` of the API: a key or a person by name, and any other caller by a description. */
export function KeyName(parts: Omit<NameParts, 'programId'>) {
  const words = typeof parts.id === 'string' ? nameOfActor(parts.id) : undefined;
  if (words !== undefined) {
    return (
      <span class="unbroken" title={parts.id ?? ''}>
        {words}
      </span>
    );
  }
  return <Name kind={parts.id?.startsWith('per_') === true ? 'person' : 'key'} {...parts} />;
}

/** Shows a webhook by its description, or else its URL. */
export function WebhookName(parts: NameParts) {
  return <Name kind="webhook" {...parts} />;
}

/** Shows a card by its holder and last four digits. */
export function CardName(parts: NameParts) {
  return <Name kind="card" {...parts} />;
}

/** Shows the scope of a setting of the switch, with the name of its card program. Set `starts` at the start of a sentence. */
export function SwitchSetting({
  setting: { program_id: programId, type, connector_id: connectorId },
  starts = false,
  plain = false,
}: {
  readonly setting: Pick<SwitchRecord, 'program_id' | 'type' | 'connector_id'>;
  readonly starts?: boolean;
  readonly plain?: boolean;
}) {
  const begin = starts ? sentenceCase : (text: string): string => text;
  if (programId === null && connectorId === null) return <>{begin('everything')}</>;
  return (
    <>
      {begin(kindText(type))}
      {connectorId !== null && ` at the connector ${connectorId}`}
      {programId !== null && (
        <>
          {' for '}
          <ProgramName id={programId} plain={plain} />
        </>
      )}
    </>
  );
}

/**
 * Says what a setting of the switch has stopped and why, who stopped it, and when it began and ends. Omits the final full stop.
 */
export function StoppedSetting({ setting }: { readonly setting: SwitchRecord }) {
  const { scope, reason, actor, since, until } = setting;
  return (
    <>
      <b>
        <SwitchSetting setting={setting} starts plain /> {scope === 'service' ? 'is' : 'are'} stopped
      </b>
      {reason !== null && <>: {reason}</>}
      {' ('}
      <KeyName id={actor} plain />, <Moment at={since} short />
      {until !== null && (
        <>
          , until <Moment at={until} />
        </>
      )}
      )
    </>
  );
}
