import { spawnSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { drawChart } from './chart.ts';
import type { Results } from './results.ts';
import { resultsInMarkdown } from './tables.ts';

const DOCUMENT = fileURLToPath(new URL('../../docs/performance.md', import.meta.url));

const BIOME = fileURLToPath(new URL('../../node_modules/@biomejs/biome/bin/biome', import.meta.url));

/** Where the results of full runs are committed. */
export const COMMITTED = fileURLToPath(new URL('../../docs/performance', import.meta.url));

const BEGIN = '<!-- Written by npm run bench: begin -->';
const END = '<!-- Written by npm run bench: end -->';

/**
 * Writes the data, the chart and the tables to a directory. For the committed directory, the tables go into docs/performance.md,
 * between two markers.
 */
export async function writeResults(results: Results, directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, 'latest.json'), `${JSON.stringify(results, undefined, 2)}\n`);
  const chart = drawChart(results);
  if (chart !== undefined) await writeFile(join(directory, chart.file), chart.svg);
  const text = resultsInMarkdown(results);
  if (directory !== COMMITTED) {
    await writeFile(join(directory, 'results.md'), `${text}\n`);
    return;
  }
  // Committed files have the format of all other files.
  spawnSync(process.execPath, [BIOME, 'format', '--write', directory], { stdio: 'ignore' });
  const [before, rest] = (await readFile(DOCUMENT, 'utf8')).split(BEGIN);
  const after = rest?.split(END)[1];
  if (after === undefined) throw new Error(`${DOCUMENT} has no markers for the results`);
  await writeFile(DOCUMENT, `${before}${BEGIN}\n\n${text}\n\n${END}${after}`);
}
