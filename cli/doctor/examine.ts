import { lookup } from 'node:dns/promises';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectWithTls, type TLSSocket } from 'node:tls';
import { type Check, ok, problem, warning } from '../../domain/doctor-check.ts';
import { parseJson } from '../../sdk/generated/parse-json.ts';
import { codeOf, isOnThisMachine, tlsProblem } from '../failure.ts';
import {
  libraryOfC,
  OLDEST_NODE_OF_SERVICE,
  packageOfPinnedNode,
  readFromServiceNode,
  SetupProblem,
} from '../service-node.mjs';
import type { Session } from '../session.ts';
import { examineService } from './service.ts';

export type Section = { readonly name: string; readonly checks: readonly Check[] };

/** The version of Node that this command line needs. */
const OLDEST_NODE = 20;

/** Examines everything between this machine and a working service, part by part. */
export async function* examine(
  session: Session,
  hasKey: boolean,
  { withHost, claims }: { readonly withHost: boolean; readonly claims?: string | undefined },
): AsyncGenerator<Section> {
  const { url, service, program, command, environment } = session;
  const isFromOption = url !== environment.url.replace(/\/+$/, '');
  const from = isFromOption ? '--url' : (environment.urlFrom ?? 'the default');
  yield { name: 'This machine', checks: [nodeOf(process.versions.node), ok('URL', `${url} (from ${from})`)] };
  const way = await examineConnection(new URL(url), command);
  yield { name: 'Connection', checks: way };
  let serving: number | undefined;
  if (way.every(({ outcome }) => outcome !== 'problem')) {
    const checks = await examineService({ service, url, hasKey, program, command });
    if (isOnThisMachine(url) && checks[0]?.outcome === 'ok') serving = Number(new URL(url).port);
    yield { name: 'Service', checks };
  }
  if (withHost)
    yield { name: "The service's host, with the settings of this shell", checks: await examineHost(serving, claims) };
}

/** Whether this Node runs the command line, and the service. */
export function nodeOf(version: string): Check {
  const major = Number.parseInt(version, 10);
  const library = libraryOfC() === '' ? '' : `, ${libraryOfC()}`;
  const what = `${version} on ${process.platform} ${process.arch}${library}`;
  if (major < OLDEST_NODE) return problem('Node', `${what}: install Node ${OLDEST_NODE} or later.`);
  const comes = packageOfPinnedNode() === undefined ? '' : '; the service comes with its own Node';
  const older =
    major < OLDEST_NODE_OF_SERVICE && comes === ''
      ? `; to run the service here, install Node ${OLDEST_NODE_OF_SERVICE} or later`
      : '';
  return ok('Node', `${what}${comes}${older}`);
}

/**
 * Checks the service's host, with the settings of this shell. `serving` is the port of the service, if it
 * responded. `claims` is the path of a file with a person's token or claims.
 * `server/host/commands/doctor.ts` does this in a separate process, because the command line also runs where no service is installed.
 */
async function examineHost(serving: number | undefined, claims = ''): Promise<readonly Check[]> {
  try {
    const { output } = await readFromServiceNode(['doctor', String(serving ?? ''), claims]);
    return parseJson(output) as readonly Check[];
  } catch (error) {
    if (error instanceof SetupProblem) return [problem('Node of the service', error.message)];
    if (!(error instanceof SyntaxError)) throw error;
    return [warning('host', 'The host could not be examined; its output is above.')];
  }
}

/** Longer than any usable connection takes. */
const TIMEOUT_MILLISECONDS = 5_000;

/** A certificate that expires sooner should have been renewed. */
const SOON_DAYS = 14;

const DAY_MILLISECONDS = 86_400_000;

/**
 * Checks the connection to a URL step by step: name, connection, TLS. Stops at the first failure, because the later steps
 * would fail for the same reason.
 */
async function examineConnection(url: URL, command: string): Promise<readonly Check[]> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const checks: Check[] = [];
  const named = await examineName(host);
  checks.push(named);
  if (named.outcome === 'problem') return checks;
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  const connected = await examinePort(host, port, { isLocal: isOnThisMachine(url.href), command });
  checks.push(connected);
  if (connected.outcome === 'problem') return checks;
  checks.push(url.protocol === 'https:' ? await examineTls(host, port) : examineClearText(url));
  return checks;
}

async function examineName(host: string): Promise<Check> {
  const name = 'name';
  if (isIP(host) !== 0) return ok(name, `${host} is an address`);
  try {
    const found = await lookup(host, { all: true });
    return ok(name, `${host} is ${found.map(({ address }) => address).join(', ')}`);
  } catch (error) {
    const reason = codeOf(error) === 'EAI_AGAIN' ? 'the name server does not respond' : 'DNS has no such name';
    return problem(
      name,
      `${host} cannot be resolved: ${reason} (${codeOf(error)}). Check the spelling of the URL, and DNS on this machine.`,
    );
  }
}

async function examinePort(
  host: string,
  port: number,
  { isLocal, command }: { readonly isLocal: boolean; readonly command: string },
): Promise<Check> {
  const name = 'connection';
  try {
    (await opened(connect({ host, port }), 'connect')).destroy();
    return ok(name, `${host} accepts connections on port ${port}`);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ECONNREFUSED') {
      const start = isLocal ? `Start the service with ${command} start, or set the right URL.` : 'Check the port.';
      return problem(name, `Nothing listens on port ${port} of ${host}. ${start}`, 'service-down');
    }
    const reason = code === 'ETIMEDOUT' ? `no response within ${TIMEOUT_MILLISECONDS / 1000} s` : code;
    return problem(
      name,
      `${host} cannot be reached on port ${port} (${reason}). Check the network, and firewalls between the machines.`,
      'service-down',
    );
  }
}

function examineClearText(url: URL): Check {
  if (isOnThisMachine(url.href)) return ok('TLS', 'not needed: the URL is on this machine');
  return warning('TLS', 'The URL begins with http://, so others on the network can read the key. Use https://.');
}

async function examineTls(host: string, port: number): Promise<Check> {
  const name = 'TLS';
  try {
    const servername = isIP(host) === 0 ? { servername: host } : {};
    const socket: TLSSocket = await opened(connectWithTls({ host, port, ...servername }), 'secureConnect');
    const { valid_to: end } = socket.getPeerCertificate();
    const protocol = socket.getProtocol() ?? 'TLS';
    socket.destroy();
    const days = Math.floor((Date.parse(end) - Date.now()) / DAY_MILLISECONDS);
    if (days < SOON_DAYS)
      return warning(name, `The certificate expires in ${days} ${days === 1 ? 'day' : 'days'}. Renew it.`);
    return ok(name, `${protocol}; the certificate is valid for ${days} more days`);
  } catch (error) {
    return problem(name, describeTls(error, host));
  }
}

function describeTls(error: unknown, host: string): string {
  const known = tlsProblem(error, host);
  if (known !== undefined) return known;
  const reason = error instanceof Error ? error.message.split('\n')[0] : '';
  return `Could not open a TLS connection (${codeOf(error) ?? reason}).`;
}

function opened<Opening extends Socket>(socket: Opening, event: 'connect' | 'secureConnect'): Promise<Opening> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      socket.destroy();
      reject(error);
    };
    socket.once('error', fail);
    socket.setTimeout(TIMEOUT_MILLISECONDS, () => fail(Object.assign(new Error('no response'), { code: 'ETIMEDOUT' })));
    socket.once(event, () => resolve(socket));
  });
}
