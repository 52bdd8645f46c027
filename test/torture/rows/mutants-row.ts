import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { MUTANTS as SEEDED } from '../../mutants/mutants.ts';
import { type Findings, type Row, type Setting, streamOf } from '../row.ts';

const ALL = SEEDED.length;

const PROGRAM = resolve(import.meta.dirname, '../../mutants/main.ts');

type Outcome = { readonly mutant: string; readonly outcome: string; readonly by: string; readonly mistake: string };

async function run(setting: Setting): Promise<Findings> {
  const directory = await mkdtemp(join(tmpdir(), 'torture-mutants-'));
  const out = join(directory, 'mutants.json');
  try {
    const code = await runProgram(setting, choose(setting), out);
    const outcomes = JSON.parse(await readFile(out, 'utf8').catch(() => '[]')) as readonly Outcome[];
    const open = outcomes.filter(({ outcome }) => outcome !== 'caught');
    const violations = open.map(({ mutant, outcome, mistake }) => `${mutant} ${outcome}: ${mistake}`);
    if (code !== 0 && violations.length === 0) violations.push(`npm run mutants ended with ${code}`);
    return { figures: { mutants: outcomes.length, caught: outcomes.length - open.length }, violations };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** All mutants, or a selection drawn with the seed. */
function choose({ seed, count }: Setting): readonly string[] {
  const random = streamOf(seed);
  const left = SEEDED.map(({ name }) => name);
  return Array.from({ length: Math.min(count, ALL) }, () => left.splice(Math.floor(random() * left.length), 1)).flat();
}

function runProgram(setting: Setting, names: readonly string[], out: string): Promise<number | null> {
  let done = 0;
  return new Promise((resolveEnd, reject) => {
    const child = spawn(process.execPath, [PROGRAM, '--only', names.join(), '--out', out], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const forget = setting.resources.add('npm run mutants', async () => void child.kill('SIGTERM'));
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      done += chunk.split('\n').filter((line) => /^(caught|survived|broken) /.test(line)).length;
      setting.progress(done, chunk.trim().split('\n').at(-1) ?? '');
    });
    child.once('error', reject);
    child.once('close', (code) => void forget().then(() => resolveEnd(code)));
  });
}

/** Mistakes seeded into copies of the code, each of which a test must detect. */
export const MUTANTS: Row = { name: 'mutants', unit: 'mutants', counts: { small: ALL, middle: ALL, large: ALL }, run };
