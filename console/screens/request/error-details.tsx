import type { InspectedErrorRecord } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { LinkedText } from '../../components/id.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { Section } from '../../components/page.tsx';
import { readCatalogueEntry } from '../../data/catalogue.ts';
import { useOperation } from '../../data/use-operation.ts';
import { textOfValue } from '../../format/requests/requests.ts';

/** What is stored of an error: its record, what the check saw, what was sent, and the causes of a fault of the service. */
export function ErrorDetails({ error }: { readonly error: InspectedErrorRecord }) {
  const { message, status, code, type, field, method, path, checks, request, causes } = error;
  return (
    <>
      <Section title="The error">
        <div class="error-record">
          <p class="error-message">
            <LinkedText text={message} />
          </p>
          <p class="error-facts">
            <span>
              {status} <a href={`/errors/${encodeURIComponent(code)}`}>{code}</a>
            </span>
            <Badge tone={type === 'Request Error' ? 'plain' : 'bad'}>{type}</Badge>
            {field !== null && (
              <span>
                Field <code>{field}</code>
              </span>
            )}
            {path !== null && (
              <span>
                <code>
                  {method} {path}
                </code>
              </span>
            )}
          </p>
        </div>
      </Section>
      {checks !== null && (
        <Section title="What the check saw">
          <Values of={checks} />
        </Section>
      )}
      {request !== null && (
        <Section title="What was sent">
          <Values of={request} />
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
                    <summary>Where it was thrown</summary>
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

function Values({ of }: { readonly of: Readonly<Record<string, unknown>> }) {
  return (
    <table class="table values">
      <tbody>
        {Object.entries(of).map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{name.replaceAll('_', ' ')}</th>
            <td>
              <code>{textOfValue(value)}</code>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** What the catalogue says of a code: what it means, why it occurs, and what to do. */
export function ErrorCause({ code }: { readonly code: string }) {
  const state = useOperation((_, { signal }) => readCatalogueEntry(code, signal).then((entry) => ({ entry })), {
    deps: [code],
  });
  return (
    <Section title="What it means">
      <Loaded state={state}>
        {({ entry }) =>
          entry === undefined ? (
            <p>The catalogue of this version has no code {code}.</p>
          ) : (
            <div class="catalogue-entry">
              <p>
                <a href={`/errors/${entry.code}`}>
                  <code>{entry.code}</code>
                </a>
                : {entry.meaning}
              </p>
              <h3>Causes</h3>
              <ul>
                {entry.causes.map((cause) => (
                  <li key={cause}>{cause}</li>
                ))}
              </ul>
              <h3>What to do</h3>
              <p>{entry.resolution}</p>
              <p class="quiet">
                Resolved by: {entry.resolver}.{' '}
                {entry.retry ? 'The same request can succeed later.' : 'Trying the same again does not help.'}
              </p>
            </div>
          )
        }
      </Loaded>
    </Section>
  );
}
