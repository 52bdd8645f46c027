// Builds sdk/dist, the content of the SDK's package: node tools/run.mjs tools/packages/build-sdk.ts. `npm pack` in sdk/ runs it.
import { spawnSync } from 'node:child_process';
import { copyFileSync, globSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../command.ts';

const folder = join(root, 'sdk');
const target = join(folder, 'dist');
const draft = join(folder, `dist.${process.pid}`);

function compile(...options: readonly string[]): void {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const project = join(root, 'tools/packages/tsconfig.sdk.json');
  const { status } = spawnSync(process.execPath, [compiler, '--project', project, '--outDir', draft, ...options], {
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error('The SDK does not compile.');
}

/** The compiler leaves the extensions of the sources in declarations, and some resolvers do not understand them. */
function nameDeclarations(): void {
  for (const path of globSync('**/*.d.ts', { cwd: draft })) {
    const text = readFileSync(join(draft, path), 'utf8');
    writeFileSync(join(draft, path), text.replaceAll(/((?:from |import\()(['"])\.[^'"]*)\.ts(?=\2)/g, '$1.js'));
  }
}

try {
  // Editors show the comments of the declarations; in the code they would be half of the package.
  compile('--removeComments');
  // Internal declarations have types that TypeScript before 5.7 does not understand.
  compile('--declaration', '--emitDeclarationOnly', '--stripInternal');
  nameDeclarations();
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  rmSync(target, { recursive: true, force: true });
  renameSync(draft, target);
} finally {
  rmSync(draft, { recursive: true, force: true });
}
