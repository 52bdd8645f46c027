import type { TrialBalance } from '../../sdk/client.ts';
import { type AddCommands, AS_OF_OPTION, type AsOf, addCommand } from '../command.ts';
import { EXIT_CODES } from '../failure.ts';
import { alignedLines, money, table, yesOrNo } from '../output.ts';
import { plainTime } from '../times.ts';

/** Adds `trial-balance`. It exits with 3 if the ledger does not balance, so that a scheduler can alert. */
export const addTrialBalance: AddCommands = (program, context) =>
  addCommand<AsOf>(program, context, {
    name: 'trial-balance',
    description: 'show the trial balance of the ledger',
    options: { as_of: { ...AS_OF_OPTION.as_of, help: 'sum the postings up to this time, at least a minute ago' } },
    notes: '\nExits with 3 if the ledger does not balance.',
    run: async ({ service, showText, exitWith }, query) => {
      const balance = await service.trialBalance.get({}, query);
      showText(balance, describe(balance));
      if (!balance.balanced) exitWith(EXIT_CODES.serviceFault);
    },
  });

function describe(balance: TrialBalance): string {
  const head = alignedLines([
    ['balanced', yesOrNo(balance.balanced)],
    ['postings_compared', yesOrNo(balance.postings_compared)],
    ['differing_holds', String(balance.differing_holds)],
    ['drawn_up_at', plainTime(balance.drawn_up_at)],
    ...(balance.as_of === null ? [] : ([['as_of', plainTime(balance.as_of)]] as const)),
  ]);
  const currencies = balance.currencies.map(({ currency, accounts, sum, by_kind }) => {
    const amount = (row: { readonly balance: number | string }) => money(row.balance, currency);
    const kinds = table(
      ['kind', 'accounts', { heading: 'balance', show: amount, right: true }],
      [...by_kind, { kind: 'sum', accounts, balance: sum }],
    );
    return `\n${currency}\n${kinds}`;
  });
  if (balance.differing_accounts.length === 0) return head + currencies.join('');
  const differing = table(['account_id', 'balance', 'postings'], balance.differing_accounts);
  return `${head}${currencies.join('')}\nAccounts whose balance differs from their postings, in minor units\n${differing}`;
}
