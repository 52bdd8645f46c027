import type { ComponentChildren } from 'preact';
import type { TransferRecord } from '../../../sdk/client.ts';
import { TransferStatus } from '../../components/badge.tsx';
import { WhoMay } from '../../components/button.tsx';
import { Id } from '../../components/id.tsx';
import { Moment } from '../../components/moment.tsx';
import { Money } from '../../components/money.tsx';
import { KeyName } from '../../components/name.tsx';
import './duplicates.css';
import { verdictOf } from './duplicate-words.ts';
import { UndoButton } from './transfer-actions.tsx';
import { undoOf } from './transfer-words.ts';

/**
 * Lists chains of similar transfers. Each chain has one verdict, and only the transfers that the verdict says to reverse or
 * cancel have a button.
 */
export function Duplicates({
  chains,
  isAtProcessor,
  onDone,
}: {
  /** Each chain in the order of its transfers' creation. */
  readonly chains: readonly (readonly TransferRecord[])[];
  /** Whether the money of their card is at a processor. */
  readonly isAtProcessor: boolean;
  readonly onDone: (text: string) => void;
}) {
  const judged = chains.map((chain) => ({ chain, ...verdictOf(chain, isAtProcessor) }));
  const offered = judged.flatMap(({ chain, undo }) => chain.filter(({ transfer_id: id }) => undo.includes(id)));
  const ways = new Set(offered.map((transfer) => undoOf(transfer, isAtProcessor)));
  return (
    <>
      <ul class="duplicates" aria-label="Likely duplicates">
        {judged.map(({ chain, sentence, reason, isLikely, undo }) => (
          <li key={chain[0]?.transfer_id} class={isLikely ? 'likely' : undefined}>
            <p class="duplicates-verdict">{sentence}</p>
            {reason !== '' && <p>{reason}</p>}
            {chain.map((transfer) => (
              <DuplicateTransfer key={transfer.transfer_id} transfer={transfer}>
                {undo.includes(transfer.transfer_id) && <UndoButton transfer={transfer} onDone={onDone} />}
              </DuplicateTransfer>
            ))}
          </li>
        ))}
      </ul>
      {ways.has('reverse') && <WhoMay operation="reverse_transfer" to="reverse a duplicate" />}
      {ways.has('cancel') && <WhoMay operation="cancel_transfer" to="cancel a duplicate" />}
    </>
  );
}

function DuplicateTransfer({
  transfer,
  children,
}: {
  readonly transfer: TransferRecord;
  /** The button to reverse or cancel it, if any. */
  readonly children: ComponentChildren;
}) {
  const { transfer_id: id, created_at: at, created_by: creator, amount, currency, reference } = transfer;
  return (
    <div class="duplicate">
      <Moment at={at} short />
      <Money amount={amount} currency={currency} />
      <TransferStatus transfer={transfer} />
      {creator !== null && (
        <span>
          <span class="quiet">by</span> <KeyName id={creator} plain />
        </span>
      )}
      {reference !== null && (
        <span>
          <span class="quiet">reference</span> {reference}
        </span>
      )}
      <Id id={id} />
      {children}
    </div>
  );
}
