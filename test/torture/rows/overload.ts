import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { Resources } from '../../../bench/resources.ts';
import { type BooksWithFaults, readBooksAt } from '../../crashes/books.ts';
import { type Fleet, lackOfDescriptors, startFleet } from '../fleet.ts';
import { type Findings, pause, type Row, type Setting, Tally } from '../row.ts';
import type { Outcome, Plan } from './overload-generator.ts';

const GENERATOR = new URL('./overload-generator.ts', import.meta.url).pathname;

const CARD = 'card-of-overload';

/** How many times the sustainable rate is sent. */
const TIMES = 10;

/** Callers of the closed loop that measures the sustainable rate: enough to fill groups. */
const SUSTAINED = 128;

/** Callers of the overload, each with its own connection and one request at a time: more than the queue holds. */
const CROWD = 6_000;

/** Accepted requests get a response within the deadline of 5 s and one second of grace, in milliseconds. */
const ACCEPTED_WITHIN = 6_000;

/** The longest recovery in milliseconds, and the share of the sustainable rate that counts as recovered. */
const RECOVERED_WITHIN = 10_000;
const RECOVERED_SHARE = 0.5;

/** The rate afterwards, as a share of the rate before. */
const AGAIN_SHARE = 0.5;

/** Memory of the service at most, in kilobytes. */
const MEMORY = 1_048_576;

type Sent = { readonly name: string; readonly outcome: Outcome };

/** Runs a plan in a generator of its own. */
async function generate(resources: Resources, plan: Plan): Promise<Sent> {
  const child = spawn(process.execPath, [GENERATOR], { stdio: ['pipe', 'pipe', 'inherit'] });
  const end = resources.add('the load generator', async () => void child.kill('SIGKILL'));
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  child.stdin.end(JSON.stringify(plan));
  const exitCode = await new Promise((resolve) => child.once('close', resolve));
  await end();
  if (exitCode !== 0) throw new Error(`the load generator ended with ${exitCode}`);
  return { name: plan.name, outcome: JSON.parse(text) as Outcome };
}

/** Measures the memory of the service; returns the maximum in kilobytes when it is ended. */
function watchMemory(fleet: Fleet): { readonly end: () => number } {
  let most = 0;
  const look = setInterval(async () => {
    const status = await readFile(`/proc/${fleet.process(0).child.pid}/status`, 'utf8').catch(() => '');
    most = Math.max(most, Number(/VmRSS:\s+([0-9]+)/.exec(status)?.[1] ?? 0));
  }, 100);
  return {
    end: () => {
      clearInterval(look);
      return most;
    },
  };
}

/** Nothing acknowledged is missing or doubled, nothing refused exists, and nothing that was never sent. */
function judgeBooks(rounds: readonly Sent[], { faults, transfers }: BooksWithFaults): readonly string[] {
  const problems = Object.entries(faults).map(([what, count]) => `${what}: ${count}`);
  const found = Map.groupBy(transfers, ({ key }) => key);
  const known = new Set<string>();
  for (const { name, outcome } of rounds) {
    for (const [number, transferId] of outcome.made) {
      const key = `${name}-${number}`;
      known.add(key);
      if (found.get(key)?.[0]?.transferId !== transferId) problems.push(`lost: ${key}, which was ${transferId}`);
    }
    for (const number of outcome.refused)
      if (found.has(`${name}-${number}`)) problems.push(`${name}-${number}: refused and made`);
    for (const number of outcome.unanswered) known.add(`${name}-${number}`);
  }
  for (const [key, made] of found) {
    if (made.length > 1) problems.push(`doubled: ${key}, ${made.length} times`);
    if (!known.has(key)) problems.push(`${key} is there, and no response reported it`);
  }
  return problems;
}

/** Every request of every round gets a correct response, also before and after the overload. */
function judgeResponses({ name, outcome }: Sent, tally: Tally): void {
  const { dishonest, example, unanswered } = outcome;
  const say = (problem: string): void => tally.violate(name, [problem]);
  if (dishonest > 0) say(`${dishonest} responses were neither a 201 nor an honest 503, such as ${example}`);
  if (unanswered.length > 0) say(`${unanswered.length} requests had no response`);
}

function judgeOverload({ outcome }: Sent, tally: Tally): void {
  const { acceptedMilliseconds, made, refused } = outcome;
  const say = (problem: string): void => tally.violate('overload', [problem]);
  if (acceptedMilliseconds.p99 > ACCEPTED_WITHIN)
    say(`the p99 of accepted ones is ${acceptedMilliseconds.p99} ms, and ${ACCEPTED_WITHIN} are the most`);
  if (made.length === 0) say('nothing was served at all');
  if (refused.length === 0) say('nothing was refused: this was no overload');
}

/** Time until the service reaches its sustainable rate again, in rounds of a second. */
async function untilRecovered(attempt: (round: number) => Promise<number>, sustainable: number): Promise<number> {
  const started = performance.now();
  for (let round = 0; performance.now() - started < 3 * RECOVERED_WITHIN; round += 1) {
    const began = performance.now() - started;
    if ((await attempt(round)) >= sustainable * RECOVERED_SHARE) return Math.round(began);
    await pause(100);
  }
  return Number.POSITIVE_INFINITY;
}

async function run({ resources, count, progress }: Setting): Promise<Findings> {
  const tally = new Tally();
  const problem = await lackOfDescriptors(CROWD);
  if (problem !== undefined) return { figures: {}, violations: [], notRun: problem };
  const fleet = await startFleet(resources, 1);
  const [url = ''] = fleet.urls;
  const rounds: Sent[] = [];
  const send = async (name: string, connections: number, seconds: number, rate: number): Promise<Sent> => {
    const sent = await generate(resources, { url, card: CARD, name, connections, seconds, rate });
    rounds.push(sent);
    return sent;
  };
  const rateOf = ({ outcome }: Sent): number => Math.round(outcome.made.length / outcome.seconds);
  let figures: Record<string, number | string> = {};
  try {
    await fleet.process(0).client.cards.create({ card_id: CARD });
    // The first run warms up.
    await send('warm-up', SUSTAINED, Math.min(count / 2, 5), 0);
    const sustainable = rateOf(await send('sustained', SUSTAINED, Math.min(count, 10), 0));
    const memory = watchMemory(fleet);
    const overload = await send('overload', CROWD, count, sustainable * TIMES);
    progress(count);
    const recovery = await untilRecovered(
      async (round) => rateOf(await send(`after-${round}`, SUSTAINED, 1, 0)),
      sustainable,
    );
    const again = rateOf(await send('again', SUSTAINED, Math.min(count, 10), 0));
    const kilobytes = memory.end();
    for (const round of rounds) judgeResponses(round, tally);
    judgeOverload(overload, tally);
    if (again < sustainable * AGAIN_SHARE) tally.violate('again', [`${again} a second, and before ${sustainable}`]);
    if (recovery > RECOVERED_WITHIN) tally.violate('recovery', [`it took ${recovery} ms`]);
    if (kilobytes > MEMORY) tally.violate('memory', [`${kilobytes} kB, and ${MEMORY} are the most`]);
    tally.violate('books', judgeBooks(rounds, await readBooksAt(fleet.server.connection, [CARD])));
    figures = {
      sustainable,
      ...figuresOf(overload),
      recovery_milliseconds: recovery,
      again,
      ratio: (again / sustainable).toFixed(2),
    };
    figures.megabytes_most = Math.round(kilobytes / 1024);
  } finally {
    await fleet.end();
  }
  return { figures: { ...figures, ...tally.figures() }, violations: tally.violations };
}

function figuresOf({ outcome }: Sent): Record<string, number> {
  const { sent, unsent, made, refused, unanswered, seconds, acceptedMilliseconds, refusedMilliseconds } = outcome;
  return {
    sent,
    unsent,
    accepted: made.length,
    accepted_a_second: Math.round(made.length / seconds),
    refused_503: refused.length,
    unanswered: unanswered.length,
    accepted_p50_milliseconds: acceptedMilliseconds.p50,
    accepted_p99_milliseconds: acceptedMilliseconds.p99,
    accepted_max_milliseconds: acceptedMilliseconds.most,
    refused_p50_milliseconds: refusedMilliseconds.p50,
    refused_p99_milliseconds: refusedMilliseconds.p99,
  };
}

/** Ten times the load that can be sustained. */
export const OVERLOAD: Row = {
  name: 'overload',
  unit: 'seconds of overload',
  counts: { small: 2, middle: 15, large: 120 },
  run,
};
