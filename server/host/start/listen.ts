import { once } from 'node:events';
import { createServer } from 'node:net';
import { hostname } from 'node:os';
import type { Configuration } from '../../foundation/configuration/configuration.ts';
import { codeOf, StartupProblem } from '../../foundation/startup-problem.ts';
import type { HttpServer } from '../../http/server.ts';
import { findRunningServices, type RunningService } from '../../postgres/running-services.ts';

/**
 * Throws {@link StartupProblem} if the service could not listen on the first configured address. Called before a ledger
 * is created. Another process can still take the port before {@link listen} is called.
 */
export async function requireFreePort(configuration: Configuration): Promise<void> {
  const { hosts, port } = configuration;
  const probe = createServer();
  try {
    probe.listen({ host: hosts[0], port });
    await once(probe, 'listening');
  } catch (error) {
    throw alreadyRuns(error, configuration) ?? problemOf(error, configuration);
  } finally {
    probe.close();
  }
}

/** Returns the problem if the port is used by the service of the same data directory, because it was started twice. */
function alreadyRuns(error: unknown, { dataDirectory, port }: Configuration): StartupProblem | undefined {
  if (codeOf(error) !== 'EADDRINUSE') return undefined;
  const service = findServices(dataDirectory).find((one) => one.port === port && one.host === hostname());
  if (service === undefined) return undefined;
  return new StartupProblem(
    'port-unavailable',
    `The service already runs on port ${port} with the data directory ${dataDirectory}, as process ` +
      `${service.processId}. Leave it running, or stop it before you start it again.`,
  );
}

/**
 * Returns the running services. Ignores an unreadable file, because the rest of the startup needs the file and will report the
 * problem.
 */
function findServices(dataDirectory: string): readonly RunningService[] {
  try {
    return findRunningServices(dataDirectory);
  } catch {
    return [];
  }
}

/** Listens on the configured addresses, and returns the port. Throws {@link StartupProblem} if that is impossible. */
export async function listen(server: HttpServer, configuration: Configuration): Promise<number> {
  const { hosts, port } = configuration;
  try {
    await server.listen({ hosts, port });
    return server.address?.port ?? port;
  } catch (error) {
    throw problemOf(error, configuration);
  }
}

/** Returns advice for an operator about a failure to listen. Returns the failure itself if its cause is unknown. */
function problemOf(error: unknown, { hosts, port }: Configuration): unknown {
  const code = codeOf(error);
  if (code === 'EADDRINUSE') {
    return new StartupProblem(
      'port-unavailable',
      `Port ${port} is already in use. Stop the process that uses it, or set PORT to another port.`,
    );
  }
  if (code === 'EACCES') {
    return new StartupProblem(
      'port-unavailable',
      `This user is not allowed to listen on port ${port}. Set PORT to a port above 1023.`,
    );
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return new StartupProblem(
      'invalid-setting',
      `HOST is '${hosts.join(' ')}', which is not an address of this machine.`,
    );
  }
  return error;
}
