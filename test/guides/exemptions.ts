// Invariant: Every command of every guide works as shown, or a table says why no test runs it
// Tested by: `test/guides`

/** Why no test runs a command in a guide, and what checks the command instead. */
export type Exemption = {
  readonly guide: string;
  /** The command as the guide shows it, or the first line of a shell listing. */
  readonly command: string;
  readonly reason: string;
  readonly checkedBy: string;
};

const CLONE = 'It needs a clone. The guides are tested with the packages.';
const DISK = 'It needs a second disk, another machine or a service that keeps running.';
const PERSON = 'It needs a person who has signed in.';
const ROOT = 'It needs root, systemd and PostgreSQL on the machine.';

/**
 * The commands that no test runs. `coverage.test.ts` requires an exemption for each of them, and refuses exemptions for
 * commands that are in no guide.
 */
export const EXEMPTIONS: readonly Exemption[] = [
  { guide: 'quickstart', command: 'npm start', reason: CLONE, checkedBy: 'test/start/start.test.ts' },
  {
    guide: 'logs',
    command: 'npx transfer-service errors inspect req_0192…',
    reason: 'The listing shows two ways to find one request, and the first needs journald.',
    checkedBy: 'test/guides/more/error-log.test.ts',
  },
  {
    guide: 'sessions',
    command: 'npx transfer-service people list              # who has signed in, with which roles, and when',
    reason: PERSON,
    checkedBy: 'test/security/people.test.ts',
  },
  {
    guide: 'sessions',
    command: "npx transfer-service people block per_…       # ends the person's sessions, and refuses the next sign-in",
    reason: PERSON,
    checkedBy: 'test/security/people.test.ts',
  },
  {
    guide: 'sessions',
    command: 'npx transfer-service people erase per_…       # also erases name and email; the audit log keeps the id',
    reason: PERSON,
    checkedBy: 'test/security/people.test.ts',
  },
  {
    guide: 'monitoring',
    command: 'METRICS_PORT=9464 npx transfer-service start     # or npm start',
    reason: "It would start a second service next to the test's own.",
    checkedBy: 'test/metrics/metrics.test.ts',
  },
  {
    guide: 'monitoring',
    command: 'curl -s http://127.0.0.1:9464/metrics',
    reason: 'It needs the service from the line above.',
    checkedBy: 'test/metrics/metrics.test.ts',
  },
  {
    guide: 'configuration',
    command: '# Receivers in two data centers, and one next to the service',
    reason: CLONE,
    checkedBy: 'test/outbound/networks.test.ts',
  },
  {
    guide: 'single-sign-on',
    command: 'npx transfer-service doctor --claims claims.json',
    reason: 'It needs an OpenID provider.',
    checkedBy: 'test/security/sign-in/doctor.test.ts',
  },
  {
    guide: 'backups',
    command: 'install -d -m 711 /mnt/backup/ledger',
    reason: DISK,
    checkedBy: 'test/embedded/backups.test.ts',
  },
  {
    guide: 'backups',
    command: 'npx transfer-service backup list    # the copies, and the periods in which any second can be restored',
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
    checkedBy: 'test/guides/run/go-live.test.ts, in a different directory',
  },
  { guide: 'backups', command: 'apt-get install pgbackrest', reason: ROOT, checkedBy: 'tools/verify/pgbackrest.ts' },
  {
    guide: 'backups',
    command: 'systemctl stop postgresql@15-main',
    reason: ROOT,
    checkedBy: 'tools/verify/pgbackrest.ts',
  },
  {
    guide: 'backups',
    command: 'npx transfer-service verify-books',
    reason: ROOT,
    checkedBy: 'tools/verify/pgbackrest.ts',
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
  ...exempt(
    'when-one-machine-is-not-enough',
    'It needs a Citus cluster.',
    'test/start/distribute.test.ts, on a cluster that tools/verify/citus.ts builds',
    [
      'npx transfer-service distribute',
      'npx transfer-service distribute --move worker2:5432',
      'npx transfer-service distribute --undo',
    ],
  ),
  ...exempt(
    'three-machines',
    'It needs three machines, root and systemd.',
    'tools/verify/database-guides.ts, on machines of network namespaces',
    [
      'install -d /etc/postgresql-common/createcluster.d',
      "echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.d/ledger.conf",
      'apt-get install postgresql-15 patroni etcd-server etcd-client',
      'systemctl stop etcd patroni',
      'install -D -m 644 etcd.service.conf /etc/systemd/system/etcd.service.d/ledger.conf',
      'install -D -m 644 patroni.service.conf /etc/systemd/system/patroni.service.d/ledger.conf',
      'install -D -m 644 config.yml /etc/patroni/config.yml',
      'systemctl daemon-reload',
      'umask 077',
      'echo PATRONI_RESTAPI_USERNAME=patroni > /etc/patroni_env.conf',
      "for name in SUPERUSER REPLICATION REWIND RESTAPI; do printf 'PATRONI_%s_PASSWORD=%s\\n' $name $(openssl rand -hex 24); done >> /etc/patroni_env.conf",
      'scp /etc/patroni_env.conf db2:/etc/',
      'scp /etc/patroni_env.conf db3:/etc/',
      'systemctl enable --now etcd',
      'etcdctl --endpoints=http://db1:2379,http://db2:2379,http://db3:2379 endpoint health',
      'systemctl enable --now patroni',
      'patronictl -c /etc/patroni/config.yml list',
      'runuser -u postgres -- psql -c "create role transfer_service login createrole password \'a-password-of-your-own\'"',
      'runuser -u postgres -- psql -c "create database transfer_service owner transfer_service"',
      'apt-get install haproxy',
      'install -m 644 haproxy.cfg /etc/haproxy/haproxy.cfg',
      'haproxy -c -f /etc/haproxy/haproxy.cfg',
      'systemctl restart haproxy',
      'set -a; . /etc/patroni_env.conf; set +a',
      'patronictl -c /etc/patroni/config.yml switchover --force',
      'npx transfer-service verify-books',
    ],
  ),
  ...exempt(
    'managed-postgresql',
    'It needs a database from a provider or a distribution.',
    'tools/verify/database-guides.ts, on a PostgreSQL 15 of Debian',
    [
      'npx transfer-service migrate',
      'npx transfer-service start',
      'npx transfer-service doctor',
      'npx transfer-service status',
      'psql "$DATABASE_URL" -c "select pg_is_in_recovery() as standby, current_setting(\'synchronous_standby_names\') as waits_for, current_setting(\'synchronous_commit\') as commit"',
      'psql "$DATABASE_URL" -c "select application_name, state, sync_state from pg_stat_replication"',
      'npx transfer-service verify-books',
    ],
  ),
];

function exempt(guide: string, reason: string, checkedBy: string, commands: readonly string[]): readonly Exemption[] {
  return commands.map((command) => ({ guide, command, reason, checkedBy }));
}

/** Returns the exemption of a command, if it has one. */
export function exemptionOf(guide: string, command: string): Exemption | undefined {
  const [first = ''] = command.split('\n');
  return EXEMPTIONS.find((one) => one.guide === guide && (one.command === command || one.command === first));
}
