import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { readColors, readEnvironment } from './environment.ts';
import { EXIT_CODES } from './failure.ts';
import { run } from './program.ts';

// The reader of the output can stop early, as `| head` does; that is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit();
  process.stderr.write(`error: cannot write to standard output: ${error.message}.\n`);
  process.exit(EXIT_CODES.outputFault);
});

// Not `process.exit`, which would discard output that is not yet written to a pipe.
process.exitCode = await run(process.argv.slice(2), {
  environment: readEnvironment(),
  write: (text) => process.stdout.write(text),
  writeAll: async (chunks) => {
    for await (const text of chunks) {
      if (!process.stdout.write(text)) await once(process.stdout, 'drain');
    }
  },
  writeError: (text) => process.stderr.write(text),
  untilEnded: () => {
    const controller = new AbortController();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => controller.abort());
    return controller.signal;
  },
  confirm: process.stdin.isTTY ? ask : undefined,
  colors: readColors(),
  width: process.stdout.isTTY ? process.stdout.columns : undefined,
});

/** Asks on standard error: the output may be read by another program. Ctrl-C and Ctrl-D mean no. */
async function ask(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const ended = once(terminal, 'close').then(() => null);
  try {
    // Ctrl-C and Ctrl-D reject the question if standard error is a terminal. Otherwise the question would stay pending.
    const answer = await Promise.race([terminal.question(`${question} [y/N] `).catch(() => null), ended]);
    if (answer === null) process.stderr.write('\n');
    return /^y(es)?$/i.test(answer?.trim() ?? '');
  } finally {
    terminal.close();
  }
}
