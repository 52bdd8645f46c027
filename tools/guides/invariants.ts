import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Files that can state invariants, next to the code that keeps them. */
const SOURCES = ['{server,domain,contract,sdk,tools}/**/*.ts'];

const LINES = String.raw`(.+(?:\n\/\/ {3}.+)*)`;

const STATED = new RegExp(
  String.raw`^\/\/ Invariant: ${LINES}(?:\n\/\/ Kept by: ${LINES})?\n\/\/ Tested by: ${LINES}`,
  'gm',
);

const TITLE = `# Invariants

Rules that must always hold, and the tests that fail if one does not. \`npm run generate\` writes this page from the comments
\`// Invariant:\` next to the code that keeps each rule.

| invariant | kept in | by | tested by |
| --- | --- | --- | --- |
`;

/** Writes the page with the invariants of all parts of the service, in the order of its files. */
export function invariantsPage(root: string): string {
  const files = globSync(SOURCES, { cwd: root, exclude: ['**/node_modules/**', '**/dist/**'] }).sort();
  const rows = files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(STATED)].map(([, invariant = '', kept = '', tested = '']) =>
      [`${onOneLine(invariant)}`, `\`${file}\``, onOneLine(kept), onOneLine(tested)].join(' | '),
    ),
  );
  return `${TITLE}${rows.map((row) => `| ${row} |`).join('\n')}\n`;
}

function onOneLine(text: string): string {
  return text.replaceAll(/\n\/\/ +/g, ' ').replaceAll('|', String.raw`\|`);
}
