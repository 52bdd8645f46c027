import type { Command } from 'commander';
import type { TrialBalance } from '../../sdk/client.ts';
import { EXIT_CODES } from '../failure.ts';
import { alignedLines, money, table, yesOrNo } from '../output.ts';
import { type AddCommands, openSession } from '../session.ts';

/** Adds `trial-balance`. It ends with 3 when the books do not balance, so that a scheduler notices. */
export const addTrialBalance: AddCommands = (program, surroundings) => {
  program
    .command('trial-balance')
    .description('prove that the books balance')
    .addHelpText('after', '\nIt ends with 3 if they do not.')
    .action(async (_options: object, command: Command) => {
      const session = openSession(command, surroundings);
      const balance = await session.service.trialBalance.get();
      session.showText(balance, describe(balance));
      if (!balance.balanced) surroundings.endWith(EXIT_CODES.serviceFault);
    });
};

function describe(balance: TrialBalance): string {
  const head = alignedLines([
    ['balanced', yesOrNo(balance.balanced)],
    ['postings_compared', yesOrNo(balance.postings_compared)],
    ['differing_holds', String(balance.differing_holds)],
    ['drawn_up_at', balance.drawn_up_at],
  ]);
  const currencies = balance.currencies.map(({ currency, accounts, sum, by_kind }) => {
    const kinds = table(
      [
        { heading: 'kind', show: ({ kind }) => kind },
        { heading: 'accounts', show: (row) => String(row.accounts), right: true },
        { heading: 'balance', show: (row) => money(row.balance, currency), right: true },
      ],
      [...by_kind, { kind: 'sum', accounts, balance: sum }],
    );
    return `\n${currency}\n${kinds}`;
  });
  if (balance.differing_accounts.length === 0) return head + currencies.join('');
  const differing = table(
    [
      { heading: 'account_id', show: (account) => account.account_id },
      { heading: 'balance', show: (account) => String(account.balance), right: true },
      { heading: 'postings', show: (account) => String(account.postings), right: true },
    ],
    balance.differing_accounts,
  );
  return `${head}${currencies.join('')}\nAccounts that differ from their postings, in minor units\n${differing}`;
}
