import { STEPS } from '../../contract/errors/precedence.ts';
import { OPERATIONS } from '../../contract/operations.ts';
import { DEMO_CARDS } from '../../contract/sandbox/demo-cards.ts';
import { CARD_MOVES, CARD_RULES, CARD_STATUSES, EXPIRING_CARD_STATUSES } from '../../domain/cards/card.ts';
import { formatMoney } from '../../domain/ledger/money.ts';
import { isFinal, TRANSFER_MOVES, TRANSFER_STATUSES } from '../../domain/transfers/transfer.ts';
import { TRAITS } from '../../server/foundation/configuration/connectors.ts';
import { LISTED_SETTINGS } from '../../server/foundation/configuration/settings.ts';
import { LOG_EVENTS } from '../../server/observe/log/log-events.ts';
import { CAMPAIGNS, OTHER_CAMPAIGNS } from '../../verification/campaigns.ts';
import { checkTable, inCell, phaseTable, table } from './transfer-tables.ts';

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
    ['Trait', 'Default', 'Value', 'Meaning for the processor'],
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
    `The commands on the host of the service, such as \`migrate\` and \`backup\`, use ${names.join(', ')} and ${last}. ` +
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
