import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { Id } from '../../components/id.tsx';
import { Section } from '../../components/page.tsx';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';

/** The card program that every sandbox starts with. Its id is always the same, and only it has the seeded cards. */
const DEMO_PROGRAM_ID = 'prog_019000000000700080000000000000de';

type SeededCard = { readonly name: string; readonly purpose: string };

const CARDS: readonly SeededCard[] = [
  { name: 'card_active', purpose: 'can receive and send money' },
  { name: 'card_empty', purpose: 'has nothing to unload' },
  { name: 'card_preactive', purpose: 'not activated yet' },
  { name: 'card_inactive', purpose: 'suspended' },
  { name: 'card_lost', purpose: 'reported lost' },
  { name: 'card_stolen', purpose: 'reported stolen' },
  { name: 'card_fraud', purpose: 'suspected fraud' },
  { name: 'card_expired', purpose: 'expired' },
  { name: 'card_closed', purpose: 'permanently closed' },
  { name: 'card_limited', purpose: 'accepts 1.00 to 100.00 per transfer, 350.00 per day' },
  { name: 'card_eur', purpose: 'uses EUR' },
  { name: 'card_full', purpose: 'at the maximum balance' },
  { name: 'card_processor', purpose: 'its money is at a simulated processor' },
];

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
  const columns: readonly Column<SeededCard>[] = [
    {
      title: 'Card',
      onPhone: 'title',
      cell: ({ name }) => <Id id={name} kind="card" programId={DEMO_PROGRAM_ID} whole />,
    },
    { title: 'Purpose', onPhone: 'note', cell: ({ purpose }) => purpose },
  ];
  const actions: readonly Column<SeededCard>[] = can('create_transfer')
    ? [
        {
          title: 'Try',
          onPhone: 'value',
          cell: ({ name }) => (
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
      <div aria-live="polite">
        {load.error !== undefined && <ErrorRecord error={load.error} />}
        {load.result !== undefined && (
          <p>
            {tried} accepted it: <Id id={load.result.transfer_id} kind="transfer" programId={DEMO_PROGRAM_ID} /> is{' '}
            {load.result.status}.
          </p>
        )}
      </div>
      <DataTable label="Seeded cards" rows={CARDS} rowKey={({ name }) => name} columns={[...columns, ...actions]} />
    </Section>
  );
}
