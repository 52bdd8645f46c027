// Runs campaigns: npm run campaigns -- --help
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { dirname, resolve } from 'node:path';
import { Resources } from '../bench/resources.ts';
import type { Campaign } from './campaign.ts';
import { type Options, readOptions, USAGE, UsageProblem } from './command-line.ts';
import { copyWithMistake } from './mutants/copy.ts';
import { progressOf, type Result, tableOf } from './report.ts';

/** The mutant of the negative control: a service that responds with 201 before COMMIT has finished. */
const LIE = 'answer-before-commit';

/** Violations that reveal a lie about money: an acknowledged transfer is gone, or a denied one was made. */
const LIES = /lost: |said that no money moved, but it made/;

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const resources = new Resources();
// Stands for the run itself, so that ending a campaign's resources does not end the run.
resources.add('the run', async () => undefined);

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    say('\nStopping …');
    void resources.endAll(say).finally(() => process.exit(130));
  });
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options === undefined) say(USAGE);
  // Clients of an aborted campaign may still send requests.
  else process.exit(await run(options));
} catch (error) {
  await resources.endAll(say);
  if (!(error instanceof UsageProblem)) throw error;
  process.stderr.write(`${error.message}\n\n${USAGE}\n`);
  process.exitCode = 2;
}

async function run(options: Options): Promise<number> {
  const { campaigns, seed, scale, control } = options;
  const isLiarNeeded = control && campaigns.some(({ hasOwnControl }) => hasOwnControl !== true);
  const liar = isLiarNeeded ? await copyWithMistake(resources, LIE) : undefined;
  say(`Seed ${seed}, scale ${scale}${control ? ', with a mistake that the run must detect' : ''}`);
  const startedAt = new Date().toISOString();
  const file = resolve(options.out ?? `data/campaigns/${startedAt.replaceAll(':', '-')}.json`);
  const results: Result[] = [];
  await mkdir(dirname(file), { recursive: true });
  for (const campaign of campaigns) {
    results.push(await runOne(campaign, options, liar));
    // Written after each campaign, so that results survive if a later one is aborted.
    const names = campaigns.map(({ name }) => name);
    const written = { startedAt, ...options, campaigns: names, machine: machine(), results };
    await writeFile(file, `${JSON.stringify(written, undefined, 2)}\n`);
  }
  await resources.endAll(say);
  say(`\n${tableOf(results)}\n\n${file}`);
  return judge(results, options);
}

function machine() {
  const [processor] = cpus();
  return { processor: processor?.model ?? '', processors: cpus().length, load: loadavg()[0], node: process.version };
}

async function runOne(campaign: Campaign, options: Options, liar: string | undefined): Promise<Result> {
  const { seed, control: isControl } = options;
  const { name, counts, hasOwnControl } = campaign;
  const { unit } = counts;
  const count = options.count ?? counts[options.scale];
  say(`\n${name}: ${count} ${unit}`);
  const main = hasOwnControl === true ? undefined : liar;
  const started = performance.now();
  const spared = resources.count;
  const resultOf = (found: Pick<Result, 'figures' | 'violations'>): Result => {
    const seconds = Math.round((performance.now() - started) / 1000);
    return { campaign: name, unit, count, seed, ...found, seconds };
  };
  try {
    return resultOf(await campaign.run({ seed, count, resources, main, isControl, progress: progressOf(count, unit) }));
  } catch (error) {
    // Errors are expected after Ctrl-C. The signal handler exits once everything has stopped.
    if (resources.isOver) return new Promise(() => undefined);
    // Only this campaign fails: the results of the others stay valid.
    await resources.endAll(say, spared);
    const problem = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return resultOf({ figures: {}, violations: [`the campaign failed with an error: ${problem}`] });
  } finally {
    if (process.stdout.isTTY) say('');
  }
}

function judge(results: readonly Result[], { control, seed }: Options): number {
  for (const { campaign, violations } of results)
    for (const violation of violations) say(`VIOLATION  ${campaign}: ${violation}`);
  for (const { campaign, notRun } of results) if (notRun !== undefined) say(`NOT RUN    ${campaign}: ${notRun}`);
  const broken = results.filter(({ violations }) => violations.length > 0);
  for (const { campaign, count } of broken)
    say(`Again: npm run campaigns -- --only ${campaign} --seed ${seed} --count ${count}${control ? ' --control' : ''}`);
  if (control) {
    const isFound = results.some(({ violations }) => violations.some((violation) => LIES.test(violation)));
    say(
      isFound
        ? 'The lie was detected, so this run fails, as intended.'
        : 'THE LIE WAS NOT DETECTED: the checker does not work.',
    );
    return isFound ? 1 : 3;
  }
  if (broken.length > 0) return 1;
  return results.some(({ notRun }) => notRun !== undefined) ? 4 : 0;
}
