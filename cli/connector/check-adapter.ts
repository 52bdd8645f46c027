import { adapterAt } from './adapter.ts';
import { RULES } from './rules.ts';
import { NotApplicable, Trial, Violation } from './trial.ts';

/** How an adapter keeps one rule. */
export type RuleResult = {
  readonly rule: string;
  readonly outcome: 'passed' | 'failed' | 'not_applicable';
  readonly expected: string;
  /** What it did instead, or why the rule does not apply; null if it passed. */
  readonly came: string | null;
  readonly why: string;
};

/** The adapter to check. */
export type AdapterToCheck = {
  /** The base URL. */
  readonly url: string;
  /** `whsec_…`. */
  readonly secret: string;
  /** The `processor_token` of the orders, which the processor has to approve. */
  readonly token: string;
};

/**
 * Checks an adapter by every rule of the contract, one after the other; about twenty orders of 1.15 USD are executed. Ends after
 * the first rule if there is no answer at all. Throws what is not about the adapter, such as an InvalidArgument for the secret.
 */
export async function* checkAdapter({ url, secret, token }: AdapterToCheck): AsyncGenerator<RuleResult> {
  const trial = new Trial(adapterAt(url, secret), token);
  for (const { name, expected, why, check } of RULES) {
    const result = { rule: name, expected, why };
    try {
      await check(trial);
      yield { ...result, outcome: 'passed', came: null };
    } catch (error) {
      if (error instanceof NotApplicable) yield { ...result, outcome: 'not_applicable', came: error.message };
      else if (error instanceof Violation) yield { ...result, outcome: 'failed', came: error.message };
      else throw error;
      if (name === 'health' && error.message.includes('no answer')) return;
    }
  }
}
