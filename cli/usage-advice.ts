import type { Command } from 'commander';

/** Commands by words that people type instead of their names. */
const MEANT: ReadonlyMap<string, string> = new Map([
  ['balance', 'cards get <card_id>'],
  ['duplicates', 'cards duplicates <card_id>'],
  ['freeze', 'cards update <card_id> --status inactive'],
  ['block', 'cards update <card_id> --status inactive'],
  ['funding', 'programs get <program_id>'],
  ['health', 'status'],
  ['holds', 'cards holds <card_id>'],
  ['limits', 'cards limits <card_id>'],
  ['logs', 'errors tail'],
  ['payment', 'transfers create'],
  ['payments', 'transfers list'],
  ['refund', 'transfers reverse <transfer_id>'],
  ['reset', 'sandbox reset'],
  ['statement', 'cards statement <card_id>'],
  ['suspend', 'cards update <card_id> --status inactive'],
  ['version', '--version'],
  ['whoami', 'sessions current'],
]);

/** Commands of other resources, by the words that people type instead. */
const MEANT_ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ...['list', 'ls', 'all', 'get', 'show', 'view'].flatMap((verb): [string, string][] => [
    [`deposits ${verb}`, 'movements --kind deposit'],
    [`withdrawals ${verb}`, 'movements --kind withdrawal'],
  ]),
  ['cards events', 'events list --subject <card_id>'],
  ['cards transfers', 'transfers list --card <card_id>'],
  ['programs deposit', 'deposits create --program <program_id> --amount <amount>'],
  ['programs withdraw', 'withdrawals create --program <program_id> --amount <amount>'],
]);

/** Names of commands that any resource can have, by the words that people type instead. */
const MEANT_VERB: ReadonlyMap<string, readonly string[]> = new Map([
  ['show', ['get', 'show', 'current']],
  ['view', ['get', 'show']],
  ['get', ['show', 'inspect']],
  ['ls', ['list']],
  ['all', ['list']],
  ['new', ['create']],
  ['add', ['create']],
  ['edit', ['update']],
  ['set', ['update']],
  ['freeze', ['update']],
  ['block', ['update']],
  ['suspend', ['update']],
  ['remove', ['delete', 'revoke']],
  ['delete', ['revoke']],
  ['refund', ['reverse']],
  ['void', ['cancel']],
  ['follow', ['tail']],
  ['watch', ['tail']],
]);

/** What to type after a command line that is not valid. */
export function usageAdvice(program: Command, commandLine: readonly string[], code: string): string {
  const { command, unknown } = deepest(program, commandLine);
  const path = pathOf(command);
  const lines: string[] = [];
  if (code === 'commander.unknownCommand' && unknown !== undefined) {
    const names = command.commands.map((one) => one.name());
    const meant =
      command === program ? MEANT.get(unknown) : MEANT_VERB.get(unknown)?.find((name) => names.includes(name));
    const suggestion = meant ?? similar(unknown, names);
    const elsewhere = MEANT_ELSEWHERE.get(`${command.name()} ${unknown}`);
    if (suggestion !== undefined) lines.push(`Did you mean: ${path} ${suggestion}`);
    else if (elsewhere !== undefined) lines.push(`Did you mean: ${program.name()} ${elsewhere}`);
    else {
      const begin = command === program ? 'The commands are' : `The commands of ${command.name()} are`;
      lines.push(...wrapped(`${begin} ${names.join(', ')}.`));
    }
  }
  // Commander has already printed the help.
  if (code !== 'commander.help') lines.push(`Help: ${path} --help`);
  return lines.map((line) => `${line}\n`).join('');
}

function similar(word: string, names: readonly string[]): string | undefined {
  const near = names
    .map((name) => ({ name, distance: name.startsWith(word) ? 1 : distanceOf(word.toLowerCase(), name) }))
    .filter(({ name, distance }) => distance <= Math.max(1, Math.floor(name.length / 3)))
    .toSorted((one, other) => one.distance - other.distance);
  return near[0]?.name;
}

/** The edit distance (Damerau-Levenshtein) of two words. */
function distanceOf(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, at) => at)];
  for (let at = 1; at <= one.length; at += 1) {
    const [above = [], before = []] = [rows[at - 1], rows[at - 2]];
    const row = [at];
    for (let to = 1; to <= other.length; to += 1) {
      const same = one[at - 1] === other[to - 1] ? 0 : 1;
      const isSwapped = at > 1 && to > 1 && one[at - 1] === other[to - 2] && one[at - 2] === other[to - 1];
      const swapped = isSwapped ? (before[to - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY;
      row.push(Math.min((above[to] ?? 0) + 1, (row[to - 1] ?? 0) + 1, (above[to - 1] ?? 0) + same, swapped));
    }
    rows.push(row);
  }
  return rows.at(-1)?.at(-1) ?? 0;
}

/** Finds the command that the words name, and the first word after it that is unknown. */
function deepest(program: Command, words: readonly string[]): { command: Command; unknown: string | undefined } {
  let command = program;
  for (const [at, word] of words.entries()) {
    const before = words[at - 1] ?? '';
    const options = [...program.options, ...command.options];
    if (word.startsWith('-') || options.some(({ long, required }) => required && long === before)) continue;
    const next = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (next === undefined) return { command, unknown: word };
    command = next;
  }
  return { command, unknown: undefined };
}

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

function wrapped(text: string): readonly string[] {
  const lines: string[] = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    const longer = line === '' ? word : `${line} ${word}`;
    if (longer.length > 80) lines.push(`  ${word}`);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}
