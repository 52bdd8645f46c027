import { fileURLToPath } from 'node:url';
import { runProgram } from './child-program.ts';
import { POLLS } from './console-polls.ts';
import { examineBooks } from './ledger/books.ts';
import { createLedger, dropLedger, type Served, serve } from './ledger/ledger.ts';
import { createOperatorKey, databaseUrl } from './ledger/server.ts';
import { MANY_CONNECTIONS, measureTransfers, type Run, warmUp } from './measure.ts';
import { interleave } from './rounds/interleave.ts';
import { describe } from './rounds/run-rounds.ts';
import type { Stage } from './stage.ts';

/** How many consoles are open: none, or ten. */
export const WATCHERS = ['none', 'ten'] as const;

/** The runs of each, in the order of the rounds. */
export type ConsoleRuns = Readonly<Record<(typeof WATCHERS)[number], readonly Run[]>>;

/** A difference of two percent is less than that of two runs of the same service: so many rounds show it. */
const ROUNDS = 10;
const QUICK_ROUNDS = 2;

const CONSOLES = 10;

/** What `test/console/measure/main.ts` prints. */
export type BrowserFigures = {
  readonly largestPaintMilliseconds: readonly number[];
  readonly firstPageMilliseconds: readonly number[];
  readonly firstPageBytes: number;
  readonly lastPageBytes: number;
};

/** Fetches a browser, builds the console, and measures both in a service of their own. */
export async function measureInBrowser({ belongings }: Stage): Promise<BrowserFigures> {
  const run = (path: string) =>
    runProgram(belongings, process.execPath, [fileURLToPath(new URL(`../${path}`, import.meta.url))]);
  await run('tools/console/fetch-browser.mjs');
  await run('tools/console/build.ts');
  return JSON.parse((await run('test/console/measure/main.ts')).output);
}

/**
 * Measures what open consoles cost. Each run is of a new process on a new ledger; the two of a round come one after the
 * other, in the opposite order in every second round.
 */
export function measureConsoles(stage: Stage): Promise<ConsoleRuns> {
  const rounds = stage.options.quick ? QUICK_ROUNDS : ROUNDS;
  return interleave(rounds, WATCHERS, async (name, round) => {
    const run = await measureOne(stage, name === 'ten' ? CONSOLES : 0);
    stage.say(`  round ${round + 1}  ${name.padEnd(16)} ${describe(run)}`);
    return run;
  });
}

async function measureOne(stage: Stage, count: number): Promise<Run> {
  const ledger = await createLedger(stage);
  const key = await createOperatorKey(stage.belongings, databaseUrl(stage.server, ledger.database));
  const service = await serve(stage, ledger);
  const consoles = await openConsoles(service, key, count);
  try {
    await warmUp(stage, ledger, service.traffic, MANY_CONNECTIONS);
    return await measureTransfers(stage, { ledger, service }, service.traffic, MANY_CONNECTIONS);
  } finally {
    await consoles.close();
    await service.stop();
    await examineBooks(stage.server, ledger.database, ledger.acknowledged);
    await dropLedger(stage, ledger);
  }
}

/**
 * Asks what so many open overviews ask, each with a session of its own. The answers are read to the end, and one that is
 * not 200 fails the run.
 */
async function openConsoles(
  { traffic: { url } }: Served,
  key: string,
  count: number,
): Promise<{ readonly close: () => Promise<void> }> {
  const timers: NodeJS.Timeout[] = [];
  const pending = new Set<Promise<void>>();
  const failures: string[] = [];
  let answered = 0;
  const ask = async (path: string, cookie: string): Promise<void> => {
    const response = await fetch(`${url}${path}`, {
      headers: { Cookie: cookie, Console: 'background', 'Sec-Fetch-Site': 'same-origin' },
    });
    const text = await response.text();
    if (response.status === 200) answered += 1;
    else failures.push(`${path}: ${response.status} ${text}`);
  };
  const start = (task: () => Promise<void>): void => {
    const running = task()
      .catch((error: unknown) => void failures.push(String(error)))
      .finally(() => pending.delete(running));
    pending.add(running);
  };
  for (let number = 0; number < count; number += 1) {
    const cookie = await createSession(url, key);
    for (const { path, everyMilliseconds } of POLLS) {
      // Ten people did not open theirs at the same moment.
      const delay = (everyMilliseconds * number) / count;
      const poll = (): void => start(() => ask(path, cookie));
      timers.push(setTimeout(() => timers.push(setInterval(poll, everyMilliseconds)), delay));
      poll();
    }
  }
  return {
    close: async () => {
      for (const timer of timers) clearInterval(timer);
      await Promise.all(pending);
      if (failures.length > 0) throw new Error(`${failures.length} requests of consoles failed: ${failures[0]}`);
      if (count > 0 && answered === 0) throw new Error('no console got an answer');
    },
  };
}

/** Exchanges a key for a session, and gives the cookie as a request sends it. */
async function createSession(url: string, key: string): Promise<string> {
  const response = await fetch(`${url}/api/v0.1/console/session`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, Console: '1', 'Sec-Fetch-Site': 'same-origin' },
  });
  const [cookie] = response.headers.getSetCookie();
  if (cookie === undefined) throw new Error(`no session: ${response.status} ${await response.text()}`);
  return cookie.replace(/;.*/, '');
}
