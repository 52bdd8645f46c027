import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { onTestFinished } from 'vitest';
import { openSender } from '../../server/background/outbound/send.ts';
import { type Answer, SEND_LIMITS, type Sender, type SendLimits } from '../../server/background/outbound/sender.ts';
import type { AddressRules } from '../../server/foundation/networks.ts';
import { openAddressRules } from '../../server/subjects/webhooks/addresses.ts';

export type TestSenderOptions = {
  readonly mode?: 'sandbox' | 'live';
  readonly allowedNetworks?: readonly string[];
  readonly rules?: AddressRules;
  readonly ca?: string;
  readonly limits?: Partial<SendLimits>;
};

/** Name servers and a hosts file that do not exist. A test that needs names sets its own. */
const NO_NAMES = { nameServers: ['127.0.0.1:1'], hostsFile: '/nonexistent/hosts' };

/** Opens a sender for one test. The sender waits as long as the machine needs, unless the test sets limits. */
export function openTestSender(options: TestSenderOptions = {}): Sender {
  const { mode = 'sandbox', allowedNetworks = [], ca = null, limits } = options;
  const patient = {
    connectTimeoutMilliseconds: 120_000,
    otherFamilyMilliseconds: 120_000,
    answerTimeoutMilliseconds: 120_000,
  };
  const rules = options.rules ?? openAddressRules({ mode, allowedNetworks });
  const sender = openSender({ rules, ca }, { ...SEND_LIMITS, ...patient, ...NO_NAMES, ...limits });
  onTestFinished(() => sender.close());
  return sender;
}

export function sendTo(sender: Sender, url: string, signal?: AbortSignal): Promise<Answer> {
  const headers = { 'content-type': 'application/json' };
  return sender.send({ method: 'POST', url, headers, body: '{"type":"webhook.tested"}', ...(signal && { signal }) });
}

/** Returns the status of an answer, or the reason for its absence. */
export function outcomeOf(answer: Answer): number | string {
  return answer.error ?? answer.status;
}

/** Counts the sockets that this process opens from now until the end of the test. Name queries do not count. */
export function countConnections(): () => number {
  let connections = 0;
  const count = (): void => {
    connections += 1;
  };
  subscribe('net.client.socket', count);
  onTestFinished(() => void unsubscribe('net.client.socket', count));
  return () => connections;
}
