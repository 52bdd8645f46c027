import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { parseJson } from '../../../domain/parse-json.ts';
import type { Answer, Order, Traits } from '../../../domain/processors/order.ts';
import { SIMULATOR_ID } from '../../../domain/sandbox.ts';
import { programAt } from '../../../installation.mjs';
import type { ConnectorSettings } from '../../foundation/connector-settings.ts';
import { type Connector, openHttpConnector } from './http-connector.ts';

/** The addresses of the simulator, and the secret that signs requests to it and its notices. */
type RunningSimulator = {
  /** The base URL of the adapter contract. */
  readonly url: string;
  /** A URL that refuses all connections while the simulator runs. Orders that must be refused are sent there. */
  readonly refusedUrl: string;
  readonly secret: string;
  readonly processId: number;
};

export type SimulatorParts = {
  /** The directory of the simulator's book. It is created if it is missing. */
  readonly directory: string;
  /** The `http://` URL for the simulator's notices. Null if it should send none. */
  readonly noticeUrl: string | null;
  /** The secret to use, `whsec_…`. If omitted, each process gets a new one. */
  readonly secret?: string;
};

export type SimulatorProcess = {
  /**
   * Starts the simulator unless it is running, and restarts it after a crash. Rejects with a message for people if it does not
   * start.
   */
  readonly running: () => Promise<RunningSimulator>;
  /** Ends the simulator if it is running, and waits until it has ended. Afterwards it does not start again. */
  readonly stop: () => Promise<void>;
};

/** At startup, the simulator waits until the previous one has ended, which takes a moment, and then reads its book. */
const MAX_START_MILLISECONDS = 60_000;
/** The simulator only has to close its book. */
const MAX_STOP_MILLISECONDS = 3_000;

/** Prepares the simulator, the sandbox's processor. It runs in a separate process, which starts on first use. */
export function prepareSimulator(parts: SimulatorParts): SimulatorProcess {
  let starting: Promise<{ readonly child: ChildProcess; readonly simulator: RunningSimulator }> | undefined;
  let isStopped = false;
  return {
    running: async () => {
      if (isStopped) throw new Error('The simulator has been stopped.');
      if (starting === undefined) {
        const started = start(parts);
        starting = started;
        const forget = (): void => {
          if (starting === started) starting = undefined;
        };
        started.then(({ child }) => child.once('exit', forget), forget);
      }
      return (await starting).simulator;
    },
    stop: async () => {
      isStopped = true;
      const started = await starting?.catch(() => undefined);
      if (started !== undefined) await end(started.child);
    },
  };
}

/**
 * Lets the simulator write a settlement file with these differences, and returns the simulator's exit code. The simulator
 * prints the path, or the problem.
 */
export function writeSettlementFile(directory: string, differences: readonly string[]): number {
  const command = [programAt('simulator/main'), 'settlement', directory, ...differences];
  return spawnSync(process.execPath, command, { stdio: ['ignore', 'inherit', 'inherit'], env: {} }).status ?? 1;
}

async function start({ directory, noticeUrl, secret }: SimulatorParts) {
  const child = spawn(process.execPath, [programAt('simulator/main')], {
    // However this process ends, the simulator sees the end of its input.
    stdio: ['pipe', 'pipe', 'pipe'],
    // The simulator reads its settings from its input. The environment stays empty, so it does not get this process's secrets.
    env: {},
  });
  let problem = '';
  child.stderr.on('data', (chunk: Buffer) => {
    problem = `${problem}${chunk}`.slice(-2_000);
  });
  // Writing to a process that could not be started causes an error. The code below reports the failed start.
  child.stdin.on('error', () => undefined);
  child.stdin.write(
    `${JSON.stringify({ directory, notice_url: noticeUrl, ...(secret !== undefined && { secret }) })}\n`,
  );
  const line = await firstLineOf(child);
  if (line === undefined || child.pid === undefined) {
    child.kill('SIGKILL');
    throw new Error(`The simulator could not be started. ${problem.trim()}`.trim());
  }
  const addresses = parseJson(line) as { port: number; refused_port: number; secret: string };
  const simulator: RunningSimulator = {
    url: `http://127.0.0.1:${addresses.port}`,
    refusedUrl: `http://127.0.0.1:${addresses.refused_port}`,
    secret: addresses.secret,
    processId: child.pid,
  };
  return { child, simulator };
}

/** Returns the line with the simulator's addresses. Undefined if it ends before printing it, or does not start in time. */
function firstLineOf(child: ChildProcess): Promise<string | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), MAX_START_MILLISECONDS);
    const settle = (line: string | undefined): void => {
      clearTimeout(timer);
      resolve(line);
    };
    if (child.stdout !== null) createInterface({ input: child.stdout }).once('line', settle);
    child.once('error', () => settle(undefined));
    child.once('close', () => settle(undefined));
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  const timer = setTimeout(() => child.kill('SIGKILL'), MAX_STOP_MILLISECONDS);
  child.stdin?.end();
  await exited;
  clearTimeout(timer);
}

/** The simulator's traits. The times are short, so that developers soon see an outcome. */
const TRAITS: Traits = {
  hasInquiry: true,
  canResend: true,
  keyMemorySeconds: null,
  settleDelaySeconds: 2,
  notFoundFinalSeconds: 10,
  reversal: 'none',
  readySeconds: 5,
  whenDown: 'refuse',
  maxInFlight: 16,
  settledWithinHours: 48,
};

/** Orders with this behavior are sent to an address that refuses connections. */
const REFUSED = 'refused';

export function simulatorSettings(): ConnectorSettings {
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  const address = { mode: 'sandbox', url: 'http://127.0.0.1', allowedNetworks: [], ca: null } as const;
  return { ...address, connectorId: SIMULATOR_ID, secrets: [secret], traits: TRAITS };
}

type Running = { readonly simulator: RunningSimulator; readonly usual: Connector; readonly refused: Connector };

/**
 * Opens the connection to the simulator. The simulator's process starts with the first order, and starts again if it
 * has died.
 */
export function openSimulatorConnector(
  settings: ConnectorSettings,
  parts: { readonly directory: string; readonly noticeUrl: () => string | null },
): Connector & { readonly stop: () => Promise<void> } {
  let child: SimulatorProcess | undefined;
  let running: Running | undefined;
  const find = async (): Promise<Running> => {
    const [secret = ''] = settings.secrets;
    child ??= prepareSimulator({ directory: parts.directory, noticeUrl: parts.noticeUrl(), secret });
    const simulator = await child.running();
    if (running?.simulator === simulator) return running;
    running?.usual.close();
    running?.refused.close();
    const open = (url: string): Connector => openHttpConnector({ ...settings, url });
    running = { simulator, usual: open(simulator.url), refused: open(simulator.refusedUrl) };
    return running;
  };
  const ask = (question: 'send' | 'inquire' | 'reverse') => async (order: Order) => {
    try {
      const { usual, refused } = await find();
      return await (question === 'send' && isRefused(order) ? refused : usual)[question](order);
    } catch (error) {
      return notStarted(error);
    }
  };
  return {
    connectorId: settings.connectorId,
    traits: settings.traits,
    send: ask('send'),
    inquire: ask('inquire'),
    reverse: ask('reverse'),
    isHealthy: async () => (await find().catch(() => undefined))?.usual.isHealthy() ?? false,
    close: () => {
      running?.usual.close();
      running?.refused.close();
    },
    stop: async () => child?.stop(),
  };
}

function isRefused({ sandboxBehavior, processorToken }: Order): boolean {
  return (sandboxBehavior ?? processorToken.replace(/^sim_/, '')) === REFUSED;
}

/**
 * Returns the answer for an error that occurred while the simulator was starting. Calls to the running simulator never reject.
 */
function notStarted(error: unknown): Answer {
  const detail = String(error instanceof Error ? error.message : error).slice(0, 300);
  return { outcome: 'not_sent', processorReference: null, code: null, retryAfterSeconds: null, detail };
}
