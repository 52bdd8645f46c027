import type { TransferRecord } from '../../../sdk/client.ts';
import { Id } from '../../components/id.tsx';
import { Moment } from '../../components/moment.tsx';
import { Money } from '../../components/money.tsx';
import { KeyName } from '../../components/name.tsx';
import { WhoMay } from '../../components/who-may.tsx';
import { TransferStatus } from '../transfers/transfer-status.tsx';
import './duplicates.css';
import { verdictOf } from './duplicate-words.ts';
import { ReverseButton } from './transfer-actions.tsx';

/** Two similar transfers, in the order in which they were created. */
export type DuplicatePair = { readonly earlier: TransferRecord; readonly later: TransferRecord };

/** Pairs of similar transfers, each with a verdict, who requested them, and buttons to reverse one. */
export function Duplicates({
  pairs,
  onDone,
}: {
  readonly pairs: readonly DuplicatePair[];
  /** Receives what was done, in words. */
  readonly onDone: (text: string) => void;
}) {
  return (
    <>
      <ul class="duplicates" aria-label="Likely duplicates">
        {pairs.map(({ earlier, later }) => {
          const { isLikely, sentence } = verdictOf(earlier, later);
          return (
            <li key={`${earlier.transfer_id} ${later.transfer_id}`} class={isLikely ? 'likely' : undefined}>
              <p>{sentence}</p>
              <DuplicateTransfer transfer={earlier} onDone={onDone} />
              <DuplicateTransfer transfer={later} onDone={onDone} />
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
