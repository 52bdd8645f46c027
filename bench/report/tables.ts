import { short, whole } from '../figures.ts';
import { isMet, type Outcome } from '../outcome.ts';
import type { Results } from './results.ts';

function boundOf({ bound, aim }: Outcome): string {
  const aimed = aim === null ? '' : ` (aim ${aim})`;
  return `${bound.at === 'least' ? 'at least' : 'at most'} ${bound.ratio}${aimed}`;
}

const HEADINGS = ['', 'target', 'measured', 'against', 'ratio', 'required', ''] as const;

function rowsOf(outcomes: readonly Outcome[]): readonly (readonly string[])[] {
  return outcomes.map((outcome) => [
    `${outcome.target}`,
    outcome.title,
    outcome.measured,
    outcome.against,
    short(outcome.ratio),
    boundOf(outcome),
    isMet(outcome) ? 'met' : 'missed',
  ]);
}

/** The table for a terminal. */
export function terminalTable(outcomes: readonly Outcome[]): string {
  const rows = [HEADINGS, ...rowsOf(outcomes)];
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function markdownTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(headings), line(headings.map(() => '---')), ...rows.map(line)].join('\n');
}

/** The part of docs/performance.md that a run rewrites. */
export function resultsInMarkdown(results: Results): string {
  const { machine, settings, tools, options, outcomes, leftOut, failed, profile, stored } = results;
  const { stored: size } = options;
  const form = {
    full: 'A full run',
    quick: '**A quick run, on a machine that did other things as well: a placeholder until the full run replaces it**',
    partial: '**Some parts only**',
  }[results.form];
  const facts = [
    `${form}, on ${results.measuredOn}, ${Math.round(results.elapsed_s / 60)} minutes; ${options.rounds} interleaved ` +
      `runs of ${options.seconds} s, each with a checkpoint; ${whole(size.transfers)} transfers and ${whole(size.cards)} ` +
      `cards stored for target 6; pgbench at scale ${options.pgbenchScale}.`,
    `Machine: ${machine.cores} cores (${machine.model}), ${machine.memory}, ${machine.kernel}, ${machine.fileSystem}, ` +
      `Node ${machine.node}, load average at the start ${machine.loadAtStart}. Generators: ${tools.wrk ?? 'our own'}` +
      `${tools.pgbench === null ? '' : `, ${tools.pgbench}`}.`,
    `PostgreSQL, all sides: ${Object.entries(settings)
      .map(([name, value]) => `\`${name}\` ${value}`)
      .join(', ')}.`,
    ...(failed.length === 0 ? [] : [`**Failed: ${failed.join('; ')}.**`]),
    ...(leftOut.length === 0 ? [] : [`Left out: ${leftOut.join('; ')}.`]),
  ];
  const notes = outcomes.flatMap(({ target, notes: all }) => all.map((note) => `- ${target}: ${note}`));
  const runs = outcomes.flatMap(({ target, runs: all }) =>
    Object.entries(all).map(([name, values]) => [`${target}`, name, values.map(short).join(', ')]),
  );
  return [
    ...facts,
    markdownTable(HEADINGS, rowsOf(outcomes)),
    notes.join('\n'),
    `Single runs:\n\n${markdownTable(['', 'what', 'runs'], runs)}`,
    ...(profile === null ? [] : [profileInMarkdown(profile)]),
    ...(stored === null ? [] : [plansInMarkdown(stored.plans)]),
  ].join('\n\n');
}

function profileInMarkdown(profile: NonNullable<Results['profile']>): string {
  const rooms = profile.rooms.filter(({ us }) => us >= 0.05).map(({ room, us }) => [room, us.toFixed(1)]);
  const functions = profile.functions.map(({ name, room, us }) => [`\`${name}\``, room, us.toFixed(2)]);
  return [
    `Profile at ${whole(profile.rate)}/s (the profiler costs some): CPU for a transfer, by the kernel's count: service ` +
      `${whole(profile.service_us)} µs, PostgreSQL ${whole(profile.postgres_us)} µs, generator ${whole(profile.generator_us)} µs.`,
    markdownTable(['room of the service', 'µs a transfer'], rooms),
    `<details><summary>The functions that took most</summary>\n\n${markdownTable(['function', 'room', 'µs'], functions)}\n\n</details>`,
  ].join('\n\n');
}

function plansInMarkdown({ filled: plans }: NonNullable<Results['stored']>['plans']): string {
  const texts = Object.entries(plans).map(([name, lines]) => `${name}:\n\n\`\`\`text\n${lines.join('\n')}\n\`\`\``);
  return `<details><summary>Plans on the filled ledger (generic: made without knowing the values)</summary>\n\n${texts.join('\n\n')}\n\n</details>`;
}
