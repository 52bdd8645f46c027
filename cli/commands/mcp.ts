import { TransferService } from '../../sdk/client.ts';
import type { AddCommands } from '../command.ts';
import { commandOf, type GlobalOptions, urlOf } from '../session.ts';

const NOTES = `
A client of the Model Context Protocol, such as an editor or a chat application,
starts this command and sends requests on its standard input. The tools see what
the key sees: use a key with the role viewer. The guide is at /guides/agents.`;

/** Adds `mcp`. Its other parts are loaded on demand, because no other command needs them. */
export const addMcp: AddCommands = (program, context) => {
  const command = program
    .command('mcp')
    .description('offer tools to AI agents over the Model Context Protocol')
    .option('--write', 'also offer tools that create transfers and provoke errors, in a sandbox')
    .addHelpText('after', NOTES)
    .action(async () => {
      const options = command.optsWithGlobals<GlobalOptions & { readonly write?: boolean }>();
      const { environment, writeError, untilEnded } = context;
      const { serveTools, TIMEOUT_MILLISECONDS } = await import('../mcp/serve.ts');
      const key = options.key ?? environment.key;
      const program = options.program ?? environment.program;
      const service = new TransferService({
        baseUrl: urlOf(options, environment),
        key,
        programId: program,
        timeoutMilliseconds: TIMEOUT_MILLISECONDS,
      });
      await serveTools({
        called: { service, url: service.baseUrl, key, program, command: commandOf(environment) },
        canWrite: options.write === true,
        log: (line) => writeError(`${line}\n`),
        ended: untilEnded(),
      });
    });
};
