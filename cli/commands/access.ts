import type { AccessRecord } from '../../sdk/client.ts';
import { type AddCommands, addCommand, addList, type OptionsFor } from '../command.ts';
import { EXPORT_NOTES, OUTPUT_OPTION, type OutputOption, showExport } from './export.ts';
import { SCOPE_OPTION, type ScopeFilter } from './keys.ts';

type Filters = ScopeFilter & { readonly moves_money?: boolean };

const FILTER_OPTIONS: OptionsFor<Filters> = {
  ...SCOPE_OPTION,
  moves_money: { flag: '--moves-money', help: 'only who can move money' },
};

/** Adds `access list | export`. */
export const addAccess: AddCommands = (program, context) => {
  const access = program.command('access').description('who can move money, create keys, and so on');
  addList<AccessRecord, Filters>(access, context, {
    name: 'list',
    description: 'list what keys and people can do, newest first',
    options: FILTER_OPTIONS,
    columns: [
      'holder_id',
      'name',
      { heading: 'program_id', show: ({ program_id }) => program_id ?? 'all card programs' },
      { heading: 'roles', show: ({ roles }) => roles.join(',') || '-' },
      { heading: 'can', show: ({ abilities }) => abilities.join(',') },
      'last_used_at',
      'expires_at',
    ],
    list: (service, query) => service.access.list(query),
    empty: { text: 'No keys and no people.' },
  });
  addCommand<Filters & OutputOption>(access, context, {
    name: 'export',
    description: 'export the same as CSV',
    options: { ...FILTER_OPTIONS, ...OUTPUT_OPTION },
    notes: EXPORT_NOTES,
    run: (session, { output, ...filters }) => showExport(session, output, () => session.service.access.export(filters)),
  });
};
