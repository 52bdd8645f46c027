import { randomBytes } from 'node:crypto';
import type { Answer, Order, Traits } from '../../../domain/processors/order.ts';
import { SIMULATOR_ID } from '../../../domain/sandbox.ts';
import type { ConnectorSettings } from '../../foundation/connector-settings.ts';
import { type Connector, openHttpConnector } from './http-connector.ts';
import { prepareSimulator, type RunningSimulator, type SimulatorProcess } from './start-simulator.ts';

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
