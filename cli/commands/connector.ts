import { printable } from '../../domain/printable-text.ts';
import { InvalidArgument } from '../../sdk/client.ts';
import { readSecret } from '../../sdk/webhook-signature.ts';
import { type AddCommands, addCommand, type OptionsFor } from '../command.ts';
import type { RuleResult } from '../connector/rules.ts';
import { EXIT_CODES } from '../failure.ts';
import { wrap } from '../output.ts';
import { bad, good } from '../paint.ts';

type CheckOptions = { readonly secretVariable: string; readonly token?: string };

const OPTIONS: OptionsFor<CheckOptions> = {
  secretVariable: {
    flag: '--secret-variable <name>',
    help: 'environment variable with the secret of the adapter, whsec_...',
    required: true,
  },
  token: { flag: '--token <token>', help: 'processor_token of a card that is approved (default: sim_approve)' },
};

const NOTES = `
Sends about twenty orders of 1.15 USD, and some that the adapter has to refuse.
The processor executes them: use its test environment. Exits with 1 if the
adapter breaks a rule.`;

export const addConnector: AddCommands = (program, context) => {
  const connector = program.command('connector').description('check the adapter of a processor');
  addCommand<CheckOptions>(connector, context, {
    name: 'check <url>',
    argument: 'base URL of the adapter',
    description: 'check an adapter by every rule of the adapter contract',
    options: OPTIONS,
    notes: NOTES,
    run: async (session, { secretVariable, token = 'sim_approve' }, url) => {
      const { environment, json, write, showText, exitWith } = session;
      if (!/^https?:\/\/[^/?#]/.test(url) || !URL.canParse(url) || /[?#]/.test(url))
        throw new InvalidArgument(
          `the argument must be a URL such as http://127.0.0.1:4000, but it is '${printable(url)}'`,
        );
      const secret = environment.variable?.(secretVariable);
      if (secret === undefined)
        throw new InvalidArgument(`there is no environment variable ${printable(secretVariable)}`);
      // An invalid secret is reported now, not with the first rule.
      await readSecret(secret);
      // Loaded on demand: no other command needs it.
      const { checkAdapter } = await import('../connector/rules.ts');
      const results: RuleResult[] = [];
      for await (const result of checkAdapter({ url, secret, token })) {
        results.push(result);
        if (!json) write(textOf(result, session.width));
      }
      const count = (outcome: RuleResult['outcome']) => results.filter((result) => result.outcome === outcome).length;
      const [passed, failed, notApplicable] = [count('passed'), count('failed'), count('not_applicable')];
      const others = notApplicable === 0 ? '' : `, ${notApplicable} not applicable`;
      const summary = `\n${passed} of ${passed + failed} rules passed, ${failed} failed${others}\n`;
      showText({ passed, failed, not_applicable: notApplicable, rules: results }, summary);
      if (failed > 0) exitWith(EXIT_CODES.requestError);
    },
  });
};

/** The width of the outcome before the name of a rule. */
const INDENT = ' '.repeat('failed  '.length);
const LABEL_WIDTH = 'Expected: '.length;

function textOf({ rule, outcome, expected, came, why }: RuleResult, width = 80): string {
  const lines = (label: string, text: string): string => {
    const first = `${INDENT}${label.padEnd(LABEL_WIDTH)}`;
    return wrap(printable(text), first, ' '.repeat(first.length), width);
  };
  if (outcome === 'passed') return `${good('ok'.padEnd(INDENT.length))}${rule}\n`;
  if (outcome === 'not_applicable') return `${'-'.padEnd(INDENT.length)}${rule}\n${lines('Because:', came ?? '')}`;
  const head = `${bad('failed'.padEnd(INDENT.length))}${rule}\n`;
  return `${head}${lines('Expected:', expected)}${lines('Came:', came ?? '')}${lines('Why:', why)}`;
}
