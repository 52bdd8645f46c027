import { useState } from 'preact/hooks';
import type { CardRecord } from '../../../sdk/client.ts';
import { ApprovalNotice } from '../../components/approval.tsx';
import { Button } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { Id } from '../../components/id.tsx';
import { Section } from '../../components/page.tsx';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';

/** The card program that every sandbox starts with. Its id is always the same, and only it has the seeded cards. */
const DEMO_PROGRAM_ID = 'prog_019000000000700080000000000000de';

/** The purpose of each seeded card. There is one for each status. */
const CARDS: Readonly<Record<`card_${CardRecord['status']}`, string> & Record<string, string>> = {
  card_active: 'can receive and send money',
  card_empty: 'has nothing to unload',
  card_preactive: 'not activated yet',
  card_inactive: 'suspended',
  card_lost: 'reported lost',
  card_stolen: 'reported stolen',
  card_fraud: 'suspected fraud',
  card_expired: 'expired',
  card_closed: 'permanently closed',
  card_limited: 'accepts 1.00 to 100.00 per transfer, 350.00 per day',
  card_eur: 'uses EUR',
  card_full: 'at the maximum balance',
  card_processor: 'its money is at a simulated processor',
};

/** A load of 10.00, which some cards accept and others refuse, each for its reason. */
const TRIED_AMOUNT = 1_000;

export function CardsSection() {
  const { can } = useSession();
  const [tried, setTried] = useState('');
  const load = useAction(
    (card: string, api, options) =>
      api.transfers.create({ amount: TRIED_AMOUNT, card_id: card }, { ...options, programId: DEMO_PROGRAM_ID }),
    { operation: 'try_load' },
  );
  const tryLoad = (card: string) => {
    load.reset();
    setTried(card);
    void load.run(card);
  };
  const columns: readonly Column<readonly [name: string, purpose: string]>[] = [
    {
      title: 'Card',
      onPhone: 'title',
      cell: ([name]) => <Id id={name} kind="card" programId={DEMO_PROGRAM_ID} whole />,
    },
    { title: 'Purpose', onPhone: 'note', cell: ([, purpose]) => purpose },
  ];
  const actions: readonly Column<readonly [name: string, purpose: string]>[] = can('create_transfer')
    ? [
        {
          title: 'Try',
          onPhone: 'value',
          cell: ([name]) => (
            <span class="row-actions">
              <Button title={`Load 10.00 onto ${name}`} pending={load.pending} onClick={() => tryLoad(name)}>
                Load 10.00
              </Button>
            </span>
          ),
        },
      ]
    : [];
  return (
    <Section title="Cards">
      <p class="quiet">The demo program has a card for each status, and for each refusal that depends on the card.</p>
      <ApprovalNotice operation="create_transfer" />
      <div aria-live="polite">
        {load.error !== undefined && <ErrorRecord error={load.error} />}
        {load.result !== undefined && (
          <p>
            {tried} accepted it: <Id id={load.result.transfer_id} kind="transfer" programId={DEMO_PROGRAM_ID} /> is{' '}
            {load.result.status}.
          </p>
        )}
      </div>
      <DataTable
        label="Seeded cards"
        rows={Object.entries(CARDS)}
        rowKey={([name]) => name}
        columns={[...columns, ...actions]}
      />
    </Section>
  );
}
