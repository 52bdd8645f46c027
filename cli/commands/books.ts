import type { CloseDayBody, DayRecord, ExportDayQuery, GetDayQuery, TrialBalance } from '../../sdk/client.ts';
import { type AddCommands, AS_OF_OPTION, type AsOf, addCommand, KEY_OPTION, type KeyOption } from '../command.ts';
import { EXIT_CODES } from '../failure.ts';
import { alignedLines, money, table, yesOrNo } from '../output.ts';
import { plainTime } from '../times.ts';
import { EXPORT_NOTES, OUTPUT_OPTION, type OutputOption, showExport } from './export.ts';

/** Adds `trial-balance`. It exits with 3 if the ledger does not balance, so that a scheduler can alert. */
export const addTrialBalance: AddCommands = (program, context) =>
  addCommand<AsOf>(program, context, {
    name: 'trial-balance',
    description: 'show the trial balance of the ledger',
    options: { as_of: { ...AS_OF_OPTION.as_of, help: 'sum the postings up to this time, at least a minute ago' } },
    notes: '\nExits with 3 if the ledger does not balance.',
    run: async ({ service, showText, exitWith }, query) => {
      const balance = await service.trialBalance.get({}, query);
      showText(balance, describeBalance(balance));
      if (!balance.balanced) exitWith(EXIT_CODES.serviceFault);
    },
  });

function describeBalance(balance: TrialBalance): string {
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

const PROGRAM = { argument: 'card program id, prog_...' };
const DAY_OPTION = { day: { flag: '--day <date>', help: 'day, such as 2030-01-31 (default: yesterday)' } };

/** Adds `days`. `show` exits with 3 if the day does not add up, so that a scheduler can alert. */
export const addDays: AddCommands = (program, context) => {
  const days = program.command('days').description('daily reports of card programs, and closing days');
  addCommand<GetDayQuery>(days, context, {
    ...PROGRAM,
    name: 'show <program_id>',
    description: 'show the balances and movements of a card program on a day, and whether they add up',
    options: DAY_OPTION,
    notes: '\nExits with 3 if the day does not add up.',
    run: async ({ service, showText, exitWith }, query, programId) => {
      const report = await service.days.get(programId, query);
      showText(report, describeDay(report));
      if (!report.adds_up) exitWith(EXIT_CODES.serviceFault);
    },
  });
  addCommand<Omit<ExportDayQuery, 'raw'> & OutputOption>(days, context, {
    ...PROGRAM,
    name: 'export <program_id>',
    description: 'export the report of a day as CSV',
    options: { ...DAY_OPTION, ...OUTPUT_OPTION },
    notes: EXPORT_NOTES,
    run: (session, { output, ...query }, programId) =>
      showExport(session, output, () => session.service.days.export(programId, query)),
  });
  addCommand<CloseDayBody & KeyOption>(days, context, {
    ...PROGRAM,
    name: 'close <program_id>',
    description: 'close a day, so that its report never changes',
    notes: '\nExits with 3 if the day does not add up. It is closed anyway.',
    options: {
      day: { flag: '--day <date>', help: 'day to close, such as 2030-01-31', required: true },
      note: { flag: '--note <text>', help: 'what you checked', required: true },
      ...KEY_OPTION,
    },
    run: async ({ service, showText, exitWith }, { idempotencyKey, ...body }, programId) => {
      const closed = await service.days.close(programId, body, { idempotencyKey });
      showText(closed, describeDay(closed));
      if (!closed.adds_up) exitWith(EXIT_CODES.serviceFault);
    },
  });
};

function describeDay(report: DayRecord): string {
  const { currencies, settlements } = report;
  const head = alignedLines([
    ['program_id', report.program_id],
    ['day', `${report.day} (${report.time_zone})`],
    ['status', report.status],
    ['adds_up', yesOrNo(report.adds_up)],
    ['open_breaks', String(report.open_breaks)],
    ['last_closed_day', report.last_closed_day ?? 'none'],
    ...(report.closed_at === null ? [] : ([['closed_by', `${report.closed_by}: ${report.note}`]] as const)),
  ]);
  const sheets = currencies.map(({ currency, opening, movements, closing }) => {
    const column = (heading: 'funding' | 'cards' | 'suspense' | 'loss') => ({
      heading,
      show: (line: Record<typeof heading, number | string>) => money(line[heading], currency),
      right: true,
    });
    const lines = [
      { line: 'opening', postings: '', ...opening },
      ...movements.map(({ purpose, postings, ...line }) => ({ ...line, line: purpose, postings: String(postings) })),
      { line: 'closing', postings: '', ...closing },
    ];
    return `\n${currency}\n${table(['line', 'postings', column('funding'), column('cards'), column('suspense'), column('loss')], lines)}`;
  });
  const orders = settlements.map(({ connector_id, currency, pushed, pulled }) => {
    const columns = (['opening', 'approved', 'settled', 'resolved', 'closing', 'fees'] as const).map((heading) => ({
      heading,
      show: (line: typeof pushed) => (line[heading] === null ? null : money(line[heading], currency)),
      right: true,
    }));
    const lines = [
      { line: 'pushed', ...pushed },
      { line: 'pulled', ...pulled },
    ];
    return `\nApproved by ${connector_id} and not settled, ${currency}\n${table(['line', ...columns], lines)}`;
  });
  const accounts = sheets.length === 0 ? '\nThe card program had no money on this day.\n' : sheets.join('');
  return head + accounts + orders.join('');
}
