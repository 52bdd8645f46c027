// Tests the recipes of ops/proxies/ in front of a service in live mode, with a test certificate, on loopback. Part of
// `npm run verify`.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { reportMissing } from '../command.ts';
import { CHECKS, type LiveService, REQUESTS_PER_SECOND } from './proxy-checks.ts';
import { connectOverHttp2, startRelay } from './proxy-clients.ts';
import { PROXIES, versionOf } from './proxy-programs.ts';

// Invariant: Error records, sessions, streams and addresses are the same behind Caddy and nginx, with the files
//   of `ops/proxies/`, as without a proxy
// Kept by: `ops/proxies/`
// Tested by: `tools/verify/proxies.ts` in `npm run verify`

const ends: (() => Promise<unknown>)[] = [];
try {
  await verifyProxies();
} finally {
  for (const end of ends.reverse()) await end();
}

async function verifyProxies(): Promise<void> {
  for (const name of Object.keys(PROXIES) as (keyof typeof PROXIES)[]) {
    const version = versionOf(name);
    if (version === undefined) {
      const { recipe, package: found } = PROXIES[name];
      reportMissing(
        `${name} cannot be run, so ${recipe} was not tried. Install it (on Debian: apt-get install ${found}).`,
      );
      continue;
    }
    await verifyProxy(name, version);
  }
}

async function verifyProxy(name: keyof typeof PROXIES, version: string): Promise<void> {
  const { temporaryDirectory } = await import('../../test/harness/process.ts');
  const directory = await temporaryDirectory();
  ends.push(directory.remove);
  const service = await startLive(join(directory.path, 'data'));
  const relay = await startRelay(service.port);
  ends.push(relay.stop);
  await mkdir(join(directory.path, name));
  const proxy = await PROXIES[name].start(join(directory.path, name), relay.port);
  ends.push(proxy.stop);
  const http2 = await connectOverHttp2(proxy.tlsPort);
  ends.push(async () => http2.close());
  const checks = Object.entries(CHECKS);
  let passed = 0;
  for (const [what, check] of checks) {
    try {
      const measured = await check({ proxy, relay, service, http2 });
      passed += 1;
      console.log(`ok      ${name}: ${what}${typeof measured === 'string' ? ` (${measured})` : ''}`);
    } catch (error) {
      console.error(`FAILED  ${name}: ${what}: ${error instanceof Error ? error.message : error}`);
      process.exitCode = 1;
    }
  }
  console.log(`${passed} of ${checks.length} checks of ${PROXIES[name].recipe} passed with ${name} ${version}.`);
}

/** A service in live mode behind one trusted proxy, with a card program, funding, a card and keys. */
async function startLive(dataDirectory: string): Promise<LiveService> {
  const { runCommand, startService } = await import('../../test/harness/process.ts');
  const { programKey, withSecret } = await import('../../test/harness/keys.ts');
  const { TransferService } = await import('../../sdk/client.ts');
  const settings = {
    MODE: 'live',
    DATA_DIR: dataDirectory,
    SUPPORT_CONTACT: 'help@example.com',
    TRUSTED_PROXIES: '1',
    RATE_LIMIT_PER_ADDRESS: String(REQUESTS_PER_SECOND),
  };
  const run = async (...words: readonly string[]): Promise<string> => {
    const { exitCode, output, errors } = await runCommand(words, settings);
    if (exitCode !== 0) throw new Error(errors);
    return output.trim();
  };
  await run('migrate');
  const operatorKey = await run('operator-key', 'create', '--name', 'verification');
  const started = await startService(settings);
  ends.push(started.stop);
  const operator = new TransferService({ baseUrl: started.url, key: operatorKey });
  const { program_id } = await operator.programs.create({ name: 'verification', currency: 'USD' });
  await operator.deposits.create(program_id, { amount: 1_000_000 });
  const { key } = await withSecret(operator.keys.create(programKey('verification', program_id)));
  await new TransferService({ baseUrl: started.url, key }).cards.create({ card_id: 'card_1' });
  return { port: Number(new URL(started.url).port), operatorKey, programKey: key };
}
