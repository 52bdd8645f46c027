import { useState } from 'preact/hooks';
import type { CardLimitsRecord, CardRecord } from '../../../sdk/client.ts';
import { Facts, metadataFacts } from '../../components/facts.tsx';
import { Id } from '../../components/id.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Money } from '../../components/money.tsx';
import { Page, Section } from '../../components/page.tsx';
import { hrefTo } from '../../data/location.ts';
import type { Parameters } from '../../data/parameters.ts';
import { useSession } from '../../data/session.ts';
import { useOperation } from '../../data/use-operation.ts';
import { CardActions } from './card-actions.tsx';
import { CardDuplicates, CardHolds, CardStatement } from './card-lists.tsx';
import { limitLinesOf, meaningOf } from './card-words.ts';
import './card.css';

/** One card: its state and money, what its limits leave, its holds, its statement, and what can be done with it. */
export function CardScreen({ parameters }: { readonly parameters: Parameters }) {
  const cardId = parameters.card_id ?? '';
  const { can } = useSession();
  const [done, setDone] = useState('');
  const card = useOperation((api, options) => api.cards.get(cardId, options), { deps: [cardId] });
  const limits = useOperation((api, options) => api.cards.limits(cardId, options), { deps: [cardId] });
  const shown = card.data?.card_id === cardId ? card.data : undefined;
  const onDone = (text: string): void => {
    setDone(text);
    card.reload();
    limits.reload();
  };
  return (
    <Page
      title="Card"
      lead={<Id id={cardId} kind="card" whole />}
      actions={shown !== undefined && can('update_card') && <CardActions card={shown} onDone={onDone} />}
    >
      <p class={done === '' ? 'hidden' : 'notice'} role="status">
        {done}
      </p>
      <Loaded state={card}>{(found) => <CardFacts card={found} />}</Loaded>
      {shown !== undefined && (
        <>
          <CardDuplicates cardId={cardId} currency={shown.currency} />
          <Section title="Limits">
            <Loaded state={limits}>{(found) => <Limits limits={found} />}</Loaded>
          </Section>
          <CardHolds cardId={cardId} />
          <CardStatement cardId={cardId} />
        </>
      )}
    </Page>
  );
}

function CardFacts({ card }: { readonly card: CardRecord }) {
  const { currency } = card;
  return (
    <>
      <p class="answer">
        <strong>{card.status === 'preactive' ? 'not active yet' : card.status}</strong>: {meaningOf(card.status)}
      </p>
      <Facts
        facts={[
          ['Available', <Money key="available" amount={card.available} currency={currency} />],
          ['Balance', <Money key="balance" amount={card.balance} currency={currency} />],
          ['Held', <Money key="held" amount={card.held} currency={currency} />],
          ['Incoming', <Money key="incoming" amount={card.incoming} currency={currency} />],
          ['Last four digits', card.last_four ?? '–'],
          ['Holder reference', card.holder_reference ?? '–'],
          ['Last day', card.expires_on ?? 'none'],
          ['Program', <Id key="program" id={card.program_id} />],
          ['Created', <Moment key="created" at={card.created_at} />],
          ['Changed', <Moment key="changed" at={card.updated_at} />],
          [
            'Transfers',
            <a key="transfers" href={hrefTo('/console/transfers', { card_id: card.card_id })}>
              All transfers of the card
            </a>,
          ],
          ...metadataFacts(card.metadata),
        ]}
      />
    </>
  );
}

function Limits({ limits }: { readonly limits: CardLimitsRecord }) {
  const { currency, maximum_balance: maximum } = limits;
  return (
    <div class="card-limits">
      <Direction title="Money in" direction={limits.in} currency={currency} />
      <Direction title="Money out" direction={limits.out} currency={currency} />
      {maximum !== null && (
        <p>
          The balance may be at most <Money amount={maximum.value} currency={currency} />:{' '}
          <Money amount={maximum.left} currency={currency} /> more.
        </p>
      )}
    </div>
  );
}

function Direction({
  title,
  direction,
  currency,
}: {
  readonly title: string;
  readonly direction: CardLimitsRecord['in'];
  readonly currency: string;
}) {
  const lines = limitLinesOf(direction, currency);
  return (
    <section class="card-direction" aria-label={title}>
      <h3>{title}</h3>
      {direction.code !== null ? (
        <p>
          Nothing now: <a href={`/errors/${encodeURIComponent(direction.code)}`}>{direction.code}</a>.
        </p>
      ) : direction.most === 0 ? (
        <p>Nothing now: nothing is left of a limit, or of the money.</p>
      ) : (
        <p>
          The next transfer can be <Money amount={direction.least} currency={currency} /> to{' '}
          <Money amount={direction.most} currency={currency} />.
        </p>
      )}
      {lines.length === 0 && <p class="quiet">No limits are set.</p>}
      <ul class="limit-bars">
        {lines.map(({ name, setBy, value, use, share, freesAt }) => (
          <li key={`${name} ${setBy}`}>
            <div class="limit-name">
              <strong>{name}</strong> {value} <span class="quiet">set by {setBy}</span>
            </div>
            {share !== null && use !== null && (
              <>
                <meter value={share} min={0} max={1} high={0.8} optimum={0} aria-label={`${title}, ${name}: ${use}`} />
                <div class="quiet">
                  {use}
                  {freesAt !== null && (
                    <>
                      , frees at <Moment at={freesAt} />
                    </>
                  )}
                </div>
              </>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
