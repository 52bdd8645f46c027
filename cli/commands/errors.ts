import type { Command } from 'commander';
import type { CatalogueEntry } from '../../domain/catalogue-entry.ts';
import { CATALOGUE, type ErrorCode, isErrorCode } from '../../domain/errors.ts';
import { table, wrap, yesOrNo } from '../output.ts';
import { type AddCommands, type GlobalOptions, type Surroundings, urlOf } from '../session.ts';
import { addErrorLog } from './error-log.ts';

type Row = CatalogueEntry & { readonly code: ErrorCode };

const LABEL_WIDTH = 14;

function rows(): Row[] {
  return Object.entries(CATALOGUE).map(([code, entry]) => ({ code: code as ErrorCode, ...entry }));
}

/** Adds `errors codes | explain`: the catalogue, without asking the service; and the error log beside them. */
export const addErrors: AddCommands = (program, surroundings) => {
  const errors = program.command('errors').description('what a code means, and what an error was about');
  addErrorLog(errors, surroundings);
  errors
    .command('codes')
    .description('list the error codes, without asking the service')
    .action((_options: object, command: Command) => {
      const columns = [
        { heading: 'code', show: (row: Row) => row.code },
        { heading: 'status', show: (row: Row) => String(row.status), right: true },
        { heading: 'type', show: (row: Row) => row.type },
      ];
      show(surroundings, command, { data: rows() }, () => table(columns, rows()));
    });
  errors
    .command('explain')
    .description('what a code means, what causes it, and what to do; without asking the service')
    .argument('<code>', 'such as insufficient_funds')
    .action((code: string, _options: object, command: Command) => {
      if (!isErrorCode(code)) return command.error(`error: there is no code '${code}'${suggestion(code)}`);
      const url = urlOf(command.optsWithGlobals<GlobalOptions>(), surroundings.environment);
      show(surroundings, command, { code, ...CATALOGUE[code] }, () => explain(code, CATALOGUE[code], url));
    });
};

function show(surroundings: Surroundings, command: Command, value: object, text: () => string): void {
  const { json } = command.optsWithGlobals<GlobalOptions>();
  surroundings.write(json ? `${JSON.stringify(value, null, 2)}\n` : text());
}

function explain(code: ErrorCode, entry: CatalogueEntry, url: string): string {
  const labelled = (label: string, text: string) =>
    wrap(text, `${label}:`.padEnd(LABEL_WIDTH), ' '.repeat(LABEL_WIDTH));
  return [
    `${code}: status ${entry.status}, ${entry.type}\n\n`,
    wrap(entry.meaning, '', ''),
    '\n',
    ...entry.causes.map((cause, index) => labelled(index === 0 ? 'Caused by' : 'or', cause)),
    labelled('Resolution', entry.resolution),
    labelled('Resolved by', entry.resolver),
    labelled('Money moved', entry.moneyMoved),
    labelled('Retry', yesOrNo(entry.retry)),
    labelled('Try it', entry.reproduce),
    labelled('Since', `version ${entry.since}`),
    `see ${url}/errors/${code}\n`,
  ].join('');
}

function suggestion(code: string): string {
  const words = code.toLowerCase().split(/[^a-z]+/);
  const near = Object.keys(CATALOGUE).filter((known) => known.split('_').some((word) => words.includes(word)));
  return near.length === 0 ? '; see: transfer-service errors codes' : `; did you mean ${near.slice(0, 3).join(', ')}?`;
}
