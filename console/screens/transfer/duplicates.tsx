import type { TransferRecord } from '../../../sdk/client.ts';
import { TransferStatus } from '../../components/badge.tsx';
import { WhoMay } from '../../components/button.tsx';
import { Id } from '../../components/id.tsx';
import { Moment } from '../../components/moment.tsx';
import { Money } from '../../components/money.tsx';
import { KeyName } from '../../components/name.tsx';
import './duplicates.css';
import { verdictOf } from './duplicate-words.ts';
import { ReverseButton } from './transfer-actions.tsx';

/** Lists chains of similar transfers, each with a verdict, the callers, and buttons to reverse one. */
export function Duplicates({
  chains,
  onDone,
}: {
  /** Each chain in the order of its transfers' creation. */
  readonly chains: readonly (readonly TransferRecord[])[];
  readonly onDone: (text: string) => void;
}) {
  return (
    <>
      <ul class="duplicates" aria-label="Likely duplicates">
        {chains.map((chain) => {
          const { isLikely, sentence } = verdictOf(chain);
          return (
            <li key={chain[0]?.transfer_id} class={isLikely ? 'likely' : undefined}>
              <p>{sentence}</p>
              {chain.map((transfer) => (
                <DuplicateTransfer key={transfer.transfer_id} transfer={transfer} onDone={onDone} />
              ))}
            </li>
          );
        })}
      </ul>
      <WhoMay operation="reverse_transfer" to="reverse one of them" />
    </>
  );
}

function DuplicateTransfer({
  transfer,
  onDone,
}: {
  readonly transfer: TransferRecord;
  readonly onDone: (text: string) => void;
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
      <ReverseButton transfer={transfer} onDone={onDone} />
    </div>
  );
}
