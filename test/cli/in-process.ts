import { run } from '../../cli/program.ts';

/** What a command line came to. */
export type Outcome = { readonly exitCode: number; readonly output: string; readonly errors: string };

/** Runs a command line in this process: the same code as the command, without the half second that a process takes. */
export async function runHere(
  url: string,
  commandLine: readonly string[],
  environment: { readonly key?: string; readonly program?: string } = {},
): Promise<Outcome> {
  let output = '';
  let errors = '';
  const exitCode = await run(commandLine, {
    environment: { url, key: environment.key, program: environment.program },
    write: (text) => {
      output += text;
    },
    writeAll: async (chunks) => {
      for await (const text of chunks) output += text;
    },
    writeError: (text) => {
      errors += text;
    },
  });
  return { exitCode, output, errors };
}
