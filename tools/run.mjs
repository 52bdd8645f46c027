// node tools/run.mjs <file.ts> [arguments]: what every npm script is made of.
import { runTypeScript } from './bootstrap.mjs';

const [file, ...rest] = process.argv.slice(2);
if (file === undefined) {
  process.stderr.write('Say which file to run: node tools/run.mjs <file.ts> [arguments]\n');
  process.exit(2);
}
await runTypeScript(file, rest);
