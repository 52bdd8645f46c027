import { describe, expect, test } from 'vitest';
import { NOTHING_USED } from '../../../domain/ledger/limits.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { TransferView } from '../../../domain/transfers/transfer-view.ts';
import { calendarAt } from '../../../test/harness/local-time.ts';
import { findDifference } from './run.ts';
import { type Decisions, DOMAIN } from './world.ts';

/** Hides or changes part of the data that a decision sees. */
const blind =
  (changed: (view: TransferView) => Partial<TransferView>) =>
  (view: TransferView): TransferView => ({ ...view, ...changed(view) });

const withRules = (changed: (view: TransferView) => Partial<TransferView['rules']>) =>
  blind((view) => ({ rules: { ...view.rules, ...changed(view) } }));

const everyCardActive = blind(({ card, destinationCard }) => ({
  card: card && { ...card, status: 'active', expiresOn: null },
  destinationCard: destinationCard && { ...destinationCard, status: 'active', expiresOn: null },
}));

/** Changes a plan. Returns a refusal unchanged. */
function withMistake<Plan extends object>(
  plan: Plan | Refusal,
  changed: (plan: Plan) => Partial<Plan>,
): Plan | Refusal {
  return plan instanceof Refusal ? plan : { ...plan, ...changed(plan) };
}

/** Decisions with one typical mistake each. */
const MISTAKES: Readonly<Record<string, Partial<Decisions>>> = {
  'does not lower the counters of limits on cancel': {
    cancel: (existing, view) => withMistake(DOMAIN.cancel(existing, view), () => ({ counts: [] })),
  },
  'lowers the counter of today instead of the day of the hold on cancel': {
    cancel: (existing, view) =>
      withMistake(DOMAIN.cancel(existing, view), ({ counts }) => ({
        counts: counts.map((change) => ({ ...change, dayStart: view.rules.calendar.day.start })),
      })),
  },
  'lowers the amount but not the number of transfers when a hold expires': {
    expire: (existing, view) =>
      withMistake(DOMAIN.expire(existing, view), ({ counts }) => ({
        counts: counts.map((change) => ({ ...change, count: 0n })),
      })),
  },
  'does not lower the counters after a partial capture': {
    capture: (...asked) => withMistake(DOMAIN.capture(...asked), () => ({ counts: [] })),
  },
  'keeps the rest of a hold after a partial capture': {
    capture: (existing, amount, view) =>
      withMistake(DOMAIN.capture(existing, amount, view), ({ accounts, transfer }) => ({
        accounts: accounts.map((account) =>
          account.accountId === existing.hold?.sourceAccountId
            ? { ...account, held: account.held + transfer.amount - transfer.capturedAmount }
            : account,
        ),
      })),
  },
  'lowers the counters for a reversal': {
    reverse: (transfer, asked, view) =>
      withMistake(DOMAIN.reverse(transfer, asked, view), ({ reversal }) => ({
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
  'reverses up to the requested amount instead of the captured amount': {
    reverse: (transfer, asked, view) =>
      withMistake(DOMAIN.reverse({ ...transfer, capturedAmount: transfer.amount }, asked, view), (plan) => ({
        transfer: { ...plan.transfer, capturedAmount: transfer.capturedAmount },
      })),
  },
  'captures an expired hold before the loop has expired it': {
    capture: (existing, amount, view) => {
      const inTime = Math.min(view.now, (existing.transfer.expiresAt ?? view.now + 1) - 1);
      return DOMAIN.capture(existing, amount, { ...view, now: inTime });
    },
  },
  'expires a hold a second early': {
    expire: (existing, view) => DOMAIN.expire(existing, { ...view, now: view.now + 1000 }),
  },
  'does not check the state of the cards on capture': {
    capture: (existing, amount, view) => DOMAIN.capture(existing, amount, everyCardActive(view)),
  },
  'refuses a partial capture if the limits do not allow the full amount': {
    capture: (existing, amount, view) => {
      const whole = DOMAIN.capture(existing, null, view);
      const isFull = whole instanceof Refusal && whole.code === 'limit_exceeded';
      return isFull ? whole : DOMAIN.capture(existing, amount, view);
    },
  },
  'executes a due transfer although the service is disabled': {
    execute: (transfer, view) => DOMAIN.execute(transfer, { ...view, switches: [] }),
  },
  'does not apply the limits of periods to a due transfer': {
    execute: (transfer, view) => DOMAIN.execute(transfer, { ...view, usage: () => NOTHING_USED }),
  },
  'starts days at midnight in UTC': {
    create: (asked, view) => DOMAIN.create(asked, withRules(({ now }) => ({ calendar: calendarAt(now, 'UTC') }))(view)),
  },
  'applies the limits of the program to cards in another currency': {
    create: (asked, view) =>
      DOMAIN.create(asked, withRules(({ card, rules }) => ({ currency: card?.currency ?? rules.currency }))(view)),
  },
  'accepts the same reference for two transfers': {
    create: (asked, view) => DOMAIN.create(asked, { ...view, referenceTakenBy: undefined }),
  },
  'closes a card with money on hold for it': {
    updateCard: (asked, profile, view) => {
      const account = (accountId: string) => ({ ...view.account(accountId), incoming: 0n });
      return DOMAIN.updateCard(asked, profile, { ...view, account });
    },
  },
  'counts the transfer that empties a closed card': {
    updateCard: (asked, profile, view) =>
      withMistake(DOMAIN.updateCard(asked, profile, view), ({ sweep }) => ({
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
  'gives two postings of an account the same number': {
    reverse: (transfer, asked, view) =>
      withMistake(DOMAIN.reverse(transfer, asked, view), ({ accounts }) => ({
        accounts: accounts.map((account) => ({ ...account, sequence: account.sequence - 1n })),
      })),
  },
};

describe('random stories', () => {
  // Uses the same stories every time, so that the result does not depend on chance.
  const find = (mistake: string, firstSeed = 1): string =>
    findDifference({ ...DOMAIN, ...MISTAKES[mistake] }, { stories: 2000, firstSeed }) ?? '';

  test.each(Object.keys(MISTAKES))('find a domain that %s', (mistake) => {
    expect(find(mistake)).toContain('The domain and the model differ.');
  });

  test('show a mistake in as few steps as possible', () => {
    const lines = find('captures an expired hold before the loop has expired it', 200).split('\n');
    expect(lines.filter((line) => /^ +[0-9]/.test(line))).toEqual([
      expect.stringMatching(/^ {2}1\. 20\S+Z create \{.*, capture manual.*\} -> done$/),
      expect.stringMatching(/^ {2}2\. 20\S+Z wait_until \{now 20\S+Z\} -> done$/),
      expect.stringMatching(
        /^ {2}3\. 20\S+Z capture \{.*transfer 0.*\} -> refused, invalid_transfer_status: has been expired since /,
      ),
    ]);
    expect(lines.slice(-3)).toEqual([
      'domain: done',
      expect.stringMatching(/^model: {2}refused, invalid_transfer_status: has been expired since /),
      expect.stringMatching(/^Found in the story of seed \d+$/),
    ]);
  });
});
