// Invariant: Every command of every guide works as it is shown, or says in a table why no test runs it
// Tested by: `test/guides`

/** Why a command of a guide is not run, and what checks it instead. */
export type Exemption = {
  readonly guide: string;
  /** The command as the guide shows it, or the first line of a listing for a shell. */
  readonly command: string;
  readonly reason: string;
  readonly checkedBy: string;
};

const CLONE = 'It needs a clone; the guides are followed with the packages.';
const DISK = 'It needs a second disk, another machine or a service that goes on running.';
const ROOT = 'It needs root, systemd and a PostgreSQL of the machine.';

/** The commands that no test runs. `coverage.test.ts` refuses any other, and any that is not in a guide. */
export const EXEMPTIONS: readonly Exemption[] = [
  { guide: 'quickstart', command: 'npm start', reason: CLONE, checkedBy: 'test/start/start.test.ts' },
  {
    guide: 'logs',
    command: 'npx transfer-service errors inspect req_0192…',
    reason: 'The listing shows two ways to find one request, the first of which needs journald.',
    checkedBy: 'test/guides/more/error-log.test.ts',
  },
  {
    guide: 'monitoring',
    command: 'METRICS_PORT=9464 npx transfer-service start     # or npm start',
    reason: 'It would be a second service beside that of the test.',
    checkedBy: 'test/metrics/metrics.test.ts',
  },
  {
    guide: 'monitoring',
    command: 'curl -s http://127.0.0.1:9464/metrics',
    reason: 'It needs the service of the line before.',
    checkedBy: 'test/metrics/metrics.test.ts',
  },
  {
    guide: 'configuration',
    command: '# Receivers in two data centers, and one beside the service',
    reason: CLONE,
    checkedBy: 'test/outbound/networks.test.ts',
  },
  {
    guide: 'backups',
    command: 'install -d -m 711 /mnt/backup/ledger',
    reason: DISK,
    checkedBy: 'test/embedded/backups.test.ts',
  },
  {
    guide: 'backups',
    command: 'npx transfer-service backup list    # the copies, and from when to when every second can be restored',
    reason: DISK,
    checkedBy: 'test/embedded/backups.test.ts',
  },
  {
    guide: 'backups',
    command: '# every minute, by cron or a systemd timer; first the WAL, because a copy needs it',
    reason: DISK,
    checkedBy: 'review',
  },
  {
    guide: 'backups',
    command: 'DATA_DIR=./drill npx transfer-service restore --to latest --from /mnt/backup/ledger',
    reason: DISK,
    checkedBy: 'test/guides/run/go-live.test.ts, in another directory',
  },
  { guide: 'backups', command: 'apt-get install pgbackrest', reason: ROOT, checkedBy: 'tools/verify-pgbackrest.ts' },
  {
    guide: 'backups',
    command: 'systemctl stop postgresql@15-main',
    reason: ROOT,
    checkedBy: 'tools/verify-pgbackrest.ts',
  },
  {
    guide: 'backups',
    command: 'npx transfer-service verify-books',
    reason: ROOT,
    checkedBy: 'tools/verify-pgbackrest.ts',
  },
  ...exempt('go-live', 'It needs root and systemd.', 'tools/verify/proxies.ts, which starts Caddy with that file', [
    'sudo apt-get install caddy',
    'sudo cp node_modules/transfer-service/dist/ops/proxies/Caddyfile /etc/caddy/Caddyfile',
    'sudo systemctl reload caddy',
  ]),
  ...exempt('go-live', 'It needs root and systemd.', 'tools/verify/proxies.ts, which starts nginx with that file', [
    'sudo apt-get install nginx',
    'sudo cp node_modules/transfer-service/dist/ops/proxies/nginx.conf /etc/nginx/conf.d/transfer-service.conf',
    'sudo nginx -t',
    'sudo systemctl reload nginx',
  ]),
  ...exempt('go-live', 'It needs a second machine and a certificate.', 'tools/verify/proxies.ts, on loopback', [
    'curl https://transfers.example.com/health/ready',
    'curl http://transfers.example.com:8080/health/ready',
  ]),
  ...exempt('go-live', 'It needs a receiver on the internet.', 'test/guides/build/webhooks.test.ts, on this machine', [
    'npx transfer-service webhooks test wh_…',
  ]),
  ...exempt('deploy', 'It needs root and systemd.', 'tools/verify/deployment.ts, as far as it goes without systemd', [
    'npm install --prefix /opt/transfer-service ./transfer-service-0.1.0.tgz',
    'cd /opt/transfer-service/node_modules/transfer-service/dist/ops/systemd',
    'cp transfer-service.service /etc/systemd/system/',
    'install -m 755 transfer-service-command /usr/local/sbin/',
    'install -d -m 755 /etc/transfer-service',
    'systemctl daemon-reload',
    'transfer-service-command migrate',
    'transfer-service-command operator-key create --name "first operator"',
    'systemctl enable --now transfer-service',
    'journalctl -u transfer-service',
  ]),
  ...exempt(
    'deploy',
    'It needs a container engine.',
    'tools/verify/deployment.ts, which builds the image with Buildah',
    [
      'podman build --format docker -t transfer-service -f ops/container/Containerfile .',
      'podman run --rm --read-only --cap-drop=all --network=host -e HOST=127.0.0.1 -v sandbox:/data transfer-service',
      'docker compose build',
      'docker compose run --rm migrate',
      'docker compose run --rm migrate operator-key create --name "first operator"',
      'docker compose up --detach',
    ],
  ),
];

function exempt(guide: string, reason: string, checkedBy: string, commands: readonly string[]): readonly Exemption[] {
  return commands.map((command) => ({ guide, command, reason, checkedBy }));
}

/** The exemption of a command, if there is one. */
export function exemptionOf(guide: string, command: string): Exemption | undefined {
  const [first = ''] = command.split('\n');
  return EXEMPTIONS.find((one) => one.guide === guide && (one.command === command || one.command === first));
}
