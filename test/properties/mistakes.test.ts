import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NOTHING_USED } from '../../domain/ledger/limits.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { TransferView } from '../../domain/transfers/transfer-view.ts';
import { calendarAt } from '../harness/local-time.ts';
import { agreement, RUNS, told } from './transfer-run.ts';
import { type Decisions, DOMAIN } from './transfer-world.ts';

// Proves that the stories find mistakes: they must find each of these.

/** The view as a decision would have it that looks away from something. */
const blind =
  (changed: (view: TransferView) => Partial<TransferView>) =>
  (view: TransferView): TransferView => ({ ...view, ...changed(view) });

const withRules = (changed: (view: TransferView) => Partial<TransferView['rules']>) =>
  blind((view) => ({ rules: { ...view.rules, ...changed(view) } }));

const everyCardActive = blind(({ card, destinationCard }) => ({
  card: card && { ...card, status: 'active', expiresOn: null },
  destinationCard: destinationCard && { ...destinationCard, status: 'active', expiresOn: null },
}));

/** Changes a plan, and leaves a refusal as it is. */
function spoil<Plan extends object>(plan: Plan | Refusal, changed: (plan: Plan) => Partial<Plan>): Plan | Refusal {
  return plan instanceof Refusal ? plan : { ...plan, ...changed(plan) };
}

/** Decisions with one mistake each, of the kind that one makes. */
const MISTAKES: Readonly<Record<string, Partial<Decisions>>> = {
  'forgets to give back to limits on cancel': {
    cancel: (existing, view) => spoil(DOMAIN.cancel(existing, view), () => ({ counts: [] })),
  },
  'gives back on cancel to today, not to the day of the hold': {
    cancel: (existing, view) =>
      spoil(DOMAIN.cancel(existing, view), ({ counts }) => ({
        counts: counts.map((change) => ({ ...change, dayStart: view.rules.calendar.day.start })),
      })),
  },
  'gives back the amount of an expired hold, but not that it was one transfer': {
    expire: (existing, view) =>
      spoil(DOMAIN.expire(existing, view), ({ counts }) => ({
        counts: counts.map((change) => ({ ...change, count: 0n })),
      })),
  },
  'keeps counting what a capture in part has released': {
    capture: (...asked) => spoil(DOMAIN.capture(...asked), () => ({ counts: [] })),
  },
  'keeps holding what a capture in part should release': {
    capture: (existing, amount, view) =>
      spoil(DOMAIN.capture(existing, amount, view), ({ accounts, transfer }) => ({
        accounts: accounts.map((account) =>
          account.accountId === existing.hold?.sourceAccountId
            ? { ...account, held: account.held + transfer.amount - transfer.capturedAmount }
            : account,
        ),
      })),
  },
  'counts a reversal back': {
    reverse: (transfer, asked, view) =>
      spoil(DOMAIN.reverse(transfer, asked, view), ({ reversal }) => ({
        counts: [
          {
            accountId: (transfer.type === 'card_to_card' ? view.destinationCard : view.card)?.accountId ?? '',
            direction: transfer.type === 'unload' ? 'out' : 'in',
            dayStart: view.rules.calendar.day.start,
            amount: -reversal.amount,
            count: 0n,
          },
        ],
      })),
  },
  'reverses up to what was asked for, not up to what was captured': {
    reverse: (transfer, asked, view) =>
      spoil(DOMAIN.reverse({ ...transfer, capturedAmount: transfer.amount }, asked, view), (plan) => ({
        transfer: { ...plan.transfer, capturedAmount: transfer.capturedAmount },
      })),
  },
  'lets an expired hold be captured while the loop has not come by': {
    capture: (existing, amount, view) => {
      const inTime = Math.min(view.now, (existing.transfer.expiresAt ?? view.now + 1) - 1);
      return DOMAIN.capture(existing, amount, { ...view, now: inTime });
    },
  },
  'lets a hold end a second early': {
    expire: (existing, view) => DOMAIN.expire(existing, { ...view, now: view.now + 1000 }),
  },
  'does not look at the state of the cards again when it captures': {
    capture: (existing, amount, view) => DOMAIN.capture(existing, amount, everyCardActive(view)),
  },
  'finds no room for a part of a hold where there is none for all of it': {
    capture: (existing, amount, view) => {
      const whole = DOMAIN.capture(existing, null, view);
      const isFull = whole instanceof Refusal && whole.code === 'limit_exceeded';
      return isFull ? whole : DOMAIN.capture(existing, amount, view);
    },
  },
  'makes what is due although the service is disabled': {
    execute: (transfer, view) => DOMAIN.execute(transfer, { ...view, switches: [] }),
  },
  'does not hold what is due to the limits of periods': {
    execute: (transfer, view) => DOMAIN.execute(transfer, { ...view, usage: () => NOTHING_USED }),
  },
  'begins days at midnight in UTC': {
    create: (asked, view) => DOMAIN.create(asked, withRules(({ now }) => ({ calendar: calendarAt(now, 'UTC') }))(view)),
  },
  'holds cards in another currency to the limits of the program': {
    create: (asked, view) =>
      DOMAIN.create(asked, withRules(({ card, rules }) => ({ currency: card?.currency ?? rules.currency }))(view)),
  },
  'takes one reference for two transfers': {
    create: (asked, view) => DOMAIN.create(asked, { ...view, referenceTakenBy: undefined }),
  },
  'closes a card that money is on hold for': {
    updateCard: (asked, profile, view) => {
      const account = (accountId: string) => ({ ...view.account(accountId), incoming: 0n });
      return DOMAIN.updateCard(asked, profile, { ...view, account });
    },
  },
  'counts what it takes off a card that is closed': {
    updateCard: (asked, profile, view) =>
      spoil(DOMAIN.updateCard(asked, profile, view), ({ sweep }) => ({
        sweep: sweep && {
          ...sweep,
          counts: [
            {
              accountId: asked.cardName,
              direction: 'out',
              dayStart: view.rules.calendar.day.start,
              amount: sweep.transfer.amount,
              count: 1n,
            },
          ],
        },
      })),
  },
  'numbers two postings of an account alike': {
    reverse: (transfer, asked, view) =>
      spoil(DOMAIN.reverse(transfer, asked, view), ({ accounts }) => ({
        accounts: accounts.map((account) => ({ ...account, sequence: account.sequence - 1n })),
      })),
  },
};

describe('a domain that', () => {
  // The same stories every time, so that a mistake that is found once is found always.
  test.each(Object.entries(MISTAKES))('%s is detected', (_mistake, wrong) => {
    const outcome = fc.check(agreement({ ...DOMAIN, ...wrong }), { numRuns: RUNS, seed: 1, endOnFailure: true });
    expect(outcome.failed).toBe(true);
    expect(`${outcome.errorInstance}`).toContain('The domain and the model differ.');
  });

  test('is wrong is shown in a minimal number of steps', () => {
    const wrong = { ...DOMAIN, ...MISTAKES['lets an expired hold be captured while the loop has not come by'] };
    const lines = told(fc.check(agreement(wrong), { numRuns: RUNS, seed: 1 }), wrong).split('\n');
    expect(lines.filter((line) => /^ +[0-9]/.test(line))).toEqual([
      expect.stringMatching(/^ {2}1\. 20\S+Z create \{asked \{type .*, capture manual\}\} -> done$/),
      expect.stringMatching(/^ {2}2\. 20\S+Z wait_until \{now 20\S+Z\} -> done$/),
      expect.stringMatching(
        /^ {2}3\. 20\S+Z capture \{transfer 0.*\} -> refused, invalid_transfer_status: has been expired since /,
      ),
    ]);
    expect(lines.slice(-3)).toEqual([
      'domain: done',
      expect.stringMatching(/^model: {2}refused, invalid_transfer_status: has been expired since /),
      expect.stringMatching(/^Found in story \d+: \{ seed: 1, path: '[\d:]+' \}$/),
    ]);
  });
});
