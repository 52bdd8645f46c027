import { signWebhook } from '../../sdk/webhook-signature.ts';
import { adapterAt, type Call, type Signing } from './adapter.ts';
import { NotApplicable, Trial, Violation } from './trial.ts';

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
/** Enough simultaneous requests that two overlap in an adapter that looks for the order first and stores it later. */
const AT_ONCE = 5;

const signedAt =
  (seconds: number): Signing =>
  async (id, body, secret) => ({
    ...(await signWebhook({ id, body, signedAt: new Date(Date.now() + seconds * 1000) }, secret)),
  });

/** Every call has to be refused with 401, and the adapter must not know the order after that. */
async function expectUnauthorized(trial: Trial, signing: Signing): Promise<void> {
  const order = trial.order();
  for (const call of CALLS) trial.expectRefusal(call, await trial.raw(call, order, signing), 401);
  await trial.ask('inquire', order, 'not_found');
}

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
    why: 'Otherwise anyone who reaches the adapter could move money.',
    check: (trial) => expectUnauthorized(trial, async () => ({})),
  },
  {
    name: 'wrongly_signed',
    expected: 'A request signed with a different secret is refused with 401.',
    why: 'An unchecked signature protects nothing.',
    check: (trial) =>
      expectUnauthorized(trial, async (id, body) => ({
        ...(await signWebhook({ id, body }, `whsec_${btoa('not the secret of this adapter')}`)),
      })),
  },
  {
    name: 'changed_body',
    expected: 'A request whose body differs from the signed body is refused with 401.',
    why: 'Otherwise someone between the service and the adapter could change the amount.',
    check: (trial) =>
      expectUnauthorized(trial, async (id, body, secret) => ({
        ...(await signWebhook({ id, body: `${body} ` }, secret)),
      })),
  },
  {
    name: 'other_path',
    expected: 'A request with the signature of a different path is refused with 401.',
    why: 'Otherwise a recorded inquiry could be sent again as an order.',
    check: (trial) =>
      expectUnauthorized(trial, async (id, text, secret) => {
        const other = text.startsWith('POST /inquire.') ? 'POST /reverse.' : 'POST /inquire.';
        return { ...(await signWebhook({ id, body: text.replace(/^POST \/[a-z]+\./, other) }, secret)) };
      }),
  },
  {
    name: 'old_signature',
    expected: 'A request that was signed ten minutes ago is refused with 401.',
    why: 'Otherwise a recorded request could be sent again at any time.',
    check: (trial) => expectUnauthorized(trial, signedAt(-OUTSIDE_SECONDS)),
  },
  {
    name: 'early_signature',
    expected: 'A request with a timestamp ten minutes in the future is refused with 401.',
    why: 'Otherwise it could be kept and sent much later.',
    check: (trial) => expectUnauthorized(trial, signedAt(OUTSIDE_SECONDS)),
  },
  {
    name: 'several_signatures',
    expected: 'If there are several signatures, separated by spaces, one correct signature is enough.',
    why: 'While a secret is being replaced, there are signatures by the old and the new secret.',
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
    why: 'After any other answer the service must treat the outcome as unknown.',
    check: async (trial) => {
      for (const call of CALLS) trial.expectRefusal(call, await trial.raw(call, '{"attempt_id": '), 400);
    },
  },
  {
    name: 'not_an_order',
    expected: 'An order whose amount is missing or not a whole number above 0 is refused with 400.',
    why: 'With a guessed or rounded amount, the processor would move money that no one ordered.',
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
    expected: 'Unknown fields are ignored.',
    why: 'A later version of the service may add a field, and then every order would fail.',
    check: async (trial) => {
      const order = { ...trial.order(), a_later_field: { of: ['any', 'kind'] } };
      await trial.sent(order);
    },
  },
  {
    name: 'send',
    expected: "The answer to an order has its attempt_id, amount and currency, and the status 'approved' or 'pending'.",
    why: 'An answer that differs from its order is an unknown outcome, because it may be about a different order.',
    check: async (trial) => {
      await trial.sent(trial.order());
    },
  },
  {
    name: 'send_again',
    expected: 'A repeated order gets the result of the first one, and is executed once.',
    why: 'If an answer is lost, the order is sent again under its id. Executing it twice would pay twice.',
    check: async (trial) => {
      const order = trial.order();
      const first = await trial.sent(order);
      for (let again = 0; again < 2; again += 1) trial.expectSame(first, await trial.sent({ ...order, repeat: true }));
    },
  },
  {
    name: 'send_at_once',
    expected: 'An order sent several times at once is executed once.',
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
    expected:
      'A different amount, card or kind under the same attempt_id is refused with 409, and the first order does not change.',
    why: 'One of the two is a mistake, and no one knows which, so the adapter must not confuse them.',
    check: async (trial) => {
      const order = trial.order();
      const first = await trial.sent(order);
      const others = { amount: order.amount + 1, processor_token: `${order.processor_token}x`, kind: 'pull' };
      for (const [name, value] of Object.entries(others)) {
        const returned = await trial.raw('send', { ...order, [name]: value, repeat: true });
        trial.expectRefusal('send', returned, 409, `To the order with a different ${name}, `);
      }
      trial.expectSame(first, await trial.ask('inquire', order, 'approved', 'pending'));
    },
  },
  {
    name: 'inquire',
    expected: 'An inquiry by attempt_id finds the order, with the reference that /send gave.',
    why: 'After a lost answer the service has only its own id.',
    check: async (trial) => {
      const order = trial.order();
      trial.expectSame(await trial.sent(order), await trial.ask('inquire', order, 'approved', 'pending'));
    },
  },
  {
    name: 'inquire_unknown',
    expected: 'The answer to an inquiry about an unknown id is not_found.',
    why: 'The service returns the money only when it knows that nothing was executed.',
    check: async (trial) => {
      await trial.ask('inquire', trial.order(), 'not_found');
    },
  },
  {
    name: 'not_after',
    expected: 'An order is not executed after its not_after; the answer is not_executed.',
    why: 'A request can be delayed until after the service has returned the money.',
    check: async (trial) => {
      const order = trial.order({ not_after: LONG_PAST });
      await trial.ask('send', order, 'not_executed');
      await trial.ask('inquire', order, 'not_executed', 'not_found');
    },
  },
  {
    name: 'not_after_executed',
    expected:
      'If an order was executed in time and comes again after its not_after, the answer is still that it was executed.',
    why: 'After not_executed the service would return money that has moved.',
    check: async (trial) => {
      const order = trial.order();
      const first = await trial.sent(order);
      trial.expectSame(first, await trial.sent({ ...order, not_after: LONG_PAST, repeat: true }));
    },
  },
  {
    name: 'reverse',
    expected: "A reversal is answered with the status 'reversed', and so is a later inquiry.",
    why: 'The service repeats it until it is acknowledged, and returns the money only then.',
    check: async (trial) => {
      const order = trial.order();
      await trial.sent(order);
      await trial.reversed(order);
      await trial.ask('inquire', order, 'reversed');
    },
  },
  {
    name: 'reverse_again',
    expected: 'A repeated reversal is acknowledged again, and reverses nothing more.',
    why: 'Its acknowledgement can be lost like any other answer.',
    check: async (trial) => {
      const order = trial.order();
      await trial.sent(order);
      trial.expectSame(await trial.reversed(order), await trial.reversed(order));
    },
  },
  {
    name: 'reverse_then_send',
    expected: 'A reversed order is not executed again; the answer is not_executed.',
    why: 'Otherwise a delayed request would execute an order that the service has written off.',
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
    expected: 'An order that arrives after its acknowledged reversal is not executed.',
    why: 'The reversal of a delayed order can arrive first.',
    check: async (trial) => {
      const order = trial.order();
      const { status } = await trial.reversed(order, 'not_found');
      if (status === 'reversed') await trial.ask('send', order, 'not_executed');
    },
  },
];

export type RuleResult = {
  readonly rule: string;
  readonly outcome: 'passed' | 'failed' | 'not_applicable';
  readonly expected: string;
  /** What it did instead, or why the rule does not apply; null if it passed. */
  readonly detail: string | null;
  readonly why: string;
};

export type AdapterToCheck = {
  readonly url: string;
  /** The secret of the adapter, `whsec_…`. */
  readonly secret: string;
  /** The `processor_token` of the orders, which the processor has to approve. */
  readonly token: string;
};

/**
 * Checks an adapter against every rule of the contract, one after another. About twenty orders of 1.15 USD are
 * executed. Ends after the first rule if nothing answers. Throws other errors, such as an InvalidArgument for the
 * secret.
 */
export async function* checkAdapter({ url, secret, token }: AdapterToCheck): AsyncGenerator<RuleResult> {
  const trial = new Trial(adapterAt(url, secret), token);
  for (const { name, expected, why, check } of RULES) {
    const result = { rule: name, expected, why };
    try {
      await check(trial);
      yield { ...result, outcome: 'passed', detail: null };
    } catch (error) {
      if (error instanceof NotApplicable) yield { ...result, outcome: 'not_applicable', detail: error.message };
      else if (error instanceof Violation) yield { ...result, outcome: 'failed', detail: error.message };
      else throw error;
      if (name === 'health' && error.message.includes('no answer')) return;
    }
  }
}
