import { useState } from 'preact/hooks';
import { ERRORS, isErrorCode, OPERATIONS, type OperationId } from '../../../sdk/client.ts';
import { parseJson } from '../../../sdk/generated/parse-json.ts';
import { Button } from '../../components/button.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { CheckField, SelectField } from '../../components/field.tsx';
import { Id } from '../../components/id.tsx';
import { Section } from '../../components/page.tsx';
import { newIdempotencyKey } from '../../data/client.ts';
import { useProgram } from '../../data/program.ts';
import { useSession } from '../../data/session.ts';

/** Codes that are not specific to one operation. If an operation does not have the code, the service says so. */
const SHARED = Object.keys(ERRORS).filter(
  (code) => code === 'unknown_request' || !(code.endsWith('_schema') || code.startsWith('unknown_')),
);

/** Makes the service send any error of any operation, so that users can test the error handling of a client. */
export function ProvokeSection() {
  const { can } = useSession();
  const { programId } = useProgram();
  const operations = (Object.keys(OPERATIONS) as OperationId[]).filter(can).sort();
  const [operation, setOperation] = useState<OperationId>(
    can('create_transfer') ? 'create_transfer' : 'list_transfers',
  );
  const [code, setCode] = useState('insufficient_funds');
  const [isUnknown, setUnknown] = useState(false);
  const [pending, setPending] = useState(false);
  const [answer, setAnswer] = useState<Provoked | undefined>(undefined);
  const [error, setError] = useState<Error | undefined>(undefined);
  const codes = [...SHARED, `${operation}_schema`, `unknown_${operation}`].filter(isErrorCode).sort();
  const chosen = codes.find((one) => one === code) ?? 'unauthenticated';
  const mayBeUnknown = OPERATIONS[operation].movesMoney && chosen === `unknown_${operation}`;

  const send = async (event: Event) => {
    event.preventDefault();
    setPending(true);
    setError(undefined);
    try {
      const header = mayBeUnknown && isUnknown ? `${chosen}; money_moved=unknown` : chosen;
      setAnswer(await provoke(operation, header, programId));
    } catch (thrown) {
      setError(thrown instanceof Error ? thrown : new Error(String(thrown)));
    } finally {
      setPending(false);
    }
  };
  return (
    <Section title="Provoke an error">
      <p class="quiet">
        With the header <code>Sandbox-Provoke</code>, a sandbox responds with an error and does nothing else.
      </p>
      <form class="form" onSubmit={send}>
        <SelectField
          label="Operation"
          value={operation}
          onChange={(next) => setOperation(next as OperationId)}
          options={operations.map((one) => [one, one] as const)}
        />
        <SelectField
          label="Code"
          value={chosen}
          onChange={setCode}
          options={codes.map((one) => [one, one] as const)}
          hint={<a href={`/errors/${chosen}`}>What this code means</a>}
        />
        {mayBeUnknown && (
          <CheckField label="It is not known whether money moved" checked={isUnknown} onChange={setUnknown} />
        )}
        <div class="dialog-actions">
          <Button type="submit" kind="main" pending={pending}>
            Provoke {chosen}
          </Button>
        </div>
      </form>
      {error !== undefined && <ErrorRecord error={error} />}
      {answer !== undefined && <Answer answer={answer} wanted={chosen} />}
    </Section>
  );
}

function Answer({ answer, wanted }: { readonly answer: Provoked; readonly wanted: string }) {
  const { status, code, headers, body, requestId } = answer;
  return (
    <div role="status">
      <p>
        {status} {code === wanted ? wanted : `${code ?? ''}: this operation does not have the code ${wanted}`}
        {requestId !== undefined && (
          <>
            {' '}
            <Id id={requestId} kind="request" />
          </>
        )}
      </p>
      <pre class="answer">{[...headers, '', body].join('\n')}</pre>
    </div>
  );
}

type Provoked = {
  readonly status: number;
  readonly code: string | undefined;
  readonly requestId: string | undefined;
  readonly headers: readonly string[];
  readonly body: string;
};

/** The headers that integrators handle. */
const SHOWN = [
  'Error-Code',
  'Should-Retry',
  'Retry-After',
  'Money-Moved',
  'Transfer-Id',
  'Error-Field',
  'Allow',
  'Link',
];

/**
 * Asks a sandbox to respond to an operation with an error. The service does not process the request, so its ids do not have to
 * exist.
 */
async function provoke(operation: OperationId, provocation: string, programId: string | undefined): Promise<Provoked> {
  const { method, path, idempotency, program } = OPERATIONS[operation];
  const headers = new Headers({ Console: '1', 'Sandbox-Provoke': provocation });
  if (idempotency !== 'none') headers.set('Idempotency-Key', newIdempotencyKey());
  if (program && programId !== undefined) headers.set('Program-Id', programId);
  const url = path.replaceAll(/\{[a-z_]+\}/g, 'example');
  const response = await fetch(url, { method, headers, credentials: 'same-origin', cache: 'no-store' });
  const shown = SHOWN.flatMap((name) => {
    const value = response.headers.get(name);
    return value === null ? [] : [`${name}: ${value}`];
  });
  return {
    status: response.status,
    code: response.headers.get('Error-Code') ?? undefined,
    requestId: response.headers.get('Request-Id') ?? undefined,
    headers: shown,
    body: pretty(await response.text()),
  };
}

function pretty(text: string): string {
  try {
    return JSON.stringify(parseJson(text), null, 2);
  } catch {
    return text;
  }
}
