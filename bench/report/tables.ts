import { short, whole } from '../figures.ts';
import { isMet, type Outcome, shortfall } from '../outcome.ts';
import type { Profile } from '../profile.ts';
import type { Results } from './results.ts';

const HEADINGS = ['row', 'compared', 'measured', 'against', 'result', 'target', 'verdict'] as const;

function withUnit(text: string, unit: string): string {
  return unit === '' ? text : `${text} ${unit}`;
}

function targetOf({ target, aim, unit }: Outcome): string {
  const sign = target.at === 'least' ? '≥' : '≤';
  const aimed = aim === null ? '' : `, aim ${aim}`;
  return `${sign} ${withUnit(`${target.value}`, unit)}${aimed}`;
}

/** `met`, or how far the target was missed. */
export function verdictOf(outcome: Outcome): string {
  if (isMet(outcome)) return 'met';
  return Number.isNaN(outcome.value) ? 'not measured' : `missed by ${short(shortfall(outcome) * 100)} %`;
}

function rowsOf(outcomes: readonly Outcome[]): readonly (readonly string[])[] {
  return outcomes.map((outcome) => [
    `${outcome.row}`,
    outcome.title,
    outcome.measured,
    outcome.against,
    withUnit(short(outcome.value), outcome.unit),
    targetOf(outcome),
    verdictOf(outcome),
  ]);
}

export function terminalTable(outcomes: readonly Outcome[]): string {
  return alignColumns([HEADINGS, ...rowsOf(outcomes)]);
}

function alignColumns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Enough characters to distinguish a statement from the others. */
const STATEMENT_LENGTH = 150;
const STATEMENT_LENGTH_IN_TABLE = 80;

/** Functions and statements below this time are not listed. */
const MIN_MICROSECONDS = 0.2;

/** The profile for a terminal: threads, parts of the program, and every function that takes some time. */
export function terminalProfile(profile: Profile): string {
  const { threads, parts, functions } = profile;
  const micro = (value: number): string => value.toFixed(2).padStart(8);
  const rows = functions
    .filter(({ microseconds }) => microseconds >= MIN_MICROSECONDS)
    .map(({ name, part, microseconds }) => [micro(microseconds), part, name]);
  return [
    profileSentence(profile),
    `Threads of the service: ${threads.map(({ name, microseconds }) => `${name} ${microseconds.toFixed(1)}`).join(', ')} µs.`,
    alignColumns([
      ['      µs', 'part of the program'],
      ...parts
        .filter(({ microseconds }) => microseconds >= MIN_MICROSECONDS)
        .map(({ part, microseconds }) => [micro(microseconds), part]),
    ]),
    alignColumns([['      µs', 'part', 'function (self time)'], ...rows]),
    alignColumns([
      ['      µs', 'WAL bytes', 'calls per 1,000', 'statement of PostgreSQL (time until it ends, waiting included)'],
      ...profile.statements
        .filter(({ microseconds }) => microseconds >= MIN_MICROSECONDS)
        .map(({ microseconds, logBytes, callsPerThousand, text }) => [
          micro(microseconds),
          whole(logBytes).padStart(9),
          short(callsPerThousand).padStart(15),
          text.slice(0, STATEMENT_LENGTH),
        ]),
    ]),
  ].join('\n\n');
}

function profileSentence({ rate, serviceMicroseconds, postgresMicroseconds, generatorMicroseconds }: Profile): string {
  return (
    `Profile at ${whole(rate)}/s (the profiler uses part of the CPU). CPU for a transfer, as the kernel counts it: service ` +
    `${whole(serviceMicroseconds)} µs, PostgreSQL ${whole(postgresMicroseconds)} µs, generator ${whole(generatorMicroseconds)} µs.`
  );
}

function markdownTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(headings), line(headings.map(() => '---')), ...rows.map(line)].join('\n');
}

/** The part of docs/performance.md that a run rewrites. */
export function resultsInMarkdown(results: Results): string {
  const { outcomes, profile } = results;
  const notes = outcomes.flatMap(({ row, notes: all }) => all.map((note) => `- ${row}: ${note}`));
  const runs = outcomes.flatMap(({ row, runs: all }) =>
    Object.entries(all).map(([name, values]) => [`${row}`, name, values.map(short).join(', ')]),
  );
  return [
    ...factsOf(results),
    markdownTable(HEADINGS, rowsOf(outcomes)),
    notes.join('\n'),
    `<details><summary>The single rounds</summary>\n\n${markdownTable(['row', 'figure', 'rounds'], runs)}\n\n</details>`,
    ...(profile === null ? [] : [profileInMarkdown(profile)]),
  ].join('\n\n');
}

const FORMS: Readonly<Record<Results['form'], string>> = {
  full: 'A full run',
  quick: '**A quick run: an estimate**',
  partial: '**Some rows only**',
};

function factsOf(results: Results): readonly string[] {
  const { machine, settings, ownSettings, options, omitted, failed, pgbench } = results;
  const { stored, rounds, seconds } = options;
  const list = (all: Readonly<Record<string, string>>): string =>
    Object.entries(all)
      .map(([name, value]) => `\`${name}\` ${value}`)
      .join(', ');
  const differing = Object.entries(ownSettings ?? {}).filter(([name, value]) => settings[name] !== value);
  return [
    `${FORMS[results.form]} on ${results.measuredOn}, ${Math.round(results.elapsedSeconds / 60)} minutes: ${rounds} ` +
      `counterbalanced rounds, runs of ${seconds} s; ${whole(stored.transfers)} transfers and ` +
      `${whole(stored.cards)} cards stored for row 10.`,
    `Machine: ${machine.cores} cores (${machine.model}), ${machine.memory}, ${machine.kernel}, ${machine.fileSystem}, ` +
      `Node ${machine.node}, load average at the start ${machine.loadAtStart}${pgbench === null ? '' : `; ${pgbench}`}.`,
    `PostgreSQL, for the service and for pgbench: ${list(settings)}.`,
    ...(differing.length === 0 ? [] : [`Own PostgreSQL, where it differs: ${list(Object.fromEntries(differing))}.`]),
    ...(failed.length === 0 ? [] : [`**Failed: ${failed.join('; ')}.**`]),
    ...(omitted.length === 0 ? [] : [`Omitted: ${omitted.join('; ')}.`]),
  ];
}

/** The functions that the document shows. */
const FUNCTIONS_SHOWN = 25;

function profileInMarkdown(profile: Profile): string {
  const parts = profile.parts
    .filter(({ microseconds }) => microseconds >= MIN_MICROSECONDS)
    .map(({ part, microseconds }) => [part, microseconds.toFixed(1)]);
  const functions = profile.functions
    .filter(({ name, part }) => name !== part)
    .slice(0, FUNCTIONS_SHOWN)
    .map(({ name, part, microseconds }) => [`\`${name}\``, part, microseconds.toFixed(2)]);
  const statements = profile.statements
    .filter(({ microseconds }) => microseconds >= MIN_MICROSECONDS)
    .map(({ microseconds, logBytes, text }) => [
      `\`${text.slice(0, STATEMENT_LENGTH_IN_TABLE)}\``,
      microseconds.toFixed(1),
      whole(logBytes),
    ]);
  return [
    profileSentence(profile),
    markdownTable(['part of the service', 'µs of its main thread for a transfer'], parts),
    markdownTable(['statement of PostgreSQL', 'µs for a transfer, waiting included', 'WAL bytes'], statements),
    `<details><summary>The functions with the most self time</summary>\n\n${markdownTable(['function', 'part', 'µs'], functions)}\n\n</details>`,
  ].join('\n\n');
}
