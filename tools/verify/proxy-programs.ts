// Starts Caddy and nginx with the recipes of ops/proxies/ on free ports of loopback, with a test certificate.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { root } from '../command.ts';

export const HOST_NAME = 'transfers.example.com';

export type RunningProxy = {
  readonly tlsPort: number;
  readonly clearPort: number;
  readonly stop: () => Promise<void>;
};

/** The proxies with a recipe. `package` is the Debian package. */
export const PROXIES = {
  caddy: { recipe: 'ops/proxies/Caddyfile', versionWords: ['version'], package: 'caddy', start: startCaddy },
  nginx: { recipe: 'ops/proxies/nginx.conf', versionWords: ['-v'], package: 'nginx-light', start: startNginx },
} as const;

/** The version of a program. Undefined if it cannot be run. */
export function versionOf(program: keyof typeof PROXIES): string | undefined {
  const { status, stdout, stderr } = spawnSync(program, PROXIES[program].versionWords, { encoding: 'utf8' });
  return status === 0 ? /[0-9]+(?:\.[0-9]+)+/.exec(`${stdout}${stderr}`)?.[0] : undefined;
}

/** A self-signed certificate for the name in the recipes. */
export function makeCertificate(directory: string): { readonly certificate: string; readonly key: string } {
  const [certificate, key] = [join(directory, 'fullchain.pem'), join(directory, 'privkey.pem')];
  const words = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', `/CN=${HOST_NAME}`];
  const files = ['-addext', `subjectAltName=DNS:${HOST_NAME}`, '-keyout', key, '-out', certificate];
  execFileSync('openssl', [...words, ...files], { stdio: 'pipe' });
  return { certificate, key };
}

async function startCaddy(directory: string, servicePort: number): Promise<RunningProxy> {
  const { certificate, key } = makeCertificate(directory);
  const [tlsPort, clearPort] = [await findFreePort(), await findFreePort()];
  const recipe = recipeWith(PROXIES.caddy.recipe, [
    [/^\t# tls .*$/m, `\ttls ${certificate} ${key}`],
    [/127\.0\.0\.1:8080/, `127.0.0.1:${servicePort}`],
  ]);
  const options = ['admin off', 'default_bind 127.0.0.1', `http_port ${clearPort}`, `https_port ${tlsPort}`];
  const file = join(directory, 'Caddyfile');
  await writeFile(file, `{\n${options.join('\n')}\n}\n${recipe}`);
  const env = { ...process.env, HOME: directory, XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory };
  const child = spawn('caddy', ['run', '--adapter', 'caddyfile', '--config', file], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  return running(child, tlsPort, clearPort);
}

async function startNginx(directory: string, servicePort: number): Promise<RunningProxy> {
  const { certificate, key } = makeCertificate(directory);
  const [tlsPort, clearPort] = [await findFreePort(), await findFreePort()];
  const recipe = recipeWith(PROXIES.nginx.recipe, [
    [/listen 443 /, `listen 127.0.0.1:${tlsPort} `],
    [/listen 80;/, `listen 127.0.0.1:${clearPort};`],
    [/server 127\.0\.0\.1:8080;/, `server 127.0.0.1:${servicePort};`],
    [/ssl_certificate +\S+;/, `ssl_certificate ${certificate};`],
    [/ssl_certificate_key +\S+;/, `ssl_certificate_key ${key};`],
  ]);
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(directory, name)};`,
  );
  const file = join(directory, 'nginx.conf');
  const user = process.getuid?.() === 0 ? 'user root;\n' : '';
  await writeFile(
    file,
    `${user}daemon off;\nworker_processes 1;\npid ${join(directory, 'pid')};\nerror_log stderr warn;\nevents {}\n` +
      `http {\naccess_log off;\n${paths.join('\n')}\n${recipe}}\n`,
  );
  const words = ['-p', directory, '-c', file, '-e', 'stderr'];
  return running(spawn('nginx', words, { stdio: ['ignore', 'ignore', 'pipe'] }), tlsPort, clearPort);
}

/** A recipe with the values of this machine, otherwise unchanged. */
function recipeWith(path: string, values: readonly (readonly [RegExp, string])[]): string {
  return values.reduce(
    (text, [pattern, value]) => {
      if (!pattern.test(text)) throw new Error(`${path} has nothing like ${pattern}`);
      return text.replace(pattern, value);
    },
    readFileSync(join(root, path), 'utf8'),
  );
}

async function running(child: ChildProcess, tlsPort: number, clearPort: number): Promise<RunningProxy> {
  let output = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const ended = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
  };
  while (!(await accepts(tlsPort))) {
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} does not start:\n${output}`);
    await new Promise((wake) => setTimeout(wake, 50));
  }
  return { tlsPort, clearPort, stop };
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** These programs cannot report which port they got for port 0. */
async function findFreePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  await new Promise((closed) => server.close(closed));
  if (address === null || typeof address !== 'object') throw new Error('no address');
  return address.port;
}
