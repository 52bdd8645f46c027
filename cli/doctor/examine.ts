import { type Check, ok, problem, warning } from '../../domain/doctor-check.ts';
import { parseJson } from '../../sdk/generated/parse-json.ts';
import { isOnThisMachine } from '../failure.ts';
import {
  libraryOfC,
  OLDEST_NODE_OF_SERVICE,
  packageOfPinnedNode,
  readFromServiceNode,
  SetupProblem,
} from '../service-node.mjs';
import type { Session } from '../session.ts';
import { examineConnection } from './connection.ts';
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
