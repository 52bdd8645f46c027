import type { Card } from '../cards/card.ts';
import type { Account, Ends } from '../ledger/ledger.ts';
import type { Direction, ProgramRules, Usage } from '../ledger/limits.ts';
import type { Refusal, Seen } from '../refusal.ts';
import type { SwitchSetting } from '../switch.ts';
import type { TransferTerms } from './transfer.ts';

/** Everything the rules read, loaded after the locks are taken. */
export type TransferView = {
  readonly programId: string;
  /** The database's clock, in milliseconds since 1970. */
  readonly now: number;
  readonly rules: ProgramRules;
  readonly switches: readonly SwitchSetting[];
  readonly card: Card | undefined;
  readonly destinationCard: Card | undefined;
  readonly account: (accountId: string) => Account;
  /** Totals of the transfers in the current periods, by account: the card's own, or the funding account's for the program. */
  readonly usage: (accountId: string, direction: Direction) => Usage;
  /** Whether a card's processor takes orders: `down` if new transfers are refused until it is up. */
  readonly connectorState: (connectorId: string) => ConnectorState;
  /** The id of the transfer that has the reference, or of the move-in that has it from the old ledger. */
  readonly referenceTakenBy: string | undefined;
};

/** Whether a connector takes new transfers; `missing`: it is not in the settings of the process. */
export type ConnectorState = 'up' | 'down' | 'missing';

/** The result of one check. `not_evaluated`: an earlier check that it depends on failed. */
export type Finding =
  | { readonly outcome: 'passed'; readonly saw: Seen }
  | { readonly outcome: 'failed'; readonly saw: Seen; readonly refusal: Refusal }
  | { readonly outcome: 'not_evaluated' };

/** A passed check. Its values are formatted only when explain_transfer shows them. */
export class Passed {
  readonly outcome = 'passed';
  readonly #describe: () => Seen;

  constructor(describe: () => Seen) {
    this.#describe = describe;
  }

  get saw(): Seen {
    return this.#describe();
  }
}

/** The result of a check that cannot be evaluated. */
export const NOT_EVALUATED: Finding = { outcome: 'not_evaluated' };

/** The accounts between which a transfer moves money; undefined if a card that it names does not exist. */
export function endsOf(
  terms: Pick<TransferTerms, 'type'>,
  view: Pick<TransferView, 'card' | 'destinationCard' | 'account'>,
): Ends | undefined {
  const { card, destinationCard } = view;
  if (card === undefined) return undefined;
  const ofCard = view.account(card.accountId);
  if (terms.type === 'load') return { source: view.account(card.fundingAccountId), destination: ofCard };
  if (terms.type === 'unload') return { source: ofCard, destination: view.account(card.fundingAccountId) };
  if (destinationCard === undefined) return undefined;
  return { source: ofCard, destination: view.account(destinationCard.accountId) };
}
