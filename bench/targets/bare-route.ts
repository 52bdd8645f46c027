import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { median, short, whole } from '../figures.ts';
import { withLedger } from '../ledger/ledger.ts';
import { runClosedLoop } from '../load/closed-loop.ts';
import { loopOf, MANY_CONNECTIONS, measureTransfers, warmUp } from '../measure.ts';
import type { Outcome } from '../outcome.ts';
import { interleave } from '../rounds.ts';
import type { Stage } from '../stage.ts';

const ECHO_SERVER = fileURLToPath(new URL('../echo-server.ts', import.meta.url));

/** Target 2: the same requests against a bare Fastify route that validates and echoes. */
export function againstBareRoute(stage: Stage): Promise<Outcome> {
  const { rounds, seconds, warmUp_s } = stage.options;
  return withLedger(stage, async (service, ledger) => {
    const { traffic } = service;
    const echo = await startEchoServer(stage);
    const bare = { ...traffic, url: echo.url };
    await warmUp(stage, ledger, traffic, MANY_CONNECTIONS);
    await runClosedLoop(loopOf(stage), bare, MANY_CONNECTIONS, warmUp_s);
    const runs = await interleave(rounds, {
      service: () =>
        measureTransfers(stage, { ledger, services: [service] }, { traffic, connections: MANY_CONNECTIONS, seconds }),
      bare: async () => {
        const result = await runClosedLoop(loopOf(stage), bare, MANY_CONNECTIONS, seconds);
        if (result.failed > 0) throw new Error(`the bare route failed: ${result.firstFailure}`);
        return { rate: result.answered / result.elapsed_s, generatorCores: result.generatorCores };
      },
    });
    await echo.stop();
    const rate = median(runs.service.map((run) => run.rate));
    const bareRate = median(runs.bare.map((run) => run.rate));
    const cores = median(runs.bare.map((run) => run.generatorCores));
    return {
      target: 2,
      title: 'create_transfer against a bare Fastify route that validates and echoes',
      measured: `${whole(rate)}/s`,
      against: `${whole(bareRate)}/s`,
      ratio: rate / bareRate,
      bound: { at: 'least', ratio: 0.3 },
      aim: 0.45,
      runs: { service: runs.service.map((run) => run.rate), 'bare route': runs.bare.map((run) => run.rate) },
      notes: [`The generator used ${short(cores)} of a core at the bare route.`],
    };
  });
}

async function startEchoServer({
  belongings,
}: Stage): Promise<{ readonly url: string; readonly stop: () => Promise<void> }> {
  const child: ChildProcess = spawn(process.execPath, [ECHO_SERVER], { stdio: ['pipe', 'pipe', 'inherit'] });
  const stop = belongings.add('the bare route', async () => {
    child.kill('SIGTERM');
    await once(child, 'exit');
  });
  const [line] = (await once(child.stdout as NodeJS.EventEmitter, 'data')) as [Buffer];
  return { url: line.toString().trim(), stop };
}
