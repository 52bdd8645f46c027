// STYLE.md as a program: node tidy.ts [directory]. One line for each thing to mend, and exit code 1 if there is any.
import { resolve } from 'node:path';
import { describe, inspect, rules } from './setup/tidy/rules.ts';

const { project, violations } = inspect(resolve(process.argv[2] ?? import.meta.dirname));
const looked = `rules: ${rules.length}, files: ${project.files.length}, of them code: ${project.code.length}`;

for (const violation of violations) console.log(describe(violation));
if (violations.length === 0) console.log(`Nothing to mend: ${looked}.`);
else {
  console.log(`${violations.length} to mend (${looked}). STYLE.md says why each rule is there.`);
  process.exitCode = 1;
}
