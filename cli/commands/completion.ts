import { Argument, type Command, type Option } from 'commander';
import type { AddCommands } from '../command.ts';

const NOTES = `
Prints the script with which a shell completes commands, options and values
when you press Tab. To install it for your user:

  bash  transfer-service completion bash \\
          > ~/.local/share/bash-completion/completions/transfer-service
        or without the package bash-completion, in ~/.bashrc:
          source <(transfer-service completion bash)
  zsh   in ~/.zshrc, after compinit:
          source <(transfer-service completion zsh)
  fish  transfer-service completion fish \\
          > ~/.config/fish/completions/transfer-service.fish

Then open a new shell. It completes transfer-service, not npx
transfer-service: install the package globally, or with an alias.`;

export const addCompletion: AddCommands = (program, { write }) => {
  program
    .command('completion')
    .description('print the script for completion in bash, zsh or fish')
    .addArgument(new Argument('<shell>', 'your shell').choices(SHELLS))
    .addHelpText('after', NOTES)
    .action((shell: Shell) => write(completionScript(shell, commandWords(program))));
};

export const SHELLS = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof SHELLS)[number];

const NAME = 'transfer-service';

export function completionScript(shell: Shell, words: readonly CommandWords[]): string {
  const head = `# Completion of ${NAME} for ${shell}, written by: ${NAME} completion ${shell}\n`;
  if (shell === 'bash') return head + bash(words);
  // zsh recognizes a completion by its first line.
  if (shell === 'zsh') return `#compdef ${NAME}\n${head}${zsh(words)}`;
  return head + fish(words);
}

/** A word between single quotes, for bash and zsh. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The options of all commands that have values to choose from, or take a file. */
function valued(words: readonly CommandWords[]) {
  return words.flatMap(({ path, options }) =>
    options.filter(({ choices, isFile }) => choices.length > 0 || isFile).map((option) => ({ path, ...option })),
  );
}

/** Finds the path of the typed command. Bash and zsh differ only in the array and its first index. */
function findPath(words: readonly CommandWords[], array: string, first: number, current: string): string {
  const paths = words.filter(({ path }) => path !== '').map(({ path }) => quoted(` ${path}`));
  return `  local line='' word='' skip='' at
  for ((at = ${first}; at < ${current}; at++)); do
    word="\${${array}[at]}"
    if [[ -n $skip ]]; then skip=''; continue; fi
    case "$word" in
      ${flagsWithValue(words).join('|')}) skip=1; continue ;;
      -*) continue ;;
    esac
    case "$line $word" in
      ${paths.join('|')}) line="$line $word" ;;
    esac
  done
`;
}

function bash(words: readonly CommandWords[]): string {
  const values = valued(words).map(({ path, flag, choices, isFile }) => {
    const action = isFile ? 'compgen -f' : `compgen -W ${quoted(choices.join(' '))}`;
    const line = path === '' ? '' : ` ${path}`;
    return `    ${quoted(`${line} ${flag}`)}) mapfile -t COMPREPLY < <(${action} -- "$current"); return ;;\n`;
  });
  const cases = words.map(({ path, commands, options, takesFile }) => {
    const names = quoted(commands.map(({ name }) => name).join(' '));
    const flags = quoted(options.map(({ flag }) => flag).join(' '));
    return `    ${quoted(path === '' ? '' : ` ${path}`)}) commands=${names} flags=${flags}${takesFile ? ' file=1' : ''} ;;\n`;
  });
  return `_transfer_service() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" commands='' flags='' file=''
${findPath(words, 'COMP_WORDS', 1, 'COMP_CWORD')}  case "$line $previous" in
${values.join('')}  esac
  COMPREPLY=()
  if [[ -n $skip ]]; then return; fi
  case "$line" in
${cases.join('')}  esac
  if [[ $current == -* ]]; then mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$current")
  elif [[ -n $file ]]; then mapfile -t COMPREPLY < <(compgen -f -- "$current")
  else mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
  fi
}
complete -F _transfer_service ${NAME}
`;
}

/** A word with its description, as \`_describe\` of zsh reads it. */
function described(name: string, about: string): string {
  return quoted(`${name.replaceAll(':', '\\:')}:${about.replaceAll('\\', '\\\\').replaceAll(':', '\\:')}`);
}

function zsh(words: readonly CommandWords[]): string {
  const values = valued(words).map(({ path, flag, choices, isFile }) => {
    const action = isFile ? '_files' : `compadd -- ${choices.map(quoted).join(' ')}`;
    const line = path === '' ? '' : ` ${path}`;
    return `    (${quoted(`${line} ${flag}`)}) ${action}; return ;;\n`;
  });
  const cases = words.map(({ path, commands, options, takesFile }) => {
    const names = commands.map(({ name, about }) => described(name, about)).join(' ');
    const flags = options.map(({ flag, about }) => described(flag, about)).join(' ');
    return `    (${quoted(path === '' ? '' : ` ${path}`)}) commands=(${names}) flags=(${flags})${takesFile ? ' file=1' : ''} ;;\n`;
  });
  return `_transfer_service() {
  local -a commands flags
  local file=''
${findPath(words, 'words', 2, 'CURRENT')}  case "$line \${words[CURRENT-1]}" in
${values.join('')}  esac
  if [[ -n $skip ]]; then return 1; fi
  case "$line" in
${cases.join('')}  esac
  if [[ \${words[CURRENT]} == -* ]]; then _describe -o 'option' flags
  elif [[ -n $file ]]; then _files
  else _describe 'command' commands
  fi
}
if [[ \${funcstack[1]} == _transfer_service ]]; then _transfer_service "$@"; else compdef _transfer_service ${NAME}; fi
`;
}

/** A word between single quotes, for fish. */
function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

function fish(words: readonly CommandWords[]): string {
  const paths = words.filter(({ path }) => path !== '').map(({ path }) => fishQuoted(path));
  const lines = words.flatMap(({ path, commands, options, takesFile }) => {
    const at = `complete -c ${NAME} -n ${fishQuoted(`__transfer_service_at ${fishQuoted(path)}`)}`;
    return [
      ...commands.map(({ name, about }) => `${at} -a ${name} -d ${fishQuoted(about)}`),
      ...options.map(({ flag, about, takesValue, choices, isFile }) => {
        const value = isFile ? ' -r -F' : takesValue ? ' -x' : '';
        const among = choices.length === 0 ? '' : ` -a ${fishQuoted(choices.join(' '))}`;
        return `${at} -l ${flag.slice(2)}${value}${among} -d ${fishQuoted(about)}`;
      }),
      ...(takesFile ? [`${at} -F`] : []),
    ];
  });
  return `function __transfer_service_at
    set -l line ''
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
        else if contains -- $word ${flagsWithValue(words).join(' ')}
            set skip 1
        else if contains -- (string trim -- "$line $word") ${paths.join(' ')}
            set line (string trim -- "$line $word")
        end
    end
    test "$line" = "$argv[1]"
end
complete -c ${NAME} -f
${lines.join('\n')}
`;
}

export type OptionWord = {
  readonly flag: string;
  readonly about: string;
  /** Whether a value follows. */
  readonly takesValue: boolean;
  /** The allowed values; empty if any value is allowed. */
  readonly choices: readonly string[];
  readonly isFile: boolean;
};

export type CommandWords = {
  /** The words of its path, joined by spaces; empty for the program itself. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly about: string }[];
  readonly options: readonly OptionWord[];
  /** Whether one of its arguments is a file. */
  readonly takesFile: boolean;
};

/** Returns every command of the program, with the words that can follow it. */
export function commandWords(program: Command): readonly CommandWords[] {
  const globals = program.options.filter(({ long }) => long !== '--version').map(optionWord);
  return wordsOf(program, '', globals);
}

function wordsOf(command: Command, path: string, globals: readonly OptionWord[]): readonly CommandWords[] {
  const own = command.options.map(optionWord);
  const inherited = globals.filter(({ flag }) => !own.some((option) => option.flag === flag));
  const help: OptionWord = { flag: '--help', about: 'show help', takesValue: false, choices: [], isFile: false };
  const words: CommandWords = {
    path,
    commands: [
      ...command.commands.map((inner) => ({ name: inner.name(), about: inner.description() })),
      // The values of an argument are completed like commands.
      ...command.registeredArguments.flatMap(({ argChoices = [], description }) =>
        argChoices.map((name) => ({ name, about: description })),
      ),
    ],
    options: [...own, ...inherited, help],
    takesFile: command.registeredArguments.some((argument) => argument.name() === 'file'),
  };
  // An alias has the same subcommands.
  const inner = command.commands.flatMap((one) =>
    [one.name(), ...one.aliases()].flatMap((name) => wordsOf(one, path === '' ? name : `${path} ${name}`, globals)),
  );
  return [words, ...inner];
}

function optionWord({ long, description, required, argChoices, flags }: Option): OptionWord {
  return {
    flag: long ?? '',
    about: description,
    takesValue: required,
    choices: argChoices ?? [],
    isFile: /<(file|directory)>/.test(flags),
  };
}

export function flagsWithValue(words: readonly CommandWords[]): readonly string[] {
  const flags = words.flatMap(({ options }) => options.filter(({ takesValue }) => takesValue));
  return [...new Set(flags.map(({ flag }) => flag))];
}
