import { get } from 'node:http';
import { NoResponse } from '../../test/harness/raw-request.ts';
import { boundOf, type Findings, pause, type Setting, streamOf, Tally } from '../campaign.ts';
import { readBooksAt, readTexts } from '../checkers/books.ts';
import { findContradictions, findMadeInSilence } from '../checkers/responses.ts';
import { type Fleet, startFleet } from '../environments/processes/fleet.ts';
import { Load } from '../generators/load.ts';

const CLIENTS = 24;

/** The number of restarts per ledger. Ledgers have two processes and three processes in turn. */
const RESTARTS_PER_LEDGER = 25;

const SENT_AGAIN = 400;

/** The longest stop, in milliseconds: the drain, the shutdown of PostgreSQL and a margin for busy machines. */
const STOP_MOST = 15_000;

/**
 * The longest suspension after which the probe counts as reliable, in milliseconds. A stopping process assumes that its
 * callers are gone after twice this time without requests, so a probe that was suspended longer may miss a response.
 */
const MAX_LATENESS = 50;

/** The allowed statuses: success, refusal by a rule, or temporary refusal without effect. */
const HONEST = new Set([200, 201, 409, 503]);

async function restartInTurn(setting: Setting, tally: Tally, ledger: number, restarts: number): Promise<void> {
  const fleet = await startFleet(setting.resources, ledger % 2 === 0 ? 2 : 3);
  try {
    const load = new Load(CLIENTS, `ledger-${ledger}`, streamOf(setting.seed, ledger, 2));
    await load.makeCards(fleet.process(0));
    const random = streamOf(setting.seed, ledger, 1);
    load.start(...fleet.urls);
    for (let restart = 1; restart <= restarts && !tally.isFull; restart += 1) {
      await pause(100 + random() * 400);
      const where = `restart ${ledger * RESTARTS_PER_LEDGER + restart}`;
      await restartOne(setting, fleet, load, restart % fleet.urls.length, tally, where);
      setting.progress(ledger * RESTARTS_PER_LEDGER + restart, `${tally.count('violations')} violations`);
    }
    await pause(100);
    await load.pause();
    judgeResponses(load, tally, `ledger ${ledger}`);
    await load.settle(fleet.urls[0] ?? '', SENT_AGAIN);
    const texts = await readTexts(fleet.process(0).client);
    const books = await readBooksAt(fleet.server.connection, load.cards, texts);
    tally.violate(`ledger ${ledger}`, [
      ...findContradictions(load.operations, books),
      ...findMadeInSilence(load.responses, books),
    ]);
    load.count(tally, books);
  } finally {
    await fleet.end();
  }
}

/** Restarts one process with the setting's main file, while a load and a probe of its readiness send requests. */
export async function restartOne(
  setting: Setting,
  fleet: Fleet,
  load: Load,
  index: number,
  tally: Tally,
  where: string,
): Promise<void> {
  const stopMost = boundOf(setting, STOP_MOST);
  const probe = watchReadiness(fleet.urls[index] ?? '');
  // Requests without a response are counted separately.
  load.expectDeath(fleet.urls[index] ?? '');
  const endless = setTimeout(() => fleet.process(index).child.kill('SIGKILL'), 2 * stopMost);
  const watch = watchLateness();
  const { exitCode, milliseconds } = await fleet.stop(index);
  clearTimeout(endless);
  const seen = await probe.end();
  const lateness = watch.end();
  const wasAwake = setting.isQuick !== true || lateness < MAX_LATENESS;
  if (exitCode !== 0) tally.violate(where, [`the process ended with ${exitCode}`]);
  if (milliseconds > stopMost) tally.violate(where, [`the stop took ${Math.round(milliseconds)} ms`]);
  tally.time('stop', milliseconds);
  // The process must report that it is stopping before it stops, and must not become ready again.
  const order = seen.join(' ').replaceAll(/(\S+)( \1)+/g, '$1');
  const right = wasAwake ? /^(200 )?503( cut)?( gone)?$/ : /^(200 ?)?(503 ?)?(cut ?)?(gone)?$/;
  if (!right.test(order)) tally.violate(where, [`the probe of the readiness saw: ${order}`]);
  tally.add('crossed_by_probe', seen.filter((what) => what === 'cut').length);
  const started = performance.now();
  await fleet.start(index, setting.main);
  tally.time('start', performance.now() - started);
  load.redirect(...fleet.urls);
  tally.add('restarts');
}

/** Measures the longest time that this process, with its clients, did not run, in milliseconds. */
function watchLateness(): { readonly end: () => number } {
  let lastAt = performance.now();
  let longest = 0;
  const look = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - lastAt);
    lastAt = now;
  };
  const timer = setInterval(look, 5);
  return {
    end: () => {
      clearInterval(timer);
      look();
      return longest;
    },
  };
}

/** Polls a process's readiness on new connections, as a load balancer does. */
function watchReadiness(url: string): { readonly end: () => Promise<readonly string[]> } {
  const seen: string[] = [];
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      seen.push(await askReadiness(url));
      await pause(5);
    }
  })();
  return {
    end: async () => {
      isOver = true;
      await watching;
      return seen;
    },
  };
}

function askReadiness(url: string): Promise<string> {
  return new Promise((resolve) => {
    const asked = get(`${url}/health/ready`, { agent: false, timeout: 60_000 }, (response) => {
      response.resume().once('close', () => resolve(String(response.statusCode)));
    });
    asked.once('timeout', () => {
      resolve('hung');
      asked.destroy();
    });
    asked.once('error', (error) => resolve(new NoResponse(error, undefined).isRefused ? 'gone' : 'cut'));
  });
}

/** Checks that all responses are allowed, and that running processes responded to every request. */
export function judgeResponses(load: Load, tally: Tally, where: string): void {
  const { responses } = load;
  const say = (problems: readonly string[]): void => tally.violate(where, problems);
  say(responses.filter(({ status }) => !HONEST.has(status)).map(({ status, text }) => `a ${status}: ${text}`));
  for (const { status, text, moneyMoved } of responses) {
    if (status !== 503) continue;
    tally.add('turned_away');
    if (moneyMoved !== 'no' || !text.includes('"Code":"service_unavailable"'))
      say([`a 503 without a correct error record or Money-Moved: no: ${text}`]);
  }
  if (load.unansweredByTheLiving > 0)
    say([`${load.unansweredByTheLiving} requests to running processes had no response`]);
  tally.add('crossed_on_kept', load.brokenConnections);
  tally.add('crossed_on_new', load.unanswered - load.brokenConnections);
}

/**
 * Checks that few requests are sent just as their connection ends. A client can send a request just as the server
 * closes an idle or not yet accepted connection. HTTP/1.1 cannot prevent this. Such a request must have no effect.
 */
function judgeCrossings(setting: Setting, tally: Tally): void {
  // On an overloaded machine, a caller may use its connection late.
  const most = boundOf(setting, 2 + tally.count('restarts') / 25);
  const crossed = tally.count('crossed_on_kept') + tally.count('crossed_on_new') + tally.count('crossed_by_probe');
  if (crossed > most) tally.violate('crossings', [`${crossed} requests had no response, the maximum is ${most}`]);
}

export async function run(setting: Setting): Promise<Findings> {
  const tally = new Tally();
  for (let ledger = 0; ledger * RESTARTS_PER_LEDGER < setting.count && !tally.isFull; ledger += 1) {
    const left = setting.count - ledger * RESTARTS_PER_LEDGER;
    await restartInTurn(setting, tally, ledger, Math.min(RESTARTS_PER_LEDGER, left));
  }
  judgeCrossings(setting, tally);
  return tally.findings({ clients: CLIENTS });
}
