import type { InspectedErrorRecord } from '../../../sdk/client.ts';
import { parseJson } from '../../../sdk/generated/parse-json.ts';
import { CopyButton } from '../../components/button.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { CardName } from '../../components/name.tsx';
import { Section } from '../../components/page.tsx';
import { useSession } from '../../data/session.ts';
import { useOperation } from '../../data/use-operation.ts';
import { currencyOfError, shownValues } from '../../format/requests/values.ts';
import { type Advice, type AdvisedRequest, adviceOf, type CatalogueEntry } from '../../format/support/advice.ts';

export function ErrorDetails({ error }: { readonly error: InspectedErrorRecord }) {
  const { checks, request, causes } = error;
  const currency = useCurrency(error);
  return (
    <>
      {checks !== null && (
        <Section title="Values at the time">
          <Values of={checks} currency={currency} programId={error.program_id} />
        </Section>
      )}
      {request !== null && (
        <Section title="What was sent">
          <Values of={request} currency={currency} programId={error.program_id} />
        </Section>
      )}
      {causes.length > 0 && (
        <Section title="Causes">
          <ol class="causes">
            {causes.map((cause, index) => (
              <li key={`${index} ${cause.name}`}>
                <p>
                  <b>{cause.name}</b>: {cause.message}
                </p>
                {cause.stack.length > 0 && (
                  <details>
                    <summary>Stack trace</summary>
                    <pre>{cause.stack.join('\n')}</pre>
                  </details>
                )}
              </li>
            ))}
          </ol>
        </Section>
      )}
    </>
  );
}

/** Returns the currency of an error's amounts, or else the currency of its card. */
function useCurrency(error: InspectedErrorRecord): string | undefined {
  const { can } = useSession();
  const { card_id: cardId, program_id: programId, code } = error;
  const known = currencyOfError(error);
  const isAsked = known === undefined && cardId !== null && code !== 'card_not_found' && can('get_card');
  const card = useOperation(
    isAsked
      ? (api, options) => api.cards.get(cardId, programId === null ? options : { ...options, programId })
      : undefined,
    { deps: [cardId, programId], isOwn: true },
  );
  return known ?? card.data?.currency;
}

function Values({
  of: values,
  currency,
  programId,
}: {
  readonly of: Readonly<Record<string, unknown>>;
  readonly currency: string | undefined;
  readonly programId: string | null;
}) {
  return (
    <table class="table values">
      <tbody>
        {shownValues(values, currency).map(({ name, text, kind }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>
              {kind === 'moment' && <Moment at={text} />}
              {kind === 'card' && <CardName id={text} programId={programId} />}
              {kind === 'parts' && <code>{text}</code>}
              {kind === 'text' && <span>{text}</span>}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Says what to do about an error. Support sees different advice than the caller. */
export function WhatToDo({
  about,
  side,
}: {
  readonly about: AdvisedRequest & { readonly code: string };
  readonly side: 'support' | 'caller';
}) {
  const { code } = about;
  const state = useOperation((_, { signal }) => readCatalogueEntry(code, signal).then((entry) => ({ entry })), {
    deps: [code],
  });
  return (
    <Section title="What to do">
      <Loaded state={state}>
        {({ entry }) =>
          entry === undefined ? (
            <p>The catalogue of this version has no code {code}.</p>
          ) : (
            <div class="catalogue-entry">
              {side === 'support' ? (
                <SupportAdvice advice={adviceOf(entry, about)} />
              ) : (
                <p>
                  {entry.resolution} {entry.retry ? 'The same request may succeed later.' : "Retrying won't help."}
                </p>
              )}
              <Meaning entry={entry} side={side} />
            </div>
          )
        }
      </Loaded>
    </Section>
  );
}

function SupportAdvice({ advice: { tell, next, guide } }: { readonly advice: Advice }) {
  return (
    <dl class="advice">
      <dt>Next step</dt>
      <dd>
        {next} {guide !== undefined && <a href={guide}>Open the guide</a>}
      </dd>
      <dt>Tell the customer</dt>
      <dd>
        {tell} <CopyButton text={tell} label="Copy the text for the customer" />
      </dd>
    </dl>
  );
}

function Meaning({ entry, side }: { readonly entry: CatalogueEntry; readonly side: 'support' | 'caller' }) {
  return (
    <details>
      <summary>
        What <code>{entry.code}</code> means
      </summary>
      <p>{entry.meaning}</p>
      <ul>
        {entry.causes.map((cause) => (
          <li key={cause}>{cause}</li>
        ))}
      </ul>
      {side === 'support' && <p>The caller reads: “{entry.resolution}”</p>}
      <p>
        <a href={`/errors/${entry.code}`}>Its page in the catalogue</a>
      </p>
    </details>
  );
}

/** Reads the entry of a code. Undefined if this version of the service doesn't have the code. */
async function readCatalogueEntry(code: string, signal: AbortSignal | undefined): Promise<CatalogueEntry | undefined> {
  const response = await fetch(`/errors/${encodeURIComponent(code)}.json`, signal === undefined ? {} : { signal });
  return response.ok ? (parseJson(await response.text()) as CatalogueEntry) : undefined;
}
