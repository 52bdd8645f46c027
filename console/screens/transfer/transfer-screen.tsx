import { useState } from 'preact/hooks';
import type { TransferRecord, TransferTimeline } from '../../../sdk/client.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { Facts, metadataFacts } from '../../components/facts.tsx';
import { Id, LinkedText } from '../../components/id.tsx';
import { Loading } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Money } from '../../components/money.tsx';
import { Page, Section } from '../../components/page.tsx';
import { hrefTo } from '../../data/location.ts';
import type { Parameters } from '../../data/parameters.ts';
import { useOperation } from '../../data/use-operation.ts';
import { pathOf } from '../../format/ids.ts';
import { TransferStatus } from '../transfers/transfer-status.tsx';
import { Timeline } from './timeline.tsx';
import './transfer.css';
import { TransferActions } from './transfer-actions.tsx';
import { isLively } from './transfer-words.ts';

const POLL_MILLISECONDS = 5_000;

/** One transfer: did its money move, what happened to it, and what can be done about it. */
export function TransferScreen({ parameters }: { readonly parameters: Parameters }) {
  const id = parameters.transfer_id ?? '';
  const [done, setDone] = useState('');
  const [isPolled, setPolled] = useState(false);
  const { data, error, stale, reload } = useOperation(
    async (api, options) => {
      const timeline = await api.transfers.timeline(id, options);
      setPolled(isLively(timeline.transfer, Date.now()));
      return timeline;
    },
    { deps: [id], pollMilliseconds: isPolled ? POLL_MILLISECONDS : undefined },
  );
  const isOther = data !== undefined && data.transfer.transfer_id !== id;
  const shown = isOther ? undefined : data;
  const onDone = (text: string): void => {
    setDone(text);
    reload();
  };
  return (
    <Page
      title="Transfer"
      lead={<Id id={id} kind="transfer" whole />}
      actions={shown !== undefined && <TransferActions transfer={shown.transfer} onDone={onDone} />}
    >
      <p class={done === '' ? 'hidden' : 'notice'} role="status">
        {done}
      </p>
      {error !== undefined && <ErrorRecord error={error} stale={shown !== undefined} />}
      {shown === undefined ? (
        error === undefined && <Loading />
      ) : (
        <Known timeline={shown} stale={stale && error !== undefined} />
      )}
    </Page>
  );
}

function Known({ timeline, stale }: { readonly timeline: TransferTimeline; readonly stale: boolean }) {
  const { transfer, money, steps, likely_duplicates: duplicates, truncated } = timeline;
  return (
    <div class={stale ? 'transfer stale' : 'transfer'}>
      <p class="answer">
        <LinkedText text={money.sentence} />
      </p>
      <TransferFacts transfer={transfer} />
      {duplicates.length > 0 && (
        <Section title="Likely duplicates">
          <p class="quiet">The same card, type and amount within ten minutes.</p>
          <DataTable
            label="Likely duplicates, oldest first"
            columns={DUPLICATE_COLUMNS}
            rows={duplicates}
            rowKey={({ transfer_id }) => transfer_id}
            href={({ transfer_id }) => hrefTo(pathOf(transfer_id) ?? '')}
          />
        </Section>
      )}
      <Section title="What happened">
        <Timeline steps={steps} currency={transfer.currency} />
        {truncated.map(({ kind, text }) => (
          <p class="quiet" key={kind}>
            {text}
          </p>
        ))}
      </Section>
    </div>
  );
}

const DUPLICATE_COLUMNS: readonly Column<TransferRecord>[] = [
  { title: 'Created', cell: ({ created_at }) => <Moment at={created_at} /> },
  { title: 'Transfer', cell: ({ transfer_id }) => <Id id={transfer_id} /> },
  { title: 'Amount', align: 'end', cell: ({ amount, currency }) => <Money amount={amount} currency={currency} /> },
  { title: 'Status', cell: (transfer) => <TransferStatus transfer={transfer} /> },
  { title: 'Reference', cell: ({ reference }) => reference ?? <span class="quiet">–</span> },
  { title: 'Idempotency key', cell: ({ idempotency_key: key }) => key ?? <span class="quiet">–</span> },
];

function TransferFacts({ transfer }: { readonly transfer: TransferRecord }) {
  const { currency, created_by: creator } = transfer;
  const money = (amount: number) => <Money amount={amount} currency={currency} />;
  return (
    <Facts
      facts={[
        ['Status', <TransferStatus transfer={transfer} />],
        ['Amount', money(transfer.amount)],
        transfer.captured_amount > 0 && ['Moved', money(transfer.captured_amount)],
        transfer.reversed_amount > 0 && ['Moved back', money(transfer.reversed_amount)],
        ['Type', transfer.type.replaceAll('_', ' ')],
        ['Card', <Id id={transfer.card_id} kind="card" />],
        transfer.destination_card_id !== null && ['To card', <Id id={transfer.destination_card_id} kind="card" />],
        ['Created', <Moment at={transfer.created_at} />],
        transfer.scheduled_for !== null && ['Scheduled for', <Moment at={transfer.scheduled_for} />],
        transfer.expires_at !== null && ['Hold ends', <Moment at={transfer.expires_at} />],
        transfer.completed_at !== null && ['Completed', <Moment at={transfer.completed_at} />],
        transfer.error !== null && ['Error', <a href={`/errors/${transfer.error.Code}`}>{transfer.error.Code}</a>],
        transfer.reference !== null && ['Reference', transfer.reference],
        transfer.idempotency_key !== null && ['Idempotency key', transfer.idempotency_key],
        transfer.request_id !== null && ['Request', <Id id={transfer.request_id} kind="request" />],
        creator !== null && ['Created by', creator === 'sandbox' ? 'no key (sandbox)' : <Id id={creator} />],
        transfer.description !== null && ['Description', transfer.description],
        ...metadataFacts(transfer.metadata),
      ]}
    />
  );
}
