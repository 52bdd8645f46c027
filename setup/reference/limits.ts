import { CardLimits, DirectionLimits, ProgramLimits } from '../../contract/limits.ts';
import { fieldsOf } from '../../contract/openapi/fields.ts';
import { OPERATIONS, type OperationId } from '../../contract/operations.ts';
import {
  type Direction,
  describeSource,
  LIMIT_NAMES,
  type LimitName,
  type LimitSource,
  type Limits,
  type Usage,
} from '../../domain/ledger/limits.ts';
import { Refusal } from '../../domain/refusal.ts';
import { decideTransfer } from '../../domain/transfers/create-transfer.ts';
import { inCell, page, table } from './markdown.ts';
import { AMOUNT, asked, card, view } from './transfer-examples.ts';

/** docs/reference/limits.md: every limit, who can set it, and what it says when it refuses. */
export function limitReference(): string {
  return page(
    '# Limits',
    'This page is made from the tables of the service and by running its rules on examples. ' +
      '[docs/limits.md](../limits.md) is the guide.',
    '## What can be limited',
    'For each direction, `in` and `out`. Money comes `in` onto a card by a load, or from another card; it goes `out` by ' +
      'an unload, or to another card. What is left out is not limited.',
    table(['Limit', 'What it bounds', 'Refused with', 'Such as'], limitNames().map(limitRow)),
    'Beside the two directions there is one limit of a card:',
    table(['Limit', 'What it bounds', 'Refused with', 'Such as'], [maximumBalanceRow()]),
    '## Who can set them',
    table(
      ['Shown as', 'What it is', 'Set by', 'Needs', 'Can hold', 'What it counts'],
      SOURCES.map((source) => sourceRow(source)),
    ),
    'A limit that is set on the card takes the place of the one of the same name that its program sets for each card. ' +
      'The limits of the program as a whole hold besides. Those of a program are amounts of its own currency and say ' +
      'nothing about cards that are kept in another.',
  );
}

/** Where limits are kept, and what transfers they count. */
type Source = {
  readonly source: LimitSource;
  readonly member: string;
  readonly operations: readonly OperationId[];
  readonly holds: object;
  readonly counts: string;
};

const SOURCES: readonly Source[] = [
  {
    source: 'card',
    member: 'limits',
    operations: ['create_card', 'update_card'],
    holds: CardLimits,
    counts: 'the transfers of the card',
  },
  {
    source: 'program_card',
    member: 'card_limits',
    operations: ['update_program'],
    holds: CardLimits,
    counts: 'the transfers of each card by itself',
  },
  {
    source: 'program',
    member: 'limits',
    operations: ['update_program'],
    holds: ProgramLimits,
    counts: 'all loads (`in`) and all unloads (`out`) of the program together',
  },
];

function sourceRow({ source, member, operations, holds, counts }: Source): readonly string[] {
  for (const id of operations) {
    if (!fieldsOf(OPERATIONS[id].body ?? {}).some(({ name }) => name === member)) {
      throw new Error(`${id} takes no ${member}`);
    }
  }
  const scopes = [...new Set(operations.map((id) => OPERATIONS[id].scope))];
  return [
    `\`${source}\``,
    inCell(describeSource(source)),
    operations.map((id) => `\`${member}\` of [\`${id}\`](api.md#${id})`).join(', '),
    scopes.map((scope) => (scope === 'operator' ? "an operator's key" : `the scope \`${scope}\``)).join(', '),
    fieldsOf(holds)
      .map(({ name }) => `\`${name}\``)
      .join(', '),
    counts,
  ];
}

function limitNames(): readonly LimitName[] {
  return Object.keys(LIMIT_NAMES) as LimitName[];
}

function limitRow(name: LimitName): readonly string[] {
  const says = fieldsOf(DirectionLimits).find((field) => field.name === name)?.description;
  if (says === undefined) throw new Error(`the limit ${name} is not described`);
  const isLeast = name === 'minimum_amount';
  const { measure } = LIMIT_NAMES[name];
  const value = isLeast ? 2n * AMOUNT : measure === 'count' ? 1n : AMOUNT / 2n;
  const refusal = refusalUnder({ in: { [name]: value }, out: {}, maximumBalance: null });
  return [`\`${name}\``, inCell(says), `\`${refusal.code}\``, inCell(refusal.message)];
}

function maximumBalanceRow(): readonly string[] {
  const says = fieldsOf(CardLimits).find((field) => field.name === 'maximum_balance')?.description ?? '';
  const refusal = refusalUnder({ in: {}, out: {}, maximumBalance: 1050n });
  return ['`maximum_balance`', inCell(says), `\`${refusal.code}\``, inCell(refusal.message)];
}

/** What the rules say to a load when the card has these limits and one load was made today. */
function refusalUnder(limits: Limits): Refusal {
  const once = { amount: AMOUNT / 4n, count: 1n };
  const usage = (_accountId: string, _direction: Direction): Usage => ({ day: once, week: once, month: once });
  const limited = card('card', { name: 'employee-7', limits });
  const decision = decideTransfer(asked('load'), view({ card: limited, usage }));
  if (!(decision instanceof Refusal)) throw new Error('the example of a limit is not refused');
  return decision;
}
