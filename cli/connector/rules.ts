import { signWebhook } from '../../sdk/webhook-signature.ts';
import { adapterAt, type Call, type Signing } from './adapter.ts';
import { NotApplicable, Trial, Violation } from './trial.ts';

/** A rule of the adapter contract. */
export type Rule = {
  readonly name: string;
  /** What an adapter does, in a sentence. */
  readonly expected: string;
  /** What would go wrong otherwise, in a sentence. */
  readonly why: string;
  /** Throws a Violation, or NotApplicable. */
  readonly check: (trial: Trial) => Promise<void>;
};

const CALLS: readonly Call[] = ['send', 'inquire', 'reverse'];

/** Ten minutes, twice the window of a signature. */
const OUTSIDE_SECONDS = 600;
const LONG_PAST = '2020-01-01T00:00:00.000Z';
/** Enough for two of them to meet in an adapter that looks first and writes later. */
const AT_ONCE = 5;

const signedAt =
  (seconds: number): Signing =>
  async (id, body, secret) => ({
    ...(await signWebhook({ id, body, signedAt: new Date(Date.now() + seconds * 1000) }, secret)),
  });

/** Every call has to be refused with 401, and the order must not have come in. */
async function expectUnauthorized(trial: Trial, signing: Signing): Promise<void> {
  const order = trial.order();
  for (const call of CALLS) trial.expectRefusal(call, await trial.raw(call, order, signing), 401);
  await trial.ask('inquire', order, 'not_found');
}

/** The rules, in the order in which they are checked. */
export const RULES: readonly Rule[] = [
  {
    name: 'health',
    expected: 'GET /health answers with 200 and {"status": "ok"}.',
    why: 'After failures the service sends nothing until this works again.',
    check: async (trial) => {
      const { status, text, record } = await trial.health();
      if (status !== 200 || record?.status !== 'ok')
        throw new Violation(`It answered with ${status === undefined ? '' : `${status} and `}${text.slice(0, 200)}.`);
    },
  },
  {
    name: 'unsigned',
    expected: 'A request without a signature is refused with 401, and nothing is done.',
    why: 'Whoever reaches the adapter could move money.',
    check: (trial) => expectUnauthorized(trial, async () => ({})),
  },
  {
    name: 'wrongly_signed',
    expected: 'A request that is signed with another secret is refused with 401.',
    why: 'A signature that is not compared protects nothing.',
    check: (trial) =>
      expectUnauthorized(trial, async (id, body) => ({
        ...(await signWebhook({ id, body }, `whsec_${btoa('not the secret of this adapter')}`)),
      })),
  },
  {
    name: 'changed_body',
    expected: 'A request whose body is not the one that was signed is refused with 401.',
    why: 'Somebody between the service and the adapter could change the amount.',
    check: (trial) =>
      expectUnauthorized(trial, async (id, body, secret) => ({
        ...(await signWebhook({ id, body: `${body} ` }, secret)),
      })),
  },
  {
    name: 'other_path',
    expected: 'A request whose signature is that of another path is refused with 401.',
    why: 'An inquiry that somebody has recorded could be sent again as an order.',
    check: (trial) =>
      expectUnauthorized(trial, async (id, text, secret) => {
        const other = text.startsWith('POST /inquire.') ? 'POST /reverse.' : 'POST /inquire.';
        return { ...(await signWebhook({ id, body: text.replace(/^POST \/[a-z]+\./, other) }, secret)) };
      }),
  },
  {
    name: 'old_signature',
    expected: 'A request that was signed ten minutes ago is refused with 401.',
    why: 'A request that somebody has recorded could be sent again at any time.',
    check: (trial) => expectUnauthorized(trial, signedAt(-OUTSIDE_SECONDS)),
  },
  {
    name: 'early_signature',
    expected: 'A request that is signed for a time in ten minutes is refused with 401.',
    why: 'It could be kept, and sent when nobody expects it any more.',
    check: (trial) => expectUnauthorized(trial, signedAt(OUTSIDE_SECONDS)),
  },
  {
    name: 'several_signatures',
    expected: 'Of several signatures, separated by spaces, one that is right is enough.',
    why: 'While a secret is replaced, there is a signature for the old one and one for the new one.',
    check: async (trial) => {
      const order = trial.order();
      const returned = await trial.raw('inquire', order, async (id, body, secret) => {
        const headers = await signWebhook({ id, body }, secret);
        const other = `v1,${btoa('a signature by another secret!!!')}`;
        return { ...headers, 'webhook-signature': `${other} ${headers['webhook-signature']}` };
      });
      trial.expectRefusal('inquire', returned, 200);
    },
  },
  {
    name: 'not_json',
    expected: 'A signed body that is not JSON is refused with 400.',
    why: 'With any other answer the service has to take the outcome for unknown.',
    check: async (trial) => {
      for (const call of CALLS) trial.expectRefusal(call, await trial.raw(call, '{"attempt_id": '), 400);
    },
  },
  {
    name: 'not_an_order',
    expected: 'An order without an amount, or with one that is not a whole number above 0, is refused with 400.',
    why: 'An amount that is guessed, or rounded, is money that nobody has ordered to move.',
    check: async (trial) => {
      for (const amount of [undefined, 10.5, 0, -100, '100'])
        trial.expectRefusal(
          'send',
          await trial.raw('send', { ...trial.order(), amount }),
          400,
          `To an order ${amount === undefined ? 'without an amount' : `with the amount ${JSON.stringify(amount)}`}, `,
        );
    },
  },
  {
    name: 'unknown_fields',
    expected: 'Fields that the adapter does not know are ignored.',
    why: 'A later version of the service may add one, and every order would fail from then on.',
    check: async (trial) => {
      const order = { ...trial.order(), a_later_field: { of: ['any', 'kind'] } };
      await trial.sent(order);
    },
  },
  {
    name: 'send',
    expected: 'An order is answered with its own attempt_id, amount and currency, and approved or pending.',
    why: 'An answer that differs from its order is an unknown outcome, because it may be about another one.',
    check: async (trial) => {
      await trial.sent(trial.order());
    },
  },
  {
    name: 'send_again',
    expected: 'The same order again has the result of the first, and is executed once.',
    why: 'An order whose answer was lost is sent again under its id: executed twice, it pays twice.',
    check: async (trial) => {
      const order = trial.order();
      const first = await trial.sent(order);
      for (let again = 0; again < 2; again += 1) trial.expectSame(first, await trial.sent({ ...order, repeat: true }));
    },
  },
  {
    name: 'send_at_once',
    expected: 'The same order several times at once is executed once.',
    why: 'An order can be sent again while the first request is still on its way.',
    check: async (trial) => {
      const order = trial.order();
      const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => trial.sent(order)));
      const found = await trial.ask('inquire', order, 'approved', 'pending');
      for (const [index, answer] of answers.entries()) trial.expectSame(answers[index - 1] ?? found, answer);
      for (const answer of answers) trial.expectSame(found, answer);
    },
  },
  {
    name: 'other_order',
    expected: 'Another amount, card or kind under the same attempt_id is refused with 409, and the first order stands.',
    why: 'One of the two is a mistake, and nobody knows which: neither may be taken for the other.',
    check: async (trial) => {
      const order = trial.order();
      const first = await trial.sent(order);
      const others = { amount: order.amount + 1, processor_token: `${order.processor_token}x`, kind: 'pull' };
      for (const [name, value] of Object.entries(others)) {
        const returned = await trial.raw('send', { ...order, [name]: value, repeat: true });
        trial.expectRefusal('send', returned, 409, `To the order with another ${name}, `);
      }
      trial.expectSame(first, await trial.ask('inquire', order, 'approved', 'pending'));
    },
  },
  {
    name: 'inquire',
    expected: 'An inquiry by attempt_id finds the order, with the reference that /send gave.',
    why: 'After a lost answer the service knows nothing but its own id.',
    check: async (trial) => {
      const order = trial.order();
      trial.expectSame(await trial.sent(order), await trial.ask('inquire', order, 'approved', 'pending'));
    },
  },
  {
    name: 'inquire_unknown',
    expected: 'An inquiry about an id that never came is answered with not_found.',
    why: 'The service gives the money back only when it knows that nothing was executed.',
    check: async (trial) => {
      await trial.ask('inquire', trial.order(), 'not_found');
    },
  },
  {
    name: 'not_after',
    expected: 'An order is not executed after its not_after; the answer is not_executed.',
    why: 'A request can be delayed until after the service has given the money back.',
    check: async (trial) => {
      const order = trial.order({ not_after: LONG_PAST });
      await trial.ask('send', order, 'not_executed');
      await trial.ask('inquire', order, 'not_executed', 'not_found');
    },
  },
  {
    name: 'not_after_executed',
    expected:
      'An order that was executed in time is still answered as executed when it comes again after its not_after.',
    why: 'not_executed would make the service give back money that has moved.',
    check: async (trial) => {
      const order = trial.order();
      const first = await trial.sent(order);
      trial.expectSame(first, await trial.sent({ ...order, not_after: LONG_PAST, repeat: true }));
    },
  },
  {
    name: 'reverse',
    expected: 'A reversal is acknowledged with reversed, and an inquiry says so.',
    why: 'The service repeats it until it is acknowledged, and gives the money back only then.',
    check: async (trial) => {
      const order = trial.order();
      await trial.sent(order);
      await trial.reversed(order);
      await trial.ask('inquire', order, 'reversed');
    },
  },
  {
    name: 'reverse_again',
    expected: 'The same reversal again is acknowledged again, and reverses nothing more.',
    why: 'Its acknowledgement can be lost as any other answer can.',
    check: async (trial) => {
      const order = trial.order();
      await trial.sent(order);
      trial.expectSame(await trial.reversed(order), await trial.reversed(order));
    },
  },
  {
    name: 'reverse_then_send',
    expected: 'An order that was reversed is not executed again; the answer is not_executed.',
    why: 'A delayed request would execute what the service has written off.',
    check: async (trial) => {
      const order = trial.order();
      await trial.sent(order);
      await trial.reversed(order);
      await trial.ask('send', { ...order, repeat: true }, 'not_executed');
      await trial.ask('inquire', order, 'reversed');
    },
  },
  {
    name: 'reverse_before_send',
    expected: 'An order whose reversal came first, and was acknowledged with reversed, is not executed when it comes.',
    why: 'The reversal of a delayed order can overtake it.',
    check: async (trial) => {
      const order = trial.order();
      const { status } = await trial.reversed(order, 'not_found');
      if (status === 'reversed') await trial.ask('send', order, 'not_executed');
    },
  },
];

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
