import { RUNBOOK } from '../../foundation/runbook.ts';

/** A guide, served at /guides/<slug>. */
export type Guide = {
  readonly slug: string;
  /** The guide's name in the navigation. Its title is the first line of the file. */
  readonly name: string;
  /** A sentence for the list of guides: the question that the guide answers. */
  readonly about: string;
  /** The path of its Markdown file, from the root of the project. */
  readonly file: string;
};

export type GuideGroup = { readonly name: string; readonly guides: readonly Guide[] };

/** The guides, in the order of a newcomer's questions. Each guide in "More" is about a single subject. */
export const GUIDE_GROUPS: readonly GuideGroup[] = [
  {
    name: 'Start',
    guides: [
      guide('quickstart', 'Quickstart', 'From nothing to a transfer, a handled error and a webhook in ten minutes.'),
      guide(
        'concepts',
        'Concepts',
        'Programs, funding, cards, holds, keys: the terms that every guide uses, with a picture.',
      ),
    ],
  },
  {
    name: 'Build',
    guides: [
      guide(
        'errors-and-retries',
        'Errors and retries',
        'Correct, repeat, look up or call support: what to do with each failure.',
      ),
      guide('idempotency', 'Idempotency', 'Move money once, even after a crash: which key to send, and what it does.'),
      guide('sandbox', 'Sandbox', 'Provoke every error, move the clock, stop the database, start again.'),
      guide('sdk', 'SDK', 'Call the service from JavaScript and TypeScript.'),
      guide('webhooks', 'Webhooks', 'Receive events at your own URL: verify, retry, replay.'),
      guide('processors', 'Connect a processor', 'Write and check the adapter that moves money at a processor.'),
    ],
  },
  {
    name: 'Run',
    guides: [
      guide('go-live', 'Go live', 'From the sandbox to live mode behind TLS in thirty minutes, step by step.'),
      guide('deploy', 'Deploy', 'Run it with npm, systemd or a container, behind Caddy or nginx.'),
      guide(
        'three-machines',
        'Three machines',
        'Lose a machine without losing an acknowledged transfer: Patroni with two standbys.',
      ),
      guide('managed-postgresql', 'Managed PostgreSQL', 'Choose, configure and check a managed database.'),
      guide(
        'when-one-machine-is-not-enough',
        'When one machine is not enough',
        'Distribute a ledger over a Citus cluster, move it while it runs, and go back.',
      ),
      guide('upgrades', 'Upgrade', 'Install a new version without losing a request, and go back.'),
      guide(
        'runbook',
        'Runbook',
        'What to do about each start-up message, each state and each alert.',
        'docs/runbook/README.md',
      ),
      guide(
        'cases',
        'Cases and incidents',
        'Contact support about a request, and resolve many cases at once with an incident.',
      ),
      guide(
        'support-playbook',
        'Support playbook',
        'From an error code and a request id to the cause, within a minute.',
      ),
    ],
  },
  {
    name: 'Look up',
    guides: [
      guide('glossary', 'Glossary', 'Every term in one or two sentences.'),
      guide(
        'versioning',
        'Versions and changes',
        'What may change without notice, what never does, and how long old versions work.',
      ),
      guide('changelog', 'Changelog', 'What each version adds and changes.', 'CHANGELOG.md'),
      guide('specification', 'Specification', 'How the specification of the errors is met, and what it leaves open.'),
    ],
  },
  {
    name: 'More',
    guides: [
      guide('console', 'Console', 'Inspect and operate the service in a browser.'),
      guide('command-line', 'Command line', 'Use the API from a terminal, and find out what is wrong.'),
      guide('agents', 'AI agents', 'Let an AI agent look things up over the Model Context Protocol, safely.'),
      guide('transfers', 'Transfers', 'Move money at once, hold it first, schedule it, reverse it.'),
      guide('cards', 'Cards', 'Register a card, change its status, close it, read its statement.'),
      guide('limits', 'Limits', 'Set how much a card and a program may receive and send.'),
      guide('events', 'Events', 'Read what happened: as a list, by waiting, or as a stream.'),
      guide('react-to-events', 'React to events', 'Choose between a stream and webhooks, and write the program.'),
      guide('events-to-a-warehouse', 'Events to a warehouse', 'Pass events on to Kafka, SQS or a warehouse.'),
      guide('exports', 'Exports', 'Read many transfers, and tell whether an export is complete.'),
      guide('keys', 'API keys', 'Create, limit, roll and revoke the keys of callers.'),
      guide('audit', 'Audit log', 'See what operators changed, and verify that nothing is missing.'),
      guide('error-log', 'Error log', 'Find the cause of an error from its request id.'),
      guide('search', 'Search', 'Find an id, a reference, an amount or a card in all programs.'),
      guide('sessions', 'Sessions', 'How a browser stays signed in without keeping a key.'),
      guide(
        'single-sign-on',
        'Single sign-on',
        'Let people sign in with Keycloak, Entra ID, Okta, Google or another provider.',
      ),
      guide('reconcile-a-day', 'Reconcile a day', 'Check that a day adds up, explain what moved, and close it.'),
      guide('settlement', 'Settlement files', 'Compare the files of a processor with the ledger.'),
      guide(
        'move-in',
        'Move a program in',
        'Bring cards, balances and open holds from another ledger, and undo it if needed.',
      ),
      guide('approvals', 'Approvals', 'Let a second person approve large withdrawals, new keys and more.'),
      guide('logs', 'Logs and traces', 'Read and collect the log, and follow a request with traces.'),
      guide('monitoring', 'Monitoring', 'Metrics, alerts, objectives and the dashboard.'),
      guide('health', 'Health and status', 'Check whether the service is live and ready, and which problems it has.'),
      guide('retention', 'Retention and erasure', 'What is stored for how long, and how a person is erased.'),
      guide('backups', 'Backups', 'Back up a ledger, and restore any second of it.'),
      guide('configuration', 'Configuration', 'All settings, with their defaults.'),
      guide('storage', 'Storage', 'How the ledger is stored in PostgreSQL, and who may do what there.'),
      guide('webhooks-runbook', 'Webhooks that fail', 'What to do when webhooks do not arrive.'),
    ],
  },
];

export const GUIDES: readonly Guide[] = GUIDE_GROUPS.flatMap(({ guides }) => guides);

/** The pages of the runbook, served at /guides/runbook/<page>. */
export const RUNBOOK_GUIDES: readonly Guide[] = Object.entries(RUNBOOK).map(([page, title]) =>
  guide(`runbook/${page}`, title, title),
);

function guide(slug: string, name: string, about: string, file = `docs/${slug}.md`): Guide {
  return { slug, name, about, file };
}
