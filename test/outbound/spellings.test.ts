import { describe, expect, test } from 'vitest';
import { openAddressRules } from '../../server/subjects/webhooks/addresses.ts';
import { listen, OK, replying } from './endpoint.ts';
import { countConnections, openTestSender, outcomeOf, sendTo } from './sender.ts';
import { INTERNAL, LEADS_HERE, SPECIAL, THIS_MACHINE, TRICKS } from './spellings.ts';

const FORBIDDEN = [...THIS_MACHINE, ...LEADS_HERE, ...INTERNAL, ...SPECIAL];
const MODES = ['sandbox', 'live'] as const;

describe.each(FORBIDDEN)('the host %s', (host) => {
  test('is refused without a connection', async () => {
    const endpoint = await listen(replying(OK), null);
    const connections = countConnections();
    for (const mode of MODES) {
      for (const scheme of ['http', 'https']) {
        const answer = await sendTo(openTestSender({ mode }), `${scheme}://${host}:${endpoint.port}/`);
        expect(answer).toMatchObject({ error: 'url_refused', message: expect.stringMatching(/^The URL .*\.$/) });
      }
    }
    expect([connections(), endpoint.connections()]).toEqual([0, 0]);
  });

  test('is refused even if its URL is not checked', async () => {
    const endpoint = await listen(replying(OK), null);
    const connections = countConnections();
    for (const mode of MODES) {
      const { isAllowed } = openAddressRules({ mode, allowedNetworks: [] });
      const sender = openTestSender({ rules: { isAllowed, findUrlProblem: () => undefined } });
      expect(outcomeOf(await sendTo(sender, `http://${host}:${endpoint.port}/`))).toBe('address_refused');
    }
    expect([connections(), endpoint.connections()]).toEqual([0, 0]);
  });
});

describe.each(THIS_MACHINE)('the host %s', (host) => {
  test("is reached if this machine's addresses are allowed", async () => {
    const endpoint = await listen(replying(OK), null);
    const connections = countConnections();
    const sender = openTestSender({ allowedNetworks: ['127.0.0.1', '::1'] });
    expect(outcomeOf(await sendTo(sender, `http://${host}:${endpoint.port}/`))).toBe(200);
    expect([connections(), endpoint.connections()]).toEqual([1, 1]);
  });
});

describe.each([...LEADS_HERE, ...INTERNAL, ...SPECIAL])('the host %s', (host) => {
  test("is refused even if this machine's addresses are allowed", async () => {
    const endpoint = await listen(replying(OK), null);
    const connections = countConnections();
    const sender = openTestSender({ allowedNetworks: ['127.0.0.1', '::1'] });
    expect(outcomeOf(await sendTo(sender, `http://${host}:${endpoint.port}/`))).toBe('url_refused');
    expect([connections(), endpoint.connections()]).toEqual([0, 0]);
  });
});

test.each(TRICKS.map((trick) => [trick(80), trick] as const))('refuses the URL %j', async (_, trick) => {
  const endpoint = await listen(replying(OK), null);
  const connections = countConnections();
  const rules = openAddressRules({ mode: 'sandbox', allowedNetworks: ['127.0.0.1', '::1'] });
  const url = trick(endpoint.port);
  expect(rules.findUrlProblem(url)).toMatch(/^The URL .*\.$/);
  expect(outcomeOf(await sendTo(openTestSender({ rules }), url))).toBe('url_refused');
  expect([connections(), endpoint.connections()]).toEqual([0, 0]);
});

test('closes a connection to the wrong address before it writes anything', async () => {
  const endpoint = await listen(replying(OK));
  const { isAllowed } = openAddressRules({ mode: 'sandbox', allowedNetworks: [] });
  // The operating system sends connections for 0.0.0.0 to 127.0.0.1. The real rules would refuse 0.0.0.0 before a connection is opened.
  const rules = {
    isAllowed: (address: string, to: Parameters<typeof isAllowed>[1]) =>
      address === '0.0.0.0' || isAllowed(address, to),
    findUrlProblem: () => undefined,
  };
  for (const scheme of ['http', 'https']) {
    const answer = await sendTo(openTestSender({ rules }), `${scheme}://0.0.0.0:${endpoint.port}/`);
    expect(answer).toMatchObject({ error: 'address_refused', address: '127.0.0.1' });
  }
  await expect.poll(endpoint.open).toBe(0);
  expect(endpoint.connections()).toBe(2);
  expect(endpoint.received()).toBe('');
});
