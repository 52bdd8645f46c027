import { readEnvironment } from './environment.ts';
import { run } from './program.ts';

// Whoever reads the output may stop reading early, as `| head` does; that is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

// Not `process.exit`: what is still on its way into a pipe would be cut off.
process.exitCode = await run(process.argv.slice(2), {
  environment: readEnvironment(),
  write: (text) => process.stdout.write(text),
  writeError: (text) => process.stderr.write(text),
});
