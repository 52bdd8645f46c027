// node tools/run.mjs <file.ts> [arguments]: runs a TypeScript file. Every npm script uses it.
import { runTypeScript } from '../cli/bootstrap.mjs';

const [file, ...rest] = process.argv.slice(2);
if (file === undefined) {
  process.stderr.write('Name the file to run: node tools/run.mjs <file.ts> [arguments]\n');
  process.exit(2);
}
await runTypeScript(file, rest);
