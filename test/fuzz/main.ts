// npm run fuzz -- [--count 1000000] [--seconds 300] [--seed 1] [--batch 0]: generated requests against a sandbox of its own. After
// that many seconds it sends no more of them, and says how many it sent: fewer are no failure.
import { parseArgs } from 'node:util';
import { reportCount } from '../../tools/verify/reports.ts';
import { startService, temporaryDirectory } from '../harness/process.ts';
import { type Result, runCampaign } from './campaign.ts';
import { newBatchOf } from './generate.ts';
import { openNeeds } from './needs.ts';
import { shrink } from './shrink.ts';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '1000000' },
    seconds: { type: 'string', default: 'Infinity' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
    batch: { type: 'string' },
  },
});
const seed = Number(values.seed);
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const directory = await temporaryDirectory();
// A busy machine is no fault of the requests.
const patience = { OVERLOAD_DELAY_MILLISECONDS: '0' };
const service = await startService({ DATA_DIR: directory.path, LOG_LEVEL: 'silent', ...patience });
const started = performance.now();
// Whatever ends this program, a closed pipe for one, must not leave a service behind.
process.on('exit', () => service.child.kill('SIGTERM'));
try {
  process.exitCode = await run();
} finally {
  await service.stop();
  await directory.remove();
}

async function run(): Promise<number> {
  say(`Seed ${seed}, ${values.batch === undefined ? `${values.count} requests` : `batch ${values.batch}`}`);
  const only = values.batch === undefined ? undefined : Number(values.batch);
  if (only !== undefined) say(show(newBatchOf({ seed, batch: only })));
  const result = await runCampaign(service, {
    seed,
    count: only === undefined ? Number(values.count) : 1,
    seconds: Number(values.seconds),
    first: only ?? 0,
    onProgress: report,
  });
  report(result);
  const provide = await openNeeds(service.client, () => undefined);
  for (const violation of result.violations) {
    const { batch, request, problem } = violation;
    say(`\nViolation in batch ${batch}${request === undefined ? '' : `, request ${request}`}: ${problem}`);
    say(`  again: npm run fuzz -- --seed ${seed} --batch ${batch}`);
    const found = await shrink({ port: Number(new URL(service.url).port), provide }, seed, violation);
    if (found === undefined) say('  It did not happen again by itself: it takes what came before it.');
    else say(`  changes: ${found.changes.join(', ')}\n  sent: ${text(found.bytes)}\n  answered: ${found.response}`);
  }
  if (only === undefined) reportCount(result.requests, Number(values.count), `requests, seed ${seed}`);
  say(result.violations.length === 0 ? 'No violation.' : `\n${result.violations.length} violations. Seed ${seed}.`);
  return result.violations.length === 0 ? 0 : 1;
}

function report({ requests, unanswered, statuses, violations, moves }: Result): void {
  const seconds = (performance.now() - started) / 1000;
  const counts = [...statuses].sort(([left], [right]) => left - right).map(([status, count]) => `${status}: ${count}`);
  say(
    `${requests} requests in ${seconds.toFixed(0)} s (${Math.round(requests / seconds)}/s), ${moves} moved money, ` +
      `${unanswered} behind a closing response, ${violations.length} violations; ${counts.join(', ')}`,
  );
}

function show(made: ReturnType<typeof newBatchOf>): string {
  if (made.kind === 'bytes') return `bytes: ${text(made.bytes)}`;
  return made.requests
    .map((request) => `${request.changes.join(', ') || 'as it is'}: ${text(request.bytes)}`)
    .join('\n');
}

/** Bytes as one line that can be read, and pasted into a JavaScript string. */
function text(bytes: Buffer): string {
  return JSON.stringify(
    bytes.toString('latin1').replaceAll(/(.)\1{99,}/g, (run: string) => `${run.slice(0, 20)}…(${run.length})`),
  );
}
