import type { Configuration } from '../configuration/configuration.ts';
import type { HttpServer } from '../http/server.ts';
import { StartupProblem } from '../startup-problem.ts';

/** Listens on the configured addresses, and returns the port. Throws {@link StartupProblem} where that is impossible. */
export async function listen(server: HttpServer, configuration: Configuration): Promise<number> {
  const { hosts, port } = configuration;
  try {
    await server.listen({ hosts, port });
    return server.address?.port ?? port;
  } catch (error) {
    const code = error instanceof Error ? Reflect.get(error, 'code') : undefined;
    if (code === 'EADDRINUSE') {
      throw new StartupProblem(
        'port-unavailable',
        `Port ${port} is already in use. Stop the process that uses it, or set PORT to another port.`,
      );
    }
    if (code === 'EACCES')
      throw new StartupProblem(
        'port-unavailable',
        `This user is not allowed to listen on port ${port}. Set PORT to a port above 1023.`,
      );
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
      throw new StartupProblem(
        'invalid-setting',
        `HOST is '${hosts.join(' ')}', which is not an address of this machine.`,
      );
    }
    throw error;
  }
}
