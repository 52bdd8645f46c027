import { once } from 'node:events';
import { readEnvironment } from './environment.ts';
import { EXIT_CODES } from './failure.ts';
import { run } from './program.ts';

// Whoever reads the output may stop reading early, as `| head` does; that is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit();
  process.stderr.write(`error: standard output cannot be written: ${error.message}.\n`);
  process.exit(EXIT_CODES.outputFault);
});

// Not `process.exit`: what is still on its way into a pipe would be cut off.
process.exitCode = await run(process.argv.slice(2), {
  environment: readEnvironment(),
  write: (text) => process.stdout.write(text),
  writeAll: async (chunks) => {
    for await (const text of chunks) {
      if (!process.stdout.write(text)) await once(process.stdout, 'drain');
    }
  },
  writeError: (text) => process.stderr.write(text),
});
