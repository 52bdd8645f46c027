import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { Resources } from '../../bench/resources.ts';
import { type Findings, pause, type Setting, Tally } from '../campaign.ts';
import { type BooksWithFaults, readBooksAt } from '../checkers/transfers/books.ts';
import { type Fleet, lackOfDescriptors, startFleet } from '../environments/processes/fleet.ts';
import type { Outcome, Plan } from './overload-generator.ts';

const GENERATOR = new URL('./overload-generator.ts', import.meta.url).pathname;

const CARD = 'card-of-overload';

/** The overload, as a multiple of the sustainable rate. */
const TIMES = 10;

/** The number of callers that measure the sustainable rate in a closed loop, enough to fill groups. */
const SUSTAINED = 128;

/** The number of callers in the overload, each with one connection and one request at a time. The queue holds fewer. */
const CROWD = 6_000;

/** The longest time to a response for accepted requests, in milliseconds: their deadline of 5 s and one second of grace. */
const ACCEPTED_WITHIN = 6_000;

/** The longest recovery in milliseconds, and the share of the sustainable rate that counts as recovered. */
const RECOVERED_WITHIN = 10_000;
const RECOVERED_SHARE = 0.5;

/** The minimum rate after the overload, as a share of the rate before. */
const AGAIN_SHARE = 0.5;

/** The maximum memory of the service, in kilobytes. */
const MEMORY = 1_048_576;

type Sent = { readonly name: string; readonly outcome: Outcome };

/** Runs a plan in a new generator process. */
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

/** Watches the memory of the service. `end` returns the maximum in kilobytes. */
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

/** Finds lost and doubled transfers, and transfers that were refused or never sent. */
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
      if (found.has(`${name}-${number}`)) problems.push(`${name}-${number}: was refused, but its transfer exists`);
    for (const number of outcome.unanswered) known.add(`${name}-${number}`);
  }
  for (const [key, made] of found) {
    if (made.length > 1) problems.push(`doubled: ${key}, ${made.length} times`);
    if (!known.has(key)) problems.push(`${key} exists, but no response reported it`);
  }
  return problems;
}

/** Checks that every request of a round got a correct response. */
function judgeResponses({ name, outcome }: Sent, tally: Tally): void {
  const { dishonest, example, unanswered } = outcome;
  const say = (problem: string): void => tally.violate(name, [problem]);
  if (dishonest > 0) say(`${dishonest} responses were not a 201 or a correct 503, such as ${example}`);
  if (unanswered.length > 0) say(`${unanswered.length} requests had no response`);
}

function judgeOverload({ outcome }: Sent, tally: Tally): void {
  const { acceptedMilliseconds, made, refused } = outcome;
  const say = (problem: string): void => tally.violate('overload', [problem]);
  if (acceptedMilliseconds.p99 > ACCEPTED_WITHIN)
    say(`p99 of accepted requests is ${acceptedMilliseconds.p99} ms, the maximum is ${ACCEPTED_WITHIN} ms`);
  if (made.length === 0) say('no request was accepted');
  if (refused.length === 0) say('no request was refused, so this was not an overload');
}

/** Waits until the service recovers. Returns the time in milliseconds, or Infinity. Each round takes a second. */
async function untilRecovered(attempt: (round: number) => Promise<number>, sustainable: number): Promise<number> {
  const started = performance.now();
  for (let round = 0; performance.now() - started < 3 * RECOVERED_WITHIN; round += 1) {
    const began = performance.now() - started;
    if ((await attempt(round)) >= sustainable * RECOVERED_SHARE) return Math.round(began);
    await pause(100);
  }
  return Number.POSITIVE_INFINITY;
}

export async function run({ resources, count, progress }: Setting): Promise<Findings> {
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
    if (again < sustainable * AGAIN_SHARE)
      tally.violate('again', [`${again} transfers a second, after ${sustainable} before the overload`]);
    if (recovery > RECOVERED_WITHIN) tally.violate('recovery', [`it took ${recovery} ms`]);
    if (kilobytes > MEMORY) tally.violate('memory', [`${kilobytes} kB, the maximum is ${MEMORY} kB`]);
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
