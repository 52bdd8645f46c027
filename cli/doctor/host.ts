import { type Check, problem, warning } from '../../domain/doctor-check.ts';
import { parseJson } from '../../sdk/generated/parse-json.ts';
import { readFromServiceNode, SetupProblem } from '../service-node.mjs';

/**
 * Checks the host of the service, with the settings of this shell. The service was found to respond at the port `serving`.
 * `server/host/commands/doctor.ts` does it in a process of its own: the command line also runs where no service is installed.
 */
export async function examineHost(serving: number | undefined): Promise<readonly Check[]> {
  try {
    const { output } = await readFromServiceNode(['doctor', String(serving ?? '')]);
    return parseJson(output) as readonly Check[];
  } catch (error) {
    if (error instanceof SetupProblem) return [problem('Node of the service', error.message)];
    if (!(error instanceof SyntaxError)) throw error;
    return [warning('host', 'The host could not be examined; what it printed is above.')];
  }
}
