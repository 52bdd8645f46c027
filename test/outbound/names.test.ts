import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { listen, OK, perRequest, replying } from './endpoint.ts';
import { startNameServer, type Zone } from './name-server.ts';
import { countConnections, openTestSender, outcomeOf, sendTo, type TestSenderOptions } from './sender.ts';

const CLOSE = 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n';

/** Opens a sender with its own name server. It may connect to no address of this machine except 127.0.0.1. */
async function openSenderWithNames(zone: Zone, options: TestSenderOptions = {}, dropped?: 'A' | 'AAAA') {
  const { nameServers, lookUps } = await startNameServer(zone, dropped);
  const limits = { nameServers, ...options.limits };
  return { sender: openTestSender({ allowedNetworks: ['127.0.0.1'], ...options, limits }), lookUps };
}

/** A zone that resolves a name to the address in that name, as some public services do. */
function zoneOfNumbers(name: string): readonly string[] {
  const [label = ''] = name.split('.');
  return [
    label.includes('--') || label.split('-').length > 4 ? label.replaceAll('-', ':') : label.replaceAll('-', '.'),
  ];
}

test.each([
  '127-0-0-2',
  '10-0-0-1',
  '172-16-0-1',
  '192-168-0-1',
  '100-64-0-1',
  '169-254-169-254',
  '100-100-100-200',
  '168-63-129-16',
  '0-0-0-0',
  '198-51-100-7',
  '224-0-0-1',
  '255-255-255-255',
  '0--1',
  '0--0',
  '0--ffff-7f00-1',
  '0--ffff-a9fe-a9fe',
  '0--7f00-1',
  '64-ff9b--7f00-1',
  '64-ff9b-1--7f00-1',
  '2002-7f00-1--0',
  '2001-0-7f00-1--0',
  'fe80--1',
  'fd00-ec2--254',
  'fc00--1',
  '5f00--1',
  'ff02--1',
])('refuses a name with the address %s without opening a connection', async (label) => {
  const endpoint = await listen(replying(OK), null);
  const { sender, lookUps } = await openSenderWithNames(zoneOfNumbers);
  const connections = countConnections();
  const answer = await sendTo(sender, `http://${label}.numbers.test:${endpoint.port}/`);
  expect(answer).toMatchObject({ error: 'address_refused', address: null });
  // Users who create webhooks must not learn the addresses of internal names.
  expect(JSON.stringify(answer)).not.toContain(zoneOfNumbers(label)[0]);
  expect(lookUps(`${label}.numbers.test`)).toBe(1);
  expect([connections(), endpoint.connections()]).toEqual([0, 0]);
});

test('connects to a name with an allowed address', async () => {
  const endpoint = await listen(replying(OK));
  const { sender } = await openSenderWithNames(zoneOfNumbers);
  const answer = await sendTo(sender, `http://127-0-0-1.numbers.test:${endpoint.port}/`);
  expect(answer).toMatchObject({ status: 200, address: '127.0.0.1' });
});

test.each([
  [['127.0.0.1', '10.0.0.1']],
  [['10.0.0.1', '127.0.0.1']],
  [['127.0.0.1', '127.0.0.1', '127.0.0.1', '127.0.0.2']],
  [['127.0.0.1', '::1']],
  [['127.0.0.1', '::ffff:127.0.0.1']],
  [['127.0.0.1', 'fd00:ec2::254']],
])('refuses a name with the addresses %j because one of them is forbidden', async (addresses) => {
  const endpoint = await listen(replying(OK), null);
  const { sender } = await openSenderWithNames(() => addresses);
  const connections = countConnections();
  expect(outcomeOf(await sendTo(sender, `http://mixed.test:${endpoint.port}/`))).toBe('address_refused');
  expect([connections(), endpoint.connections()]).toEqual([0, 0]);
});

test('looks up a name once per connection, and ignores later answers for it', async () => {
  const endpoint = await listen(
    perRequest((socket) => socket.end(CLOSE)),
    null,
  );
  const { sender, lookUps } = await openSenderWithNames((_, lookUp) =>
    lookUp % 2 === 1 ? ['127.0.0.1'] : ['127.0.0.2'],
  );
  const connections = countConnections();
  const outcomes: unknown[] = [];
  for (let time = 0; time < 6; time += 1) {
    const answer = await sendTo(sender, `http://rebinding.test:${endpoint.port}/`);
    outcomes.push(outcomeOf(answer), answer.address);
  }
  expect(outcomes).toEqual(Array.from({ length: 3 }, () => [200, '127.0.0.1', 'address_refused', null]).flat());
  expect(lookUps('rebinding.test')).toBe(6);
  expect([connections(), endpoint.connections()]).toEqual([3, 3]);
});

test('keeps the address of an open connection, and checks the address of the next connection again', async () => {
  const endpoint = await listen(
    perRequest((socket, count) => (count < 3 ? socket.write(OK) : socket.end(CLOSE))),
    null,
  );
  const { sender, lookUps } = await openSenderWithNames((_, lookUp) => (lookUp === 1 ? ['127.0.0.1'] : ['127.0.0.2']));
  const outcomes: unknown[] = [];
  for (let time = 0; time < 4; time += 1) {
    outcomes.push(outcomeOf(await sendTo(sender, `http://rebinding.test:${endpoint.port}/`)));
  }
  expect(outcomes).toEqual([200, 200, 200, 'address_refused']);
  expect([lookUps('rebinding.test'), endpoint.connections()]).toEqual([2, 1]);
});

test('refuses a public name with an internal address at every port in live mode', async () => {
  const { sender } = await openSenderWithNames(() => ['10.1.2.3'], { mode: 'live', allowedNetworks: [] });
  const connections = countConnections();
  expect(outcomeOf(await sendTo(sender, 'https://receiver.test/'))).toBe('address_refused');
  expect(outcomeOf(await sendTo(sender, 'https://receiver.test:8443/'))).toBe('address_refused');
  expect(outcomeOf(await sendTo(sender, 'https://receiver.test:444/'))).toBe('url_refused');
  expect(outcomeOf(await sendTo(sender, 'http://receiver.test/'))).toBe('url_refused');
  expect(connections()).toBe(0);
});

test('in live mode, allows other ports and HTTP only if the operator allows all addresses of the name', async () => {
  const endpoint = await listen(replying(OK));
  const zone: Zone = (name) => (name === 'inside.test' ? ['127.0.0.1'] : ['8.8.8.8']);
  const { sender } = await openSenderWithNames(zone, { mode: 'live' });
  const connections = countConnections();
  expect(outcomeOf(await sendTo(sender, `http://inside.test:${endpoint.port}/`))).toBe(200);
  expect(outcomeOf(await sendTo(sender, `http://outside.test:${endpoint.port}/`))).toBe('address_refused');
  expect(outcomeOf(await sendTo(sender, 'http://outside.test/'))).toBe('address_refused');
  expect(connections()).toBe(1);
});

test('reads the hosts file first, and also checks its addresses', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'transfer-service-hosts-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const hostsFile = join(directory, 'hosts');
  writeFileSync(
    hostsFile,
    '# a comment\n127.0.0.1\tgood.test Other.test # good.test\n\n10.0.0.1 bad.test\nx bad.test\n',
  );
  const endpoint = await listen(replying(OK));
  const { sender, lookUps } = await openSenderWithNames(() => ['10.0.0.2'], { limits: { hostsFile } });
  const connections = countConnections();
  for (const name of ['good.test', 'other.test', 'OTHER.test.']) {
    expect(outcomeOf(await sendTo(sender, `http://${name}:${endpoint.port}/`))).toBe(200);
  }
  expect(outcomeOf(await sendTo(sender, `http://bad.test:${endpoint.port}/`))).toBe('address_refused');
  expect(outcomeOf(await sendTo(sender, `http://third.test:${endpoint.port}/`))).toBe('address_refused');
  expect(lookUps('good.test') + lookUps('bad.test')).toBe(0);
  expect(connections()).toBe(2);
});

test('reports a name that does not exist or has no address', async () => {
  const { sender } = await openSenderWithNames((name) => (name === 'empty.test' ? [] : undefined));
  const answer = await sendTo(sender, 'http://missing.test/');
  expect(answer).toMatchObject({ error: 'name_not_found', address: null });
  expect(answer).toMatchObject({ message: 'The name of the host could not be resolved: ENOTFOUND.' });
  expect(outcomeOf(await sendTo(sender, 'http://empty.test/'))).toBe('name_not_found');
});

test('uses newly read name servers, but still waits for answers from the previous ones', async () => {
  const endpoint = await listen(replying(OK));
  const { sender, lookUps } = await openSenderWithNames((name) => (name === 'slow.test' ? 'silent' : ['127.0.0.1']), {
    limits: { maxResolverMilliseconds: 0 },
  });
  const stopping = new AbortController();
  const slow = sendTo(sender, 'http://slow.test/', stopping.signal);
  await expect.poll(() => lookUps('slow.test')).toBe(1);
  for (const name of ['a.test', 'b.test']) {
    expect(outcomeOf(await sendTo(sender, `http://${name}:${endpoint.port}/`))).toBe(200);
  }
  stopping.abort();
  expect(outcomeOf(await slow)).toBe('aborted');
});

test('waits only briefly for a name server that answers only one kind of address', async () => {
  const endpoint = await listen(replying(OK));
  const outcomes = async (dropped: 'A' | 'AAAA', ...addresses: readonly string[]): Promise<number | string> => {
    const limits = { connectTimeoutMilliseconds: 5_000, otherFamilyMilliseconds: 100 };
    const { sender } = await openSenderWithNames(() => addresses, { limits }, dropped);
    return outcomeOf(await sendTo(sender, `http://half.test:${endpoint.port}/`));
  };
  // The resolver retries for seven seconds. If the machine needs five of them for other work, the test tries again.
  await expect.poll(() => outcomes('AAAA', '127.0.0.1', '::1')).toBe(200);
  const connections = countConnections();
  await expect.poll(() => outcomes('AAAA', '127.0.0.1', '10.0.0.1')).toBe('address_refused');
  await expect.poll(() => outcomes('A', '127.0.0.1', 'fd00:ec2::254')).toBe('address_refused');
  expect(connections()).toBe(0);
});

test('does not let names with silent servers delay other names, and times them out', async () => {
  const endpoint = await listen(replying(OK));
  const zone: Zone = (name) => (name === 'fast.test' ? ['127.0.0.1'] : 'silent');
  // A resolver gives up after a few seconds. If the machine needs longer for ten requests, the test tries again.
  await expect
    .poll(async () => {
      const { sender } = await openSenderWithNames(zone);
      let waiting = 0;
      const slow = Array.from({ length: 100 }, async (_, index) => {
        waiting += 1;
        await sendTo(sender, `http://slow-${index}.test/`);
        waiting -= 1;
      });
      for (let time = 0; time < 10; time += 1) {
        expect(outcomeOf(await sendTo(sender, `http://fast.test:${endpoint.port}/`))).toBe(200);
      }
      const waited = waiting;
      sender.close();
      await Promise.all(slow);
      return waited;
    })
    .toBe(100);
  const { sender: hasty } = await openSenderWithNames(zone, { limits: { connectTimeoutMilliseconds: 50 } });
  expect(await sendTo(hasty, 'http://slow.test/')).toMatchObject({
    error: 'connect_timeout',
    message: 'No connection was established within 0.05 seconds.',
  });
});
