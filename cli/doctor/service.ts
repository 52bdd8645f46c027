import { type Check, ok, problem, warning } from '../../domain/doctor-check.ts';
import {
  type CurrentSession,
  type ServiceStatus,
  type TransferService,
  TransferServiceError,
} from '../../sdk/client.ts';
import { parseJson } from '../../sdk/generated/parse-json.ts';

const TIMEOUT_MILLISECONDS = 10_000;

/**
 * Webhook signatures and sessions tolerate a difference of five minutes. Half a minute already means that the clock is not
 * synchronized.
 */
const WARNING_SECONDS = 30;
const PROBLEM_SECONDS = 300;

export type Called = {
  readonly service: TransferService;
  readonly url: string;
  readonly hasKey: boolean;
  readonly program: string | undefined;
  readonly command: string;
};

/** Checks what responds at a URL, and what the key may do there. Stops when all further checks would fail for the same reason. */
export async function examineService(called: Called): Promise<readonly Check[]> {
  const { url } = called;
  const live = await ask(`${url}/health/live`);
  const identity = identityOf(live, url);
  if (identity !== undefined) return [identity];
  const readiness = readinessOf(await ask(`${url}/health/ready`));
  const version = await readVersion(url);
  return [
    ok('service', `Transfer Service ${version}`),
    clockOf(live),
    readiness,
    ...(await examineCaller(called, readiness)),
  ];
}

type Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** When the answer arrived, and how long it took. */
  readonly at: number;
  readonly milliseconds: number;
};

async function ask(url: string): Promise<Answer | Error> {
  const begun = Date.now();
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MILLISECONDS) });
    const text = await response.text();
    const at = Date.now();
    return { status: response.status, headers: response.headers, text, at, milliseconds: at - begun };
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Returns why the responding program cannot be the service, or undefined if it is the service. */
function identityOf(answer: Answer | Error, url: string): Check | undefined {
  const name = 'service';
  if (answer instanceof Error) {
    return problem(name, `Nothing responds to GET /health/live at ${url} (${causeOf(answer)}).`, 'service-down');
  }
  const { status, text, headers } = answer;
  if (status === 200 && text.includes('"live"')) return undefined;
  const what = headers.get('server') ?? headers.get('x-powered-by');
  const from = what === null ? '' : `, from ${what}`;
  return problem(
    name,
    `Something other than Transfer Service responds at ${url}: GET /health/live has status ${status}${from}. ` +
      'Check the port and the path of the URL, and the proxy in front of the service.',
    'service-down',
  );
}

function causeOf(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : error.message;
}

async function readVersion(url: string): Promise<string> {
  const answer = await ask(`${url}/openapi.json`);
  const [, version] = answer instanceof Error ? [] : (/"version":\s*"([^"]+)"/.exec(answer.text) ?? []);
  return version ?? '(unknown version)';
}

/** Compares the clocks, to within a second plus the duration of the request. */
function clockOf(answer: Answer | Error): Check {
  const name = 'clock';
  const date = answer instanceof Error ? null : answer.headers.get('date');
  if (date === null || answer instanceof Error)
    return warning(name, 'The clocks cannot be compared: the response has no time.');
  const seconds = (answer.at - answer.milliseconds / 2 - Date.parse(date)) / 1000 - 0.5;
  const amount = `${Math.abs(seconds).toFixed(0)} s`;
  const direction = seconds > 0 ? 'ahead of' : 'behind';
  const text = `The clock of this machine is ${amount} ${direction} the clock of the service. Synchronize the clocks.`;
  if (Math.abs(seconds) > PROBLEM_SECONDS) {
    return problem(name, `${text} Signatures of webhooks are refused.`);
  }
  if (Math.abs(seconds) > WARNING_SECONDS) return warning(name, text);
  return ok(name, 'this machine and the service have the same time, within a second or two');
}

function readinessOf(answer: Answer | Error): Check {
  const name = 'readiness';
  if (answer instanceof Error)
    return problem(name, `GET /health/ready has no response (${causeOf(answer)}).`, 'not-ready');
  const { headers, status, text } = answer;
  const reason = headers.get('readiness') ?? `status ${status}`;
  const page = headers.get('runbook');
  const check = { name, message: reason, runbook: page };
  if (status === 200) return page === null ? ok(name, reason) : { ...check, outcome: 'warning' };
  return { ...check, outcome: 'problem', message: `${reason}: ${messageIn(text)}` };
}

function messageIn(text: string): string {
  try {
    return String((parseJson(text) as { readonly Message?: unknown }).Message);
  } catch {
    return 'the service cannot move money now.';
  }
}

/** Checks the key and the card program. With an operator's key, also reports problems that need attention. */
async function examineCaller(called: Called, readiness: Check): Promise<readonly Check[]> {
  const { service, hasKey, command } = called;
  let current: CurrentSession;
  try {
    current = await service.sessions.current();
  } catch (error) {
    if (!(error instanceof TransferServiceError)) throw error;
    const { Code, Message } = error;
    if (Code === 'program_not_found') {
      return [problem('key', `${Message} List the card programs: ${command} programs list`)];
    }
    if (error.Status === 429 || error.Status >= 500) return [uncheckedKey(error, readiness)];
    const what = hasKey ? 'The key is not accepted' : 'The service needs a key';
    const todo = hasKey ? 'Check TRANSFER_SERVICE_KEY or --key; a revoked or expired key is not valid again.' : SET_KEY;
    return [problem('key', `${what}: ${Message} ${todo}`)];
  }
  return [keyOf(current, hasKey), ok('mode', current.mode), ...(await examineStatus(called, current))];
}

/** The check of a key that may be valid: the service could not look it up, usually because it is not ready. */
function uncheckedKey({ Message }: TransferServiceError, { outcome, message, runbook }: Check): Check {
  if (outcome !== 'problem') return problem('key', `The key could not be checked: ${Message}`, 'not-ready');
  return { name: 'key', outcome: 'problem', message: `The key could not be checked: ${message}`, runbook };
}

const SET_KEY = 'Set TRANSFER_SERVICE_KEY to a key that an operator has created.';

function keyOf(current: CurrentSession, hasKey: boolean): Check {
  const { all_programs: isOperators, program_id: program, program_name: named, role, scopes } = current;
  const where = program === null ? '' : `${named ?? program} (${program})`;
  const reach = isOperators ? `every card program${where === '' ? '' : `, acts in ${where}`}` : where;
  const may = role === null ? scopes.join(', ') : `${role}: ${scopes.length} scopes`;
  return ok('key', hasKey ? `valid for ${reach}; ${may}` : `none, and none is needed; ${reach}; ${may}`);
}

/** Reads the problems that need attention. Requires an operator's key. */
async function examineStatus({ service }: Called, { scopes }: CurrentSession): Promise<readonly Check[]> {
  if (!scopes.includes('operator:read') && !scopes.includes('operator')) return [];
  try {
    const { degraded, database, schema, process_id, host }: ServiceStatus = await service.status.get();
    return [
      ok(
        'process',
        `${process_id} on ${host}, ${database.kind} PostgreSQL ${database.version}, schema ${schema.state}`,
      ),
      ...degraded.map(
        ({ name, message, runbook }): Check => ({
          name: name.replaceAll('_', ' '),
          outcome: 'warning',
          message,
          runbook,
        }),
      ),
    ];
  } catch (error) {
    if (!(error instanceof TransferServiceError)) throw error;
    return [warning('process', `The status cannot be read: ${error.Message}`, 'not-ready')];
  }
}
