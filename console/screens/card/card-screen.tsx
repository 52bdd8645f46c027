import './card.css';
import { useState } from 'preact/hooks';
import type { CardLimitsRecord, CardRecord, UpdateCardBody } from '../../../sdk/client.ts';
import { Actions } from '../../components/actions.tsx';
import { PendingApproval } from '../../components/approval.tsx';
import { WhoMay } from '../../components/button.tsx';
import { Details, Highlights, metadataFacts } from '../../components/details.tsx';
import { ConfirmDialog } from '../../components/dialogs/dialog.tsx';
import { CheckField } from '../../components/field.tsx';
import { Id } from '../../components/id.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Money } from '../../components/money.tsx';
import { ProgramName } from '../../components/name.tsx';
import { Page, Section } from '../../components/page.tsx';
import { hrefTo, type Parameters } from '../../data/location.ts';
import { useNoted } from '../../data/names.ts';
import { useSession } from '../../data/session.ts';
import { useOperation } from '../../data/use-operation.ts';
import { formatAmount } from '../../format/amounts.ts';
import { nameOfCard, sentenceCase } from '../../format/names.ts';
import { CardDetailsDialog, type CardDialogParts, CardLimitsDialog, useUpdateCard } from './card-dialogs.tsx';
import { CardDuplicates, CardHolds, CardStatement } from './card-lists.tsx';
import {
  type CardMove,
  effectOf,
  limitLinesOf,
  MOVE_TITLES,
  MOVES,
  meaningOf,
  statusText,
  titleOf,
  whyNotMove,
  whyUnchangeable,
} from './card-words.ts';

/** One card: its money and state, its actions, the remaining limits, its holds and its statement. */
export function CardScreen({ parameters }: { readonly parameters: Parameters }) {
  const cardId = parameters.card_id ?? '';
  const { can } = useSession();
  const [done, setDone] = useState('');
  const [changes, setChanges] = useState(0);
  const card = useOperation((api, options) => api.cards.get(cardId, options), { deps: [cardId] });
  const limits = useOperation((api, options) => api.cards.limits(cardId, options), { deps: [cardId], isOwn: true });
  const shown = card.data?.card_id === cardId ? card.data : undefined;
  useNoted('card', shown?.card_id, shown && nameOfCard(shown), shown?.program_id);
  const onDone = (text: string): void => {
    setDone(text);
    setChanges((count) => count + 1);
    card.reload();
    limits.reload();
  };
  const name = (shown && nameOfCard(shown)) ?? cardId;
  return (
    <Page title={shown === undefined ? 'Card' : name} lead={<Id id={cardId} kind="card" whole />}>
      <p class={done === '' ? 'hidden' : 'notice'} role="status">
        {done}
      </p>
      <PendingApproval record={shown} />
      <Loaded state={card}>
        {(found) => (
          <>
            <CardMoney card={found} />
            {can('update_card') && <CardActions card={found} name={name} onDone={onDone} />}
            <WhoMay operation="update_card" to="change the card" />
            <CardDetails card={found} />
          </>
        )}
      </Loaded>
      {shown !== undefined && (
        <>
          <Section title="Limits">
            <Loaded state={limits}>{(found) => <Limits limits={found} />}</Loaded>
          </Section>
          <CardHolds cardId={cardId} changes={changes} />
          <CardStatement cardId={cardId} changes={changes} />
          <CardDuplicates cardId={cardId} isAtProcessor={shown.connector_id !== null} onDone={onDone} />
        </>
      )}
    </Page>
  );
}

function CardMoney({ card }: { readonly card: CardRecord }) {
  const { status, balance, available, held, incoming, currency, connector_id: connector } = card;
  return (
    <>
      {connector !== null ? (
        <Highlights
          facts={[
            { name: 'Money', value: 'At the processor', note: `${connector}; this ledger has no balance for the card` },
          ]}
        />
      ) : (
        <Highlights
          facts={[
            {
              name: 'Available',
              value: <Money amount={available} currency={currency} />,
              note:
                balance === available && held === 0 ? undefined : (
                  <>
                    of <Money amount={balance} currency={currency} />; <Money amount={held} currency={currency} /> on
                    hold
                  </>
                ),
            },
            incoming > 0 && { name: 'Incoming, on hold', value: <Money amount={incoming} currency={currency} /> },
          ]}
        />
      )}
      <p class="answer">
        <strong>{sentenceCase(statusText(status))}.</strong> {meaningOf(status)}
      </p>
    </>
  );
}

function CardDetails({ card }: { readonly card: CardRecord }) {
  const { can } = useSession();
  const { currency } = card;
  const readsErrors = can('search_errors') || can('list_errors');
  return (
    <Details
      facts={[
        card.connector_id === null
          ? ['Balance', <Money key="balance" amount={card.balance} currency={currency} />]
          : ['Connector', card.connector_id],
        ['Holder reference', card.holder_reference ?? <span class="quiet">none</span>],
        ['Last four digits', card.last_four ?? <span class="quiet">unknown</span>],
        ['Expires', card.expires_on ?? <span class="quiet">never</span>],
        ['Card program', <ProgramName key="program" id={card.program_id} />],
        ['Created', <Moment key="created" at={card.created_at} />],
        ['Last changed', <Moment key="changed" at={card.updated_at} />],
        [
          'Transfers',
          <a key="transfers" href={hrefTo('/console/transfers', { card_id: card.card_id })}>
            All transfers of the card
          </a>,
        ],
        readsErrors && [
          'Refused requests',
          <a key="refused" href={hrefTo('/console/errors', { card: card.card_id, period: 'week' })}>
            From the last 7 days
          </a>,
        ],
        ...metadataFacts(card.metadata),
      ]}
    />
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
          Maximum balance <Money amount={maximum.value} currency={currency} />:{' '}
          <Money amount={maximum.left} currency={currency} /> left.
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
        <p>Nothing right now: transfers are stopped, a limit is used up, or there is no money.</p>
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
              <strong>{sentenceCase(name)}</strong> {value} <span class="quiet">set {setBy}</span>
            </div>
            {share !== null && use !== null && (
              <>
                <meter value={share} min={0} max={1} high={0.8} optimum={0} aria-label={`${title}, ${name}: ${use}`} />
                <div class="quiet">
                  {use}
                  {freesAt !== null && (
                    <>
                      , resets <Moment at={freesAt} />
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

/** The actions on a card: changing its status, limits or details. `onDone` receives a sentence that says what was done. */
function CardActions({
  card,
  name,
  onDone,
}: {
  readonly card: CardRecord;
  readonly name: string;
  readonly onDone: (text: string) => void;
}) {
  const [open, setOpen] = useState<CardMove | 'limits' | 'details' | undefined>(undefined);
  const parts = {
    card,
    name,
    onDone: (text: string) => {
      setOpen(undefined);
      onDone(text);
    },
    onClose: () => setOpen(undefined),
  };
  return (
    <div class="page-actions">
      <Actions
        actions={[
          ...MOVES.map((move) => ({
            text: MOVE_TITLES[move],
            whyNot: whyNotMove(card, move),
            isDanger: move !== 'active' && move !== 'inactive',
            onChoose: () => setOpen(move),
          })),
          { text: 'Change limits', whyNot: whyUnchangeable(card), onChoose: () => setOpen('limits') },
          { text: 'Change details', whyNot: whyUnchangeable(card), onChoose: () => setOpen('details') },
        ]}
      />
      {open === 'limits' && <CardLimitsDialog {...parts} />}
      {open === 'details' && <CardDetailsDialog {...parts} />}
      {open !== undefined && open !== 'limits' && open !== 'details' && <MoveDialog {...parts} move={open} />}
    </div>
  );
}

function MoveDialog({ card, name, move, onDone, onClose }: CardDialogParts & { readonly move: CardMove }) {
  const hasMoney = move === 'closed' && card.balance > 0;
  const [sweeps, setSweeps] = useState(false);
  const { run, pending, error } = useUpdateCard();
  const money = formatAmount(card.balance, card.currency);
  const confirm = async (): Promise<void> => {
    const body: UpdateCardBody = sweeps ? { status: move, balance_to: 'funding' } : { status: move };
    const updated = await run({ cardId: card.card_id, body });
    if (updated !== undefined) onDone(`${name} is ${statusText(updated.status)} now.`);
  };
  return (
    <ConfirmDialog
      title={titleOf(move, name)}
      confirm={sweeps ? `Close ${name} and move ${money} to the funding account` : titleOf(move, name)}
      kind={move === 'active' ? 'main' : 'danger'}
      pending={pending}
      disabled={hasMoney && !sweeps}
      error={error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>{effectOf(card, move)}</p>
      {hasMoney && (
        <CheckField
          label={`Move the balance of ${money} to the program's funding account. Only an empty card can be closed.`}
          checked={sweeps}
          onChange={setSweeps}
        />
      )}
    </ConfirmDialog>
  );
}
