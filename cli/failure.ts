import { printable, printableJson } from '../domain/printable-text.ts';
import {
  AwaitsApproval,
  ConnectionFailure,
  EventGap,
  IncompleteResponse,
  InvalidArgument,
  isErrorCode,
  type MoneyMoved,
  RequestError,
  TransferServiceError,
  UnexpectedResponse,
} from '../sdk/client.ts';
import { wrap } from './output.ts';
import { bad, strong, warning } from './paint.ts';

export const EXIT_CODES = {
  done: 0,
  requestError: 1,
  usage: 2,
  serviceFault: 3,
  noConnection: 4,
  outputFault: 5,
  /** Accepted, but not done yet. */
  awaitsApproval: 6,
  /** EX_SOFTWARE of sysexits: a bug in the command line itself. */
  bug: 70,
} as const;

export type FailureReport = { readonly text: string; readonly exitCode: number };

/** The output could not be written. */
export class OutputFailure extends Error {
  override readonly name = 'OutputFailure';
}

/** A file has problems. Each is printed on its own line after the message. */
export class FileProblems extends InvalidArgument {
  readonly problems: readonly string[];

  constructor(message: string, problems: readonly string[]) {
    super(message);
    this.problems = problems;
  }
}

type FailureContext = {
  readonly url: string;
  readonly json: boolean;
  readonly command: string;
  /** Columns of the terminal. */
  readonly width?: number | undefined;
};

export async function reportFailure(error: unknown, where: FailureContext): Promise<FailureReport> {
  const { json } = where;
  if (error instanceof InvalidArgument) {
    const problems = error instanceof FileProblems ? error.problems.map((one) => `${printable(one)}\n`) : [];
    return { text: `${errorLine(error.message, where)}${problems.join('')}`, exitCode: EXIT_CODES.usage };
  }
  if (error instanceof OutputFailure)
    return { text: errorLine(error.message, where), exitCode: EXIT_CODES.outputFault };
  if (error instanceof TransferServiceError) {
    const exitCode = error instanceof RequestError ? EXIT_CODES.requestError : EXIT_CODES.serviceFault;
    return { text: json ? asJson(recordFields(error)) : await recordText(error, where), exitCode };
  }
  if (error instanceof AwaitsApproval) {
    const { approval_id: id, summary, expires_at: expiresAt } = error.approval;
    const text = `A second person must approve this request to ${printable(summary)} (${id}).
It expires at ${expiresAt}. To see it: ${where.command} approvals get ${id}
`;
    return { text: json ? asJson(error.approval) : text, exitCode: EXIT_CODES.awaitsApproval };
  }
  if (error instanceof ConnectionFailure) {
    const text = `${errorLine(connectionMessage(error), where)}${keyHint(error)}${connectionHint(error, where)}`;
    return { text: json ? asJson(responseFields(error)) : text, exitCode: EXIT_CODES.noConnection };
  }
  if (error instanceof UnexpectedResponse) {
    const beginning = error.excerpt === '' ? '' : `The response begins with: ${printable(error.excerpt)}\n`;
    const doctor = `Find out what responds at ${where.url}: ${where.command} doctor\n`;
    const text = `${errorLine(error.message, where)}${beginning}${keyHint(error)}${doctor}`;
    return { text: json ? asJson(responseFields(error)) : text, exitCode: EXIT_CODES.serviceFault };
  }
  if (error instanceof EventGap) return { text: errorLine(error.message, where), exitCode: EXIT_CODES.serviceFault };
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { text: `This is a bug in transfer-service. ${text}\n`, exitCode: EXIT_CODES.bug };
}

/** Returns the beginning of a failure's text: what went wrong, in one sentence. */
function errorLine(message: string, { width }: Pick<FailureContext, 'width'>): string {
  const [first = '', ...rest] = wrap(printable(message), 'error: ', '', width ?? Number.POSITIVE_INFINITY)
    .trimEnd()
    .split('\n');
  return [`${bad('error:')} ${strong(first.slice('error: '.length))}`, ...rest.map(strong), ''].join('\n');
}

const LABEL_WIDTH = 'Money moved: '.length;

async function recordText(error: TransferServiceError, where: FailureContext): Promise<string> {
  const { Code, Type, Status, moneyMoved } = error;
  const labelled = (label: string, text: string | undefined, paint = (painted: string) => painted): string =>
    text === undefined ? '' : `${`${label}:`.padEnd(LABEL_WIDTH)}${paint(printable(text))}\n`;
  const isCallers = error instanceof RequestError;
  return [
    errorLine(error.Message, where),
    '\n',
    labelled('Code', `${Code} (${Type}, ${Status})`, isCallers ? warning : bad),
    labelled('Field', error.field),
    // Left out for a read, which moves no money.
    labelled('Money moved', isRead(error) ? undefined : moneyMoved, moneyMoved === 'unknown' ? bad : undefined),
    labelled('Request id', error.requestId),
    labelled('Transfer id', error.transferId),
    labelled('Retryable', retryText(error)),
    await whatToDo(error, where),
    labelled('More', `${where.url}/errors/${Code}`),
  ].join('');
}

function isRead({ headers, moneyMoved }: TransferServiceError): boolean {
  return moneyMoved === 'no' && headers.get('money-moved') === null;
}

type Next = readonly [purpose: string, command: string];

const NEXT: Readonly<Record<string, Next>> = {
  card_not_found: ['List the cards:', 'cards list'],
  program_not_found: ['List the card programs:', 'programs list'],
  transfer_not_found: ['List the transfers:', 'transfers list'],
  webhook_not_found: ['List the webhooks:', 'webhooks list'],
  key_not_found: ['List the API keys:', 'keys list'],
  error_not_found: ['If the request succeeded:', 'requests show <request_id>'],
  request_not_found: ['Search by something else:', 'search <text>'],
  insufficient_funds: ['See every check, with the same options:', 'transfers explain'],
  unauthenticated: ['Set TRANSFER_SERVICE_KEY, and check the key:', 'doctor'],
  forbidden: ['See what the key may do:', 'sessions current'],
  route_not_found: ['Find out what responds at the URL:', 'doctor'],
  service_disabled: ['See what is disabled, and why:', 'switch show'],
  service_unavailable: ['Find out what is wrong:', 'doctor'],
};

export function nextAfter(code: string): Next | undefined {
  return Object.hasOwn(NEXT, code) ? NEXT[code] : undefined;
}

/** Whether the key can act in every card program and the request names none. The error then has the operation's own code. */
export function lacksProgram({ Code, Message }: TransferServiceError): boolean {
  return Code.endsWith('_schema') && Message.startsWith("The required header 'Program-Id' is missing");
}

async function whatToDo(error: TransferServiceError, { command }: FailureContext): Promise<string> {
  const indent = ' '.repeat(LABEL_WIDTH);
  // Loaded on demand: the contract takes longer to load than the rest of the command line.
  const { ERRORS } = await import('../contract/errors/catalogue.ts');
  const lacks = lacksProgram(error);
  const catalogued = isErrorCode(error.Code) ? ERRORS[error.Code].resolution : undefined;
  const known = lacks ? 'Add --program <program_id>, or set TRANSFER_SERVICE_PROGRAM.' : catalogued;
  const next = nextAfter(lacks ? 'program_not_found' : error.Code);
  const texts = [...(known === undefined ? [] : [known]), ...(next === undefined ? [] : [next[0]])];
  const label = 'What to do:'.padEnd(LABEL_WIDTH);
  return [
    ...texts.map((text, index) => wrap(text, index === 0 ? label : indent, indent)),
    // The command is on a separate line, so that it can be copied.
    next === undefined ? '' : `${indent}  ${command} ${next[1]}\n`,
    keyHint(error),
  ].join('');
}

function retryText({ shouldRetry, retryAfterSeconds }: TransferServiceError): string {
  const after = retryAfterSeconds === undefined ? '' : `, after ${retryAfterSeconds} seconds`;
  if (shouldRetry) return `yes${after}`;
  return retryAfterSeconds === undefined ? 'no' : `not within ${retryAfterSeconds} seconds`;
}

/** The key matters only if the result is unknown or the request can be retried. */
function keyHint(error: {
  readonly moneyMoved: MoneyMoved;
  readonly idempotencyKey: string | undefined;
  readonly shouldRetry?: boolean;
  readonly reason?: ConnectionFailure['reason'];
}): string {
  const isUnknown = error.moneyMoved !== 'no' || (error.reason !== undefined && error.reason !== 'unreachable');
  if (error.idempotencyKey === undefined || !(isUnknown || error.shouldRetry === true)) return '';
  const effect = error.moneyMoved === 'no' ? 'is executed' : 'moves money';
  return `Run the command again with --idempotency-key ${printable(error.idempotencyKey)}: it ${effect} at most once.\n`;
}

/** Describes a connection failure in our own words, because Node's messages about certificates suggest Node options. */
export function connectionMessage(error: ConnectionFailure): string {
  const problem = tlsProblem(error, URL.canParse(error.baseUrl) ? new URL(error.baseUrl).hostname : error.baseUrl);
  return problem === undefined ? error.message : `Could not open a TLS connection to ${error.baseUrl}. ${problem}`;
}

/** With the request id of an incomplete response, the reason can be found in the error log. */
function connectionHint(error: ConnectionFailure, { url, command }: FailureContext): string {
  if (error instanceof IncompleteResponse) {
    return error.requestId === undefined ? '' : `Request id: ${printable(error.requestId)}\n`;
  }
  const isRefused = codeOf(error) === 'ECONNREFUSED';
  const start = isRefused && isOnThisMachine(url) ? `Is the service running? Start it: ${command} start\n` : '';
  return `${start}Find out what is wrong: ${command} doctor\n`;
}

/** Whether a URL names this machine. */
export function isOnThisMachine(url: string): boolean {
  const host = URL.canParse(url) ? new URL(url).hostname : '';
  return host === 'localhost' || host === '[::1]' || /^127(\.\d+){3}$/.test(host);
}

/** Returns the fields of an error record and of its call, for programs. */
export function recordFields(error: TransferServiceError): object {
  return {
    Message: error.Message,
    Status: error.Status,
    Code: error.Code,
    Type: error.Type,
    request_id: error.requestId ?? null,
    money_moved: error.moneyMoved,
    should_retry: error.shouldRetry,
    retry_after_seconds: error.retryAfterSeconds ?? null,
    transfer_id: error.transferId ?? null,
    field: error.field ?? null,
    idempotency_key: error.idempotencyKey ?? null,
  };
}

/** Returns the facts about a missing or unexpected response, for programs. */
export function responseFields(error: ConnectionFailure | UnexpectedResponse): object {
  const response = error instanceof IncompleteResponse || error instanceof UnexpectedResponse ? error : undefined;
  return {
    failure: failureName(error),
    message: error.message,
    request_id: response?.requestId ?? null,
    money_moved: error.moneyMoved,
    idempotency_key: error.idempotencyKey ?? null,
  };
}

function failureName(error: ConnectionFailure | UnexpectedResponse): string {
  if (error instanceof UnexpectedResponse) return 'unexpected_response';
  return error instanceof IncompleteResponse ? 'incomplete_response' : 'no_response';
}

function asJson(value: object): string {
  return `${printableJson(value, 2)}\n`;
}

/** Describes a TLS error and what to do about it. Returns undefined for other errors. */
export function tlsProblem(error: unknown, host: string): string | undefined {
  const code = codeOf(error) ?? '';
  if (code === 'CERT_HAS_EXPIRED') return 'The certificate has expired. Renew it.';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `The certificate is not for ${host}. In the URL, use a name that the certificate contains.`;
  if (/SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY)/.test(code)) {
    return (
      `Node does not trust the authority that issued the certificate (${code}). ` +
      'If it is your own authority, set NODE_EXTRA_CA_CERTS to its file.'
    );
  }
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH/.test(code)) {
    return "The server there does not speak TLS. Begin the URL with http://, or use the proxy's TLS port.";
  }
  return undefined;
}

/** The code of an error, of its cause, or of the first error that it contains. */
export function codeOf(error: unknown): string | undefined {
  const { code, errors, cause } = Object(error) as {
    readonly code?: unknown;
    readonly errors?: readonly unknown[];
    readonly cause?: unknown;
  };
  if (typeof code === 'string') return code;
  const inner = cause ?? errors?.[0];
  return inner === undefined || inner === null ? undefined : codeOf(inner);
}
