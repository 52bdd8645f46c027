import { Argument } from 'commander';
import type { AddCommands } from '../command.ts';
import { SHELLS, type Shell } from '../completion/scripts.ts';

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

/** Adds `completion`. */
export const addCompletion: AddCommands = (program, { write }) => {
  program
    .command('completion')
    .description('print the script for completion in bash, zsh or fish')
    .addArgument(new Argument('<shell>', 'your shell').choices(SHELLS))
    .addHelpText('after', NOTES)
    .action(async (shell: Shell) => {
      // Loaded on demand: no other command needs it.
      const [{ commandWords }, { completionScript }] = await Promise.all([
        import('../completion/command-words.ts'),
        import('../completion/scripts.ts'),
      ]);
      write(completionScript(shell, commandWords(program)));
    });
};
