// Runs campaigns: npm run campaigns -- --help
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { dirname, resolve } from 'node:path';
import { Resources } from '../bench/resources.ts';
import type { Campaign } from './campaign.ts';
import { ABOUT_MONEY } from './checkers/responses.ts';
import { type Options, readOptions, USAGE, UsageProblem } from './command-line.ts';
import { copyWithMistake } from './mutants/copy.ts';
import { progressOf, type Result, tableOf } from './report.ts';

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
  // Exits explicitly, because clients of an aborted campaign may still send requests.
  else process.exit(await run(options));
} catch (error) {
  await resources.endAll(say);
  if (!(error instanceof UsageProblem)) throw error;
  process.stderr.write(`${error.message}\n\n${USAGE}\n`);
  process.exitCode = 2;
}

async function run(options: Options): Promise<number> {
  const { campaigns, seed, scale, control } = options;
  say(`Seed ${seed}, scale ${scale}${control ? ', with a mistake that the run must detect' : ''}`);
  const startedAt = new Date().toISOString();
  const file = resolve(options.out ?? `data/campaigns/${startedAt.replaceAll(':', '-')}.json`);
  const results: Result[] = [];
  await mkdir(dirname(file), { recursive: true });
  for (const campaign of campaigns) {
    results.push(await runOne(campaign, options));
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

async function runOne(campaign: Campaign, options: Options): Promise<Result> {
  const { seed } = options;
  const { name, counts } = campaign;
  const { unit } = counts;
  const control = options.control ? campaign.control : undefined;
  const count = options.count ?? counts[options.scale];
  say(`\n${name}: ${count} ${unit}`);
  const started = performance.now();
  const spared = resources.count;
  const resultOf = (found: Pick<Result, 'figures' | 'violations' | 'error'>): Result => {
    const seconds = Math.round((performance.now() - started) / 1000);
    return { campaign: name, unit, count, seed, ...found, seconds };
  };
  try {
    const isMutant = control !== undefined && control !== 'asynchronous';
    const main = isMutant ? await copyWithMistake(resources, control) : undefined;
    const replication = isMutant ? undefined : control;
    return resultOf(
      await campaign.run({ seed, count, resources, main, replication, progress: progressOf(count, unit) }),
    );
  } catch (error) {
    // Errors are expected after Ctrl-C. The signal handler exits once everything has stopped.
    if (resources.isOver) return new Promise(() => undefined);
    // Only this campaign fails: the results of the others stay valid.
    await resources.endAll(say, spared);
    const problem = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return resultOf({ figures: {}, violations: [], error: problem });
  } finally {
    if (process.stdout.isTTY) say('');
  }
}

/** Prints the violations and errors. Returns the exit code. */
function judge(results: readonly Result[], { control, seed }: Options): number {
  for (const { campaign, violations } of results)
    for (const violation of violations) say(`VIOLATION  ${campaign}: ${violation}`);
  for (const { campaign, notRun } of results) if (notRun !== undefined) say(`NOT RUN    ${campaign}: ${notRun}`);
  const failed = results.filter(({ error }) => error !== undefined);
  for (const { campaign, error } of failed) say(`FAILED     ${campaign}: ${error}`);
  const broken = results.filter((result) => result.violations.length > 0 || failed.includes(result));
  for (const { campaign, count } of broken)
    say(
      `To repeat: npm run campaigns -- --only ${campaign} --seed ${seed} --count ${count}${control ? ' --control' : ''}`,
    );
  if (control) {
    const undetected = results.filter(({ violations }) => !violations.some((violation) => ABOUT_MONEY.test(violation)));
    for (const { campaign, violations, error } of undetected)
      say(
        error === undefined
          ? `THE MISTAKE WAS NOT DETECTED by ${campaign}: ${violations.length} violations, none about money.`
          : `${campaign} ended with an error, so this run does not show whether it detects the mistake.`,
      );
    if (undetected.length === 0) say('Each campaign detected the mistake, so this run fails, as intended.');
    return undetected.length === 0 ? 1 : 3;
  }
  if (broken.length > 0) return 1;
  return results.some(({ notRun }) => notRun !== undefined) ? 4 : 0;
}
