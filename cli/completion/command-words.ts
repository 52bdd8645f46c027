import type { Command, Option } from 'commander';

/** An option as a shell completes it. */
export type OptionWord = {
  readonly flag: string;
  readonly about: string;
  /** Whether a value follows. */
  readonly takesValue: boolean;
  /** The values there are; empty if it can be anything. */
  readonly choices: readonly string[];
  readonly isFile: boolean;
};

/** A command with what can be typed after it. */
export type CommandWords = {
  /** The words that lead to it, joined by blanks; empty for the command line itself. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly about: string }[];
  readonly options: readonly OptionWord[];
  /** Whether an argument of it is a file. */
  readonly takesFile: boolean;
};

/** Every command of a command line, with what can be typed after it. */
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
      // The values of an argument are completed as commands are.
      ...command.registeredArguments.flatMap(({ argChoices = [], description }) =>
        argChoices.map((name) => ({ name, about: description })),
      ),
    ],
    options: [...own, ...inherited, help],
    takesFile: command.registeredArguments.some((argument) => argument.name() === 'file'),
  };
  // An alias leads to the same place.
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

/** The flags after which a value follows, whatever the command. */
export function flagsWithValue(words: readonly CommandWords[]): readonly string[] {
  const flags = words.flatMap(({ options }) => options.filter(({ takesValue }) => takesValue));
  return [...new Set(flags.map(({ flag }) => flag))];
}
