import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Rule } from './project.ts';

/** Programs that write committed files. */
const generators: readonly {
  /** Run with `--check`: ends with 0 when every file is what it would write, and else names those that are not. */
  readonly generator: string;
  /** What it writes; the first stands for all when it says nothing of use. */
  readonly files: readonly string[];
  /** What the reader runs to mend them. */
  readonly command: string;
}[] = [
  {
    generator: 'setup/generate.ts',
    files: [
      'contract/openapi.json',
      'docs/reference/api.md',
      'docs/reference/card-states.svg',
      'docs/reference/cards.md',
      'docs/reference/configuration.md',
      'docs/reference/errors.md',
      'docs/reference/limits.md',
      'docs/reference/transfer-states.svg',
      'docs/reference/transfers.md',
      'sdk/generated/operations.ts',
      'sdk/generated/resources.ts',
      'server/store/migrations/checksums.txt',
    ],
    command: 'npm run generate',
  },
];

/** Generated files agree with their source. */
export const generatedAreCurrent: Rule = ({ root }) =>
  generators
    .filter(({ generator }) => existsSync(join(root, generator)))
    .flatMap(({ generator, files, command }) => {
      const check = spawnSync(process.execPath, [join(root, generator), '--check'], {
        cwd: root,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: 60_000,
      });
      if (check.status === 0) return [];
      const output = `${check.stdout}\n${check.stderr}`;
      const named = files.filter((file) => output.includes(file));
      const said = output.trim().split('\n').slice(-5).join(' | ');
      const sentence = `this differs from what ${generator} writes; run \`${command}\` and commit the result. It said: ${said}`;
      return (named.length > 0 ? named : files.slice(0, 1)).map((file) => ({ file, line: 1, sentence }));
    });
