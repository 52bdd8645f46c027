import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Rule } from './project.ts';

/** Files that a program writes from another and that are committed all the same. */
const generatedFiles: readonly {
  readonly file: string;
  /** Run with `--check`: ends with 0 when the file is what it would write. */
  readonly generator: string;
  /** What the reader runs to mend it. */
  readonly command: string;
}[] = [{ file: 'contract/openapi.json', generator: 'contract/generate.ts', command: 'npm run generate' }];

/** Generated files agree with their source. */
export const generatedAreCurrent: Rule = ({ root }) =>
  generatedFiles
    .filter(({ generator }) => existsSync(join(root, generator)))
    .flatMap(({ file, generator, command }) => {
      const check = spawnSync(process.execPath, [join(root, generator), '--check'], {
        cwd: root,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: 60_000,
      });
      if (check.status === 0) return [];
      const said = `${check.stdout}\n${check.stderr}`.trim().split('\n').slice(-5).join(' | ');
      const sentence = `this differs from what ${generator} writes; run \`${command}\` and commit the result. It said: ${said}`;
      return [{ file, line: 1, sentence }];
    });
