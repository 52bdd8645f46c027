import { expect, test } from 'vitest';
import { adapterAt } from '../../../cli/connector/adapter.ts';
import { RULES } from '../../../cli/connector/rules.ts';
import { Trial } from '../../../cli/connector/trial.ts';
import { run } from '../../../cli/program.ts';
import { deadUrl } from '../../sdk/canned-service.ts';
import { checked, newSecret } from '../simulated.ts';
import { type Deviation, startDeviating } from './deviating-adapter.ts';

/** Runs `connector check` with the secret in an environment variable. */
async function checkCommand(url: string, secret: string | undefined, ...more: readonly string[]) {
  let output = '';
  let errors = '';
  const exitCode = await run(['connector', 'check', url, '--secret-variable', 'ADAPTER_SECRET', ...more], {
    environment: {
      url: 'http://127.0.0.1:1',
      key: undefined,
      program: undefined,
      webhookSecret: undefined,
      isRunByNpm: false,
      variable: (name) => (name === 'ADAPTER_SECRET' ? secret : undefined),
    },
    write: (text) => {
      output += text;
    },
    writeAll: async () => undefined,
    writeError: (text) => {
      errors += text;
    },
    untilEnded: () => new AbortController().signal,
    confirm: undefined,
  });
  return { exitCode, output, errors };
}

const DEVIATIONS: readonly (readonly [Deviation, readonly string[]])[] = [
  ['no_health', ['health']],
  ['no_signature_needed', ['unsigned']],
  ['any_signature', ['wrongly_signed', 'changed_body', 'other_path', 'old_signature', 'early_signature']],
  ['any_path', ['other_path']],
  ['any_time', ['old_signature', 'early_signature']],
  ['one_signature', ['several_signatures']],
  [
    'acts_before_it_verifies',
    ['unsigned', 'wrongly_signed', 'changed_body', 'other_path', 'old_signature', 'early_signature'],
  ],
  ['bad_json_is_500', ['not_json', 'not_an_order']],
  ['any_amount', ['not_an_order', 'other_order']],
  ['refuses_unknown_fields', ['unknown_fields']],
  ['counts_in_floats', ['send']],
  ['leaves_out_null', ['send']],
  ['long_code', ['send']],
  ['other_amount', ['unknown_fields', 'send', 'send_again', 'send_at_once', 'other_order', 'inquire']],
  ['pays_again', ['send_again', 'send_at_once', 'not_after_executed']],
  ['takes_any_order_for_the_first', ['other_order']],
  ['forgets', ['send_at_once', 'other_order', 'inquire', 'reverse', 'reverse_then_send']],
  ['finds_everything', ['inquire_unknown']],
  ['ignores_not_after', ['not_after']],
  ['looks_at_not_after_first', ['not_after_executed']],
  ['reverses_nothing', ['reverse', 'reverse_then_send', 'reverse_before_send']],
  ['reverses_once', ['reverse_again']],
  ['executes_reversed', ['reverse_then_send', 'reverse_before_send']],
  ['forgets_early_reversals', ['reverse_before_send']],
];

test('an adapter without deviations passes', async () => {
  const secret = newSecret();
  const results = await checked(await startDeviating(null, secret), secret);
  expect(results.filter(({ outcome }) => outcome !== 'passed')).toEqual([]);
});

test.each(DEVIATIONS)('an adapter with the deviation %s breaks %j', async (deviation, broken) => {
  const secret = newSecret();
  const results = await checked(await startDeviating(deviation, secret), secret);
  const failed = results.filter(({ outcome }) => outcome === 'failed');
  expect(failed.map(({ rule }) => rule)).toEqual(expect.arrayContaining([...broken]));
  for (const { detail } of failed) expect(detail).toMatch(/^\S.*\.$/s);
});

test('an adapter that reads first and writes later executes two concurrent orders twice, and the check finds this', async () => {
  const secret = newSecret();
  const url = await startDeviating('looks_first_and_writes_later', secret);
  // Only this rule sends two orders at once. The orders of other rules would wait for a second one that never comes.
  const rule = RULES.find(({ name }) => name === 'send_at_once');
  await expect(rule?.check(new Trial(adapterAt(url, secret), 'card_1'))).rejects.toThrow('There are two executions');
});

test('a deviation from every rule is tested, and each rule gives its expectation and reason in full sentences', () => {
  const broken = new Set(DEVIATIONS.flatMap(([, rules]) => rules));
  expect(RULES.map(({ name }) => name).filter((name) => !broken.has(name))).toEqual([]);
  for (const { expected, why } of RULES) for (const text of [expected, why]) expect(text).toMatch(/^\S.*\.$/);
});

test.each([
  ['leaves_out_null', 'send', '/send answered without code, which is required: send null if there is none.'],
  ['counts_in_floats', 'send', '/send answered with amount 114; the order has 115.'],
  ['long_code', 'send', "In the answer, 'code' is missing or does not follow the contract."],
  ['bad_json_is_500', 'not_an_order', 'To an order without an amount, /send answered with 500 and {}.'],
  [
    'takes_any_order_for_the_first',
    'other_order',
    'To the order with a different amount, /send answered with 200 and {',
  ],
] as const)('the result for %s names the actual answer', async (deviation, rule, detail) => {
  const secret = newSecret();
  const results = await checked(await startDeviating(deviation, secret), secret);
  expect(results.find((result) => result.rule === rule)?.detail).toContain(detail);
});

test('an answer after the time limit counts as no answer', async () => {
  const secret = newSecret();
  const health = adapterAt(await startDeviating('never_answers', secret), secret, 50).health();
  expect((await health).text).toBe('no answer: none within 0.05 seconds, the longest that the service waits');
});

test('the command prints the number of rules that passed, and exits with 0 or 1', async () => {
  const secret = newSecret();
  const passed = await checkCommand(await startDeviating(null, secret), secret);
  expect(passed.output).toMatch(/^ok {6}health\nok {6}unsigned\n/);
  expect(passed.output).toContain(`\n${RULES.length} of ${RULES.length} rules passed, 0 failed\n`);
  expect(passed.exitCode).toBe(0);
  const failed = await checkCommand(await startDeviating('ignores_not_after', secret), secret);
  expect(failed.output).toContain(
    'failed  not_after\n' +
      '        Expected: An order is not executed after its not_after; the answer is\n' +
      '                  not_executed.\n' +
      '        Actual:   /send answered with status "approved".\n' +
      '        Why:      A request can be delayed until after the service has returned\n' +
      '                  the money.\n',
  );
  expect(failed.output).toContain(`\n${RULES.length - 1} of ${RULES.length} rules passed, 1 failed\n`);
  expect(failed.exitCode).toBe(1);
});

test('the command prints the results as JSON, with the given token', async () => {
  const secret = newSecret();
  const url = await startDeviating('no_health', secret);
  const { output, exitCode } = await checkCommand(url, secret, '--token', 'card_1', '--json');
  const { passed, failed, not_applicable, rules } = JSON.parse(output);
  expect([passed, failed, not_applicable, exitCode]).toEqual([RULES.length - 1, 1, 0, 1]);
  expect(rules[0]).toMatchObject({ rule: 'health', outcome: 'failed', detail: 'It answered with 200 and {}.' });
});

test('one rule fails if no adapter responds, and the others are skipped', async () => {
  const { output, exitCode } = await checkCommand(await deadUrl(), newSecret());
  expect(output).toMatch(
    /^failed {2}health\n(?:.|\n)*no answer: connect ECONNREFUSED(?:.|\n)*\n0 of 1 rules passed, 1 failed\n$/,
  );
  expect(exitCode).toBe(1);
});

test.each([
  ['a missing variable', 'http://127.0.0.1:1', undefined, 'there is no environment variable ADAPTER_SECRET'],
  ['a malformed secret', 'http://127.0.0.1:1', 'abc', 'must be whsec_ followed by Base64'],
  ['a malformed URL', '127.0.0.1:4000', newSecret(), 'the argument must be a URL such as http://127.0.0.1:4000'],
])('the command refuses %s before it sends anything', async (_, url, secret, message) => {
  const { output, errors, exitCode } = await checkCommand(url, secret);
  expect(errors.replaceAll(/\s+/g, ' ')).toContain(message);
  expect([output, exitCode]).toEqual(['', 2]);
});
