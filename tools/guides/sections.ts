import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { STEPS } from '../../contract/errors/precedence.ts';
import { OPERATIONS } from '../../contract/operations.ts';
import { DEMO_CARDS } from '../../contract/sandbox/demo-cards.ts';
import { CARD_MOVES, CARD_RULES, CARD_STATUSES, EXPIRING_CARD_STATUSES } from '../../domain/cards/card.ts';
import type { Account } from '../../domain/ledger/ledger.ts';
import type { Limits } from '../../domain/ledger/limits.ts';
import { formatMoney, MAXIMUM_BALANCE } from '../../domain/ledger/money.ts';
import {
  isFinal,
  TRANSFER_MOVES,
  TRANSFER_STATUSES,
  TRANSFER_TYPES,
  type TransferTerms,
} from '../../domain/transfers/transfer.ts';
import { TRANSFER_CHECKS, type TransferCheck } from '../../domain/transfers/transfer-checks.ts';
import type { TransferView } from '../../domain/transfers/transfer-view.ts';
import { TRAITS } from '../../server/foundation/configuration/connectors.ts';
import { LISTED_SETTINGS } from '../../server/foundation/configuration/settings.ts';
import { LOG_EVENTS } from '../../server/observe/log/log-events.ts';
import { CAMPAIGNS, OTHER_CAMPAIGNS } from '../../verification/campaigns.ts';
import { ACCOUNTS, card, inDays, terms, view } from './transfer-examples.ts';
import { phaseRows } from './transfer-phases.ts';

/** The generated sections of the guides, by the name in their markers. */
export const SECTIONS: Readonly<Record<string, Readonly<Record<string, () => string>>>> = {
  'docs/transfers.md': { 'transfer statuses': transferStatuses, phases: phaseTable, checks: checkTable },
  'docs/cards.md': { 'card statuses': cardStatuses, 'rules of card statuses': cardRuleTable },
  'docs/sandbox.md': { 'demo cards': demoCardTable },
  'docs/configuration.md': {
    settings: settingTable,
    'settings of commands': commandSettings,
    'traits of connectors': traitTable,
  },
  'docs/errors-and-retries.md': { 'steps of a request': stepTable },
  'docs/logs.md': { 'log events': logEventTable },
  'docs/reliability.md': { campaigns: campaignTable, 'other campaigns': otherCampaignTable },
};

/**
 * Returns a guide with updated generated sections. Throws if a marker is missing. Each section is between
 * `<!-- generated: name -->` and `<!-- end of generated: name -->`.
 */
export function withSections(file: string, guide: string): string {
  return Object.entries(SECTIONS[file] ?? {}).reduce((text, [name, write]) => {
    const [begin, end] = [`<!-- generated: ${name} -->\n\n`, `\n\n<!-- end of generated: ${name} -->`];
    const [from, to] = [text.indexOf(begin), text.indexOf(end)];
    if (from === -1 || to < from) throw new Error(`${file} has no place for the generated section "${name}".`);
    return `${text.slice(0, from + begin.length)}${write()}${text.slice(to)}`;
  }, guide);
}

/** Draws a Mermaid diagram. A `null` status is the start. */
function diagram(moves: readonly (readonly [from: string | null, to: string, label: string])[]): string {
  const lines = moves.map(([from, to, label]) => `    ${from ?? '[*]'} --> ${to}${label === '' ? '' : `: ${label}`}`);
  return ['```mermaid', 'stateDiagram-v2', ...lines, '```'].join('\n');
}

function transferStatuses(): string {
  return diagram([
    ...TRANSFER_MOVES.map(({ from, command, to }) => [from, to, command] as const),
    ...TRANSFER_STATUSES.filter(isFinal).map((status) => [status, '[*]', ''] as const),
  ]);
}

function cardStatuses(): string {
  return diagram([
    ...CARD_STATUSES.flatMap((from) => CARD_MOVES[from].map((to) => [from, to, ''] as const)),
    ...EXPIRING_CARD_STATUSES.map((from) => [from, 'expired', 'expires_on has passed'] as const),
  ]);
}

function cardRuleTable(): string {
  const rows = CARD_STATUSES.map((status) => {
    const { meaning, moneyIn, moneyOut } = CARD_RULES[status];
    const sends = moneyOut && !moneyIn ? 'yes, to move the balance elsewhere' : moneyOut ? 'yes' : 'no';
    const next = CARD_MOVES[status].map((name) => `\`${name}\``).join(', ');
    return [`\`${status}\``, meaning, moneyIn ? 'yes' : 'no', sends, next || 'nothing'];
  });
  return table(['status', 'the card', 'receives money', 'sends money', 'can be changed to'], rows);
}

function demoCardTable(): string {
  const rows = DEMO_CARDS.map(({ name, currency, purpose, refuses }) => {
    if (refuses === undefined) return [`\`${name}\``, purpose, 'nothing'];
    const { amount, type = 'load', currency: sent = currency } = refuses.body;
    const refused = `${type === 'load' ? 'a load' : `an ${type}`} of ${formatMoney(BigInt(amount ?? 0), String(sent))}`;
    return [`\`${name}\``, purpose, `${refused}: \`${refuses.code}\``];
  });
  return table(['card', 'state', 'refuses'], rows);
}

function stepTable(): string {
  const { create_transfer: example } = OPERATIONS;
  const rows = Object.values(STEPS).map(({ checks, codes }, at) => [
    String(at + 1),
    inCell(checks),
    codes(example)
      .map((code) => `[\`${code}\`](/errors/${code})`)
      .join(', '),
  ]);
  return table(['step', 'checks', 'codes of `create_transfer`'], rows);
}

function settingTable(): string {
  return table(
    ['Setting', 'Default', 'Value', 'Purpose'],
    LISTED_SETTINGS.map(({ name, fallback, allowed, purpose }) => [
      `\`${name}\``,
      fallback === '' ? 'not set' : `\`${fallback}\``,
      inCell(allowed),
      inCell(purpose),
    ]),
  );
}

function traitTable(): string {
  return table(
    ['Trait', 'Default', 'Value', 'Meaning'],
    Object.values(TRAITS).map(({ name, fallback, allowed, purpose }) => [
      `\`${name}\``,
      `\`${String(fallback)}\``,
      inCell(allowed),
      inCell(purpose),
    ]),
  );
}

function commandSettings(): string {
  const names = LISTED_SETTINGS.filter(({ readBy }) => readBy === 'commands').map(({ name }) => `\`${name}\``);
  const last = names.pop();
  return (
    `The commands on the service's host, such as \`migrate\` and \`backup\`, use ${names.join(', ')} and ${last}. ` +
    'They check the other settings too, but do not use them.'
  );
}

function logEventTable(): string {
  const rows = Object.entries(LOG_EVENTS).map(([event, meaning]) => [`\`${event}\``, inCell(meaning)]);
  return table(['Event', 'Meaning'], rows);
}

function campaignTable(): string {
  return table(
    ['campaign', 'environment', 'nemesis', 'generator', 'checkers', 'proves', 'small, medium, large', 'small form in'],
    CAMPAIGNS.map(({ name, environment, nemesis, generator, checkers, proves, counts, ring }) => [
      `\`${name}\``,
      ...[environment, nemesis, generator, checkers.join(', '), proves].map(inCell),
      `${[counts.small, counts.medium, counts.large].map((count) => count.toLocaleString('en')).join('; ')} ${counts.unit}`,
      ring === undefined ? 'by hand' : `\`${ring}\``,
    ]),
  );
}

function otherCampaignTable(): string {
  return table(
    ['campaign', 'environment', 'nemesis', 'generator', 'checkers', 'proves', 'command', 'runs in'],
    OTHER_CAMPAIGNS.map(({ name, environment, nemesis, generator, checkers, proves, command, ring }) => [
      `\`${name}\``,
      ...[environment, nemesis, generator, checkers, proves].map(inCell),
      `\`${command}\``,
      `\`${ring}\``,
    ]),
  );
}

/** Files that can state invariants, next to the code that keeps them. */
const SOURCES = ['{server,domain,contract,sdk,tools}/**/*.ts'];

const LINES = String.raw`(.+(?:\n\/\/ {3}.+)*)`;

const STATED = new RegExp(
  String.raw`^\/\/ Invariant: ${LINES}(?:\n\/\/ Kept by: ${LINES})?\n\/\/ Tested by: ${LINES}`,
  'gm',
);

const TITLE = `# Invariants

Rules that must always hold, and the tests that fail if one does not. \`npm run generate\` writes this page from the comments
\`// Invariant:\` next to the code that keeps each rule.

| invariant | kept in | by | tested by |
| --- | --- | --- | --- |
`;

/** Writes the page with the invariants of all parts of the service, in the order of its files. */
export function invariantsPage(root: string): string {
  const files = globSync(SOURCES, { cwd: root, exclude: ['**/node_modules/**', '**/dist/**'] }).sort();
  const rows = files.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(STATED)].map(([, invariant = '', kept = '', tested = '']) =>
      [`${onOneLine(invariant)}`, `\`${file}\``, onOneLine(kept), onOneLine(tested)].join(' | '),
    ),
  );
  return `${TITLE}${rows.map((row) => `| ${row} |`).join('\n')}\n`;
}

function onOneLine(text: string): string {
  return text.replaceAll(/\n\/\/ +/g, ' ').replaceAll('|', String.raw`\|`);
}

/**
 * Writes the table with the postings, holds and counters of each phase of a transfer. The cells come from running the rules on
 * examples.
 */
function phaseTable(): string {
  return table(
    ['Type', 'Phase', 'Postings', 'Hold', 'Counted', 'Status afterwards'],
    TRANSFER_TYPES.flatMap(phaseRows),
  );
}

/** Writes the table with the checks of a transfer in their order, each with the codes that the examples produce. */
function checkTable(): string {
  return table(
    ['', 'Check', 'Code when it fails', 'A scheduled transfer'],
    TRANSFER_CHECKS.map((check, at) => [
      String(at + 1),
      check.name.replaceAll('_', ' '),
      codesOf(check),
      heldTo(check),
    ]),
  );
}

function heldTo({ onlyWhenMade, whenDue }: TransferCheck): string {
  if (onlyWhenMade === true) return 'when created';
  return whenDue === true ? 'when due' : 'when created and when due';
}

const DISABLED = {
  programId: null,
  transferType: null,
  connectorId: null,
  disabled: true,
  reason: null,
  actor: 'operator',
  since: 0,
  until: null,
} as const;

const POOR: readonly Account[] = ACCOUNTS.map((one) => ({ ...one, balance: 0n }));
const FULL: readonly Account[] = ACCOUNTS.map((one) => ({ ...one, balance: MAXIMUM_BALANCE }));

const BOTH_WAYS = (limits: Limits['in']): Limits => ({ in: limits, out: limits, maximumBalance: null });

const LIMITED: readonly Limits[] = [
  BOTH_WAYS({ minimum_amount: 101n }),
  BOTH_WAYS({ maximum_amount: 99n }),
  BOTH_WAYS({ daily_amount: 99n }),
];

/** Views with a problem. Together they make every check fail. */
const TROUBLES: readonly (readonly [TransferTerms, TransferView])[] = TRANSFER_TYPES.flatMap((type) => {
  const plain = terms(type, { currency: 'EUR', reference: 'invoice 1' });
  const wrong = [
    view({ switches: [DISABLED] }),
    view({ card: undefined }),
    view({ destinationCard: undefined }),
    ...CARD_STATUSES.map((status) => view({ card: card('card', { status }) })),
    ...CARD_STATUSES.map((status) => view({ destinationCard: card('destination card', { status }) })),
    view({ destinationCard: card('destination card', { currency: 'EUR' }) }),
    view({ card: card('card', { connectorId: 'increase' }) }),
    view({ referenceTakenBy: 'tr_1' }),
    view({ card: card('card', { connectorId: 'bank' }) }),
    ...LIMITED.map((limits) => view({ card: card('card', { limits }) })),
    view({}, POOR),
    view({}, FULL),
  ];
  return [[terms(type, { scheduledFor: inDays(-1) }), view()] as const, ...wrong.map((seen) => [plain, seen] as const)];
});

function codesOf({ name, examine }: TransferCheck): string {
  const found = new Set<string>();
  for (const [asked, seen] of TROUBLES) {
    const finding = examine(asked, seen);
    if (finding.outcome === 'failed') found.add(finding.refusal.code);
  }
  if (found.size === 0) throw new Error(`no example makes the check ${name} fail; add one to the troubles`);
  return [...found].map((code) => `\`${code}\``).join(', ');
}

function inCell(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('\n', ' ');
}

/** Writes a table. The cells are already Markdown. */
function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(headings), line(headings.map(() => '---')), ...rows.map(line)].join('\n');
}
