import { useEffect, useState } from 'preact/hooks';
import type { CallOptions, TransferExplanation, TransferService } from '../../../sdk/client.ts';
import { AmountField } from '../../components/amount-field.tsx';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { SelectField, TextField } from '../../components/field.tsx';
import { Form } from '../../components/form.tsx';
import { LinkedText } from '../../components/id.tsx';
import { Empty, Loaded } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { CardName } from '../../components/name.tsx';
import { Page, Section } from '../../components/page.tsx';
import { TimeField } from '../../components/time-field.tsx';
import { useOperation } from '../../data/use-operation.ts';
import { useUrlState } from '../../data/use-url-state.ts';
import {
  EMPTY_FORM,
  type ExplainForm,
  problemsOf,
  toExplainBody,
  typedAmountOf,
} from '../../format/requests/explain-form.ts';
import { verdictOf } from '../../format/requests/requests.ts';
import { shownValues } from '../../format/requests/values.ts';
import './explain.css';

/** Shows what create_transfer would do now: every check, with its values. No money moves. */
export function ExplainScreen() {
  const [asked, setAsked] = useUrlState(EMPTY_FORM);
  const isComplete = Object.keys(problemsOf(asked)).length === 0;
  const [asks, setAsks] = useState(0);
  const answer = useOperation(isComplete ? (api, options) => explain(api, asked, options) : undefined, {
    deps: [JSON.stringify(asked), asks],
  });
  return (
    <Page title="Explain" lead="Would a transfer succeed now, and if not, why? No money moves.">
      <div class="explain">
        <TransferForm
          // The key replaces the form when the URL changes, so going back in the history shows the earlier form.
          key={JSON.stringify(asked)}
          asked={asked}
          currency={answer.stale ? undefined : answer.data?.currency}
          pending={answer.loading && isComplete}
          error={answer.error}
          onAsk={(form) => {
            setAsked(form);
            setAsks((count) => count + 1);
          }}
        />
        <div class="loaded">
          {isComplete ? (
            <Loaded state={answer}>
              {({ currency, explanation }) =>
                explanation === undefined ? null : <Explanation of={explanation} currency={currency} />
              }
            </Loaded>
          ) : (
            <Empty title="Fill in the form">
              The checks show why a transfer is declined, or would be, and how much of each limit is left.
            </Empty>
          )}
        </div>
      </div>
    </Page>
  );
}

type Answer = {
  readonly currency: string;
  /** Undefined if the amount is not valid in this currency. */
  readonly explanation: TransferExplanation | undefined;
};

/** Amounts are typed in the card's currency, so the currency is read first. */
async function explain(api: TransferService, asked: ExplainForm, options: CallOptions): Promise<Answer> {
  const currency = asked.currency === '' ? await currencyOfCard(api, asked.card_id.trim(), options) : asked.currency;
  const body = toExplainBody(asked, currency);
  return { currency, explanation: body === undefined ? undefined : await api.transfers.explain(body, options) };
}

/** If the card does not exist, any currency works, because the amount is not checked. */
const ANY_CURRENCY = 'USD';

/** Finds the currency of a card with the same operation, because the caller may not be allowed to read cards. */
async function currencyOfCard(api: TransferService, cardId: string, options: CallOptions): Promise<string> {
  return cardCurrencyIn(await api.transfers.explain({ card_id: cardId, amount: 1 }, options)) ?? ANY_CURRENCY;
}

function cardCurrencyIn({ checks }: TransferExplanation): string | undefined {
  const currency = checks.find(({ saw }) => typeof saw.card_currency === 'string')?.saw.card_currency;
  return typeof currency === 'string' ? currency : undefined;
}

function TransferForm({
  asked,
  currency,
  pending,
  error,
  onAsk,
}: {
  readonly asked: ExplainForm;
  readonly currency: string | undefined;
  readonly pending: boolean;
  readonly error: Error | undefined;
  readonly onAsk: (form: ExplainForm) => void;
}) {
  const [form, setForm] = useState(asked);
  const [isSent, setSent] = useState(false);
  const own = form.currency || (form.card_id === asked.card_id ? currency : undefined);
  const isAsked = Object.keys(problemsOf(asked)).length === 0;
  const problems = isSent || (isAsked && currency !== undefined) ? problemsOf(form, own) : {};
  const fromLink = typedAmountOf(asked, currency);
  useEffect(() => {
    if (fromLink !== asked.amount) setForm((before) => ({ ...before, amount: fromLink, minor_units: '' }));
  }, [fromLink]);
  const change = (changes: Partial<ExplainForm>) => setForm((before) => ({ ...before, ...changes }));
  const submit = () => {
    setSent(true);
    if (Object.keys(problemsOf(form, own)).length === 0) onAsk(form);
  };
  return (
    <Form look="form" label="The transfer" error={error} hasRecord={false} onSubmit={submit}>
      <SelectField
        label="Type"
        name="type"
        value={form.type}
        onChange={(type) => change({ type })}
        options={[
          ['', 'Load: funding to card'],
          ['unload', 'Unload: card to funding'],
          ['card_to_card', 'Card to card'],
        ]}
      />
      <TextField
        label="Card"
        name="card_id"
        value={form.card_id}
        problem={problems.card_id}
        onInput={(card_id) => change({ card_id })}
      />
      {form.type === 'card_to_card' && (
        <TextField
          label="Receiving card"
          name="destination_card_id"
          value={form.destination_card_id}
          problem={problems.destination_card_id}
          onInput={(destination_card_id) => change({ destination_card_id })}
        />
      )}
      <AmountField
        label="Amount"
        name="amount"
        currency={own}
        value={form.amount}
        problem={problems.amount}
        hint={own === undefined ? 'In the currency of the card, such as 12.50' : undefined}
        onInput={(amount) => change({ amount, minor_units: '' })}
      />
      <MoreFields form={form} onChange={change} />
      <div>
        <Button type="submit" kind="main" pending={pending}>
          Explain
        </Button>
      </div>
    </Form>
  );
}

function MoreFields({
  form,
  onChange,
}: {
  readonly form: ExplainForm;
  readonly onChange: (changes: Partial<ExplainForm>) => void;
}) {
  return (
    <details open={form.currency + form.capture + form.scheduled_for + form.reference !== ''}>
      <summary>More fields</summary>
      <div class="form">
        <TextField
          label="Currency"
          name="currency"
          value={form.currency}
          hint="Empty for the card's currency"
          onInput={(text) => onChange({ currency: text.toUpperCase() })}
        />
        <SelectField
          label="Capture"
          name="capture"
          value={form.capture}
          onChange={(capture) => onChange({ capture })}
          options={[
            ['', 'Automatic: the money moves immediately'],
            ['manual', 'Manual: it is held first'],
          ]}
        />
        <TimeField
          label="Scheduled for"
          name="scheduled_for"
          value={form.scheduled_for}
          onChange={(scheduled_for) => onChange({ scheduled_for })}
          presets="soon"
          hint="Leave empty for now."
        />
        <TextField
          label="Reference"
          name="reference"
          value={form.reference}
          onInput={(reference) => onChange({ reference })}
        />
      </div>
    </details>
  );
}

type Check = TransferExplanation['checks'][number];

function Explanation({ of: explanation, currency }: { readonly of: TransferExplanation; readonly currency: string }) {
  const { would_succeed, first_failure, result, checks } = explanation;
  // Balances and limits are in the card's currency, even if the transfer has a different one.
  const ofCard = cardCurrencyIn(explanation) ?? currency;
  const failed = checks.find(({ outcome }) => outcome === 'failed');
  return (
    <>
      <p class={would_succeed ? 'answer' : 'answer declined'}>
        {would_succeed || first_failure === null ? (
          <>This transfer would succeed now. {result?.sentence}</>
        ) : (
          <>
            Would be{' '}
            <a href={`/errors/${first_failure}`}>
              {verdictOf({ operation: 'create_transfer', status: 409, code: first_failure })
                .replace(/^D/, 'd')
                .replace(/\.$/, '')}
            </a>
            . <LinkedText text={failed?.message ?? ''} />
          </>
        )}
      </p>
      <Section title="Every check, in order">
        <DataTable label="Checks" columns={columnsIn(ofCard, currency)} rows={checks} rowKey={({ name }) => name} />
        <p class="quiet">Not evaluated: no such field or limit is set, or an earlier check failed.</p>
      </Section>
    </>
  );
}

const OUTCOMES = {
  passed: { tone: 'good', text: 'passed' },
  failed: { tone: 'waiting', text: 'declined' },
  not_evaluated: { tone: 'quiet', text: 'not evaluated' },
} as const;

const columnsIn = (ofCard: string, sent: string): readonly Column<Check>[] => [
  { title: 'Check', cell: ({ name }) => name.replaceAll('_', ' ') },
  {
    title: 'Outcome',
    cell: ({ outcome }) => <Badge tone={OUTCOMES[outcome].tone}>{OUTCOMES[outcome].text}</Badge>,
  },
  {
    title: 'Values',
    cell: ({ saw, code, message }) => (
      <div>
        {code !== null && (
          <p class="check-why">
            <a href={`/errors/${code}`}>{code}</a>: <LinkedText text={message ?? ''} />
          </p>
        )}
        <CheckValues shown={shownValues(saw, ofCard, sent)} />
      </div>
    ),
  },
];

function CheckValues({ shown }: { readonly shown: ReturnType<typeof shownValues> }) {
  if (shown.length === 0) return null;
  return (
    <ul class="saw">
      {shown.map(({ name, text, kind }) => (
        <li key={name}>
          <span class="quiet">{name}</span> {kind === 'moment' && <Moment at={text} />}
          {kind === 'card' && <CardName id={text} plain />}
          {kind !== 'moment' && kind !== 'card' && <b>{text}</b>}
        </li>
      ))}
    </ul>
  );
}
