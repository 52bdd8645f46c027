import { run } from '../../cli/program.ts';

export type Outcome = { readonly exitCode: number; readonly output: string; readonly errors: string };

/**
 * Runs a command line in this process, which is faster than starting another one. Aborting `ended` has the effect of
 * Ctrl-C. `onError` receives the output on standard error as it is written.
 */
export async function runHere(
  url: string,
  commandLine: readonly string[],
  environment: { readonly key?: string; readonly program?: string; readonly webhookSecret?: string } = {},
  ended: AbortSignal = new AbortController().signal,
  onError: (text: string) => void = () => undefined,
  confirm?: (question: string) => Promise<boolean>,
): Promise<Outcome> {
  let output = '';
  let errors = '';
  const exitCode = await run(commandLine, {
    environment: {
      url,
      key: environment.key,
      program: environment.program,
      webhookSecret: environment.webhookSecret,
      isRunByNpm: false,
    },
    write: (text) => {
      output += text;
    },
    writeAll: async (chunks) => {
      for await (const text of chunks) output += text;
    },
    writeError: (text) => {
      errors += text;
      onError(text);
    },
    untilEnded: () => ended,
    confirm,
  });
  return { exitCode, output, errors };
}
