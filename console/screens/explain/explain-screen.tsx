import { useState } from 'preact/hooks';
import type { TransferExplanation } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Empty } from '../../components/empty.tsx';
import { SelectField, TextField } from '../../components/field.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { Page, Section } from '../../components/page.tsx';
import { useSession } from '../../data/session.ts';
import { useOperation } from '../../data/use-operation.ts';
import { useUrlState } from '../../data/use-url-state.ts';
import { formatAmount } from '../../format/amounts.ts';
import { EMPTY_FORM, type ExplainForm, problemsOf, toExplainBody } from '../../format/requests/explain-form.ts';
import { textOfValue } from '../../format/requests/requests.ts';
import './explain.css';

/** What create_transfer would do now with these values: every check, with what it saw. No money moves. */
export function ExplainScreen() {
  const [asked, setAsked] = useUrlState(EMPTY_FORM);
  const body = toExplainBody(asked);
  const [asks, setAsks] = useState(0);
  const explanation = useOperation(
    body === undefined ? undefined : (api, options) => api.transfers.explain(body, options),
    { deps: [JSON.stringify(asked), asks] },
  );
  return (
    <Page title="Explain" lead="Every check of create_transfer, in the order in which they are made. No money moves.">
      <div class="explain">
        <Form
          // Going back in the history shows what was asked then.
          key={JSON.stringify(asked)}
          asked={asked}
          pending={explanation.loading && body !== undefined}
          onAsk={(form) => {
            setAsked(form);
            setAsks((count) => count + 1);
          }}
        />
        <div class="loaded">
          {body === undefined ? (
            <Empty title="Fill in the form">
              The checks show why a transfer is refused, or would be, and how much of each limit is left.
            </Empty>
          ) : (
            <Loaded state={explanation}>{(found) => <Explanation of={found} />}</Loaded>
          )}
        </div>
      </div>
    </Page>
  );
}

function Form({
  asked,
  pending,
  onAsk,
}: {
  readonly asked: ExplainForm;
  readonly pending: boolean;
  readonly onAsk: (form: ExplainForm) => void;
}) {
  const [form, setForm] = useState(asked);
  const [isSent, setSent] = useState(false);
  const { can } = useSession();
  // Only to show the amount in the card's currency.
  const named = form.currency === '' && asked.card_id !== '' && can('get_card') ? asked.card_id : undefined;
  const card = useOperation(named === undefined ? undefined : (api, options) => api.cards.get(named, options), {
    deps: [named],
  });
  const currency = form.currency === '' ? card.data?.currency : form.currency;
  const problems = isSent ? problemsOf(form) : {};
  const change = (changes: Partial<ExplainForm>) => setForm((before) => ({ ...before, ...changes }));
  const submit = (event: Event) => {
    event.preventDefault();
    setSent(true);
    if (Object.keys(problemsOf(form)).length === 0) onAsk(form);
  };
  return (
    <form class="form" onSubmit={submit} aria-label="The transfer">
      <SelectField
        label="Type"
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
        value={form.card_id}
        problem={problems.card_id}
        onInput={(card_id) => change({ card_id })}
      />
      {form.type === 'card_to_card' && (
        <TextField
          label="Receiving card"
          value={form.destination_card_id}
          problem={problems.destination_card_id}
          onInput={(destination_card_id) => change({ destination_card_id })}
        />
      )}
      <TextField
        label="Amount in minor units"
        value={form.minor_units}
        inputMode="numeric"
        problem={problems.minor_units}
        hint={
          currency !== undefined && /^\d{1,15}$/.test(form.minor_units)
            ? `That is ${formatAmount(form.minor_units, currency)}.`
            : 'As in the API: 1250 is 12.50 USD.'
        }
        onInput={(minor_units) => change({ minor_units })}
      />
      <details open={form.currency + form.capture + form.scheduled_for + form.reference !== ''}>
        <summary>More fields</summary>
        <div class="form">
          <TextField
            label="Currency"
            value={form.currency}
            hint="Empty for that of the card"
            onInput={(text) => change({ currency: text.toUpperCase() })}
          />
          <SelectField
            label="Capture"
            value={form.capture}
            onChange={(capture) => change({ capture })}
            options={[
              ['', 'Automatic: the money moves at once'],
              ['manual', 'Manual: it is held first'],
            ]}
          />
          <TextField
            label="Scheduled for"
            type="datetime-local"
            value={form.scheduled_for}
            problem={problems.scheduled_for}
            hint="In your time zone; empty for now"
            onInput={(scheduled_for) => change({ scheduled_for })}
          />
          <TextField label="Reference" value={form.reference} onInput={(reference) => change({ reference })} />
        </div>
      </details>
      <div>
        <Button type="submit" kind="main" pending={pending}>
          Explain
        </Button>
      </div>
    </form>
  );
}

type Check = TransferExplanation['checks'][number];

function Explanation({ of: { would_succeed, first_failure, checks } }: { readonly of: TransferExplanation }) {
  const failed = checks.find(({ outcome }) => outcome === 'failed');
  return (
    <>
      <p class={would_succeed ? 'answer' : 'answer unknown'}>
        {would_succeed ? (
          'create_transfer would succeed now.'
        ) : (
          <>
            create_transfer would be refused with <a href={`/errors/${first_failure}`}>{first_failure}</a>
            {failed?.message ? `: ${failed.message}` : '.'}
          </>
        )}
      </p>
      <Section title="Every check">
        <DataTable label="Checks" columns={COLUMNS} rows={checks} rowKey={({ name }) => name} />
        <p class="quiet">
          Not evaluated: there is nothing to look at, because no such field or limit is set, or an earlier check failed.
        </p>
      </Section>
    </>
  );
}

const OUTCOMES = {
  passed: { tone: 'good', text: 'passed' },
  failed: { tone: 'bad', text: 'failed' },
  not_evaluated: { tone: 'quiet', text: 'not evaluated' },
} as const;

const COLUMNS: readonly Column<Check>[] = [
  { title: 'Check', cell: ({ name }) => name.replaceAll('_', ' ') },
  {
    title: 'Outcome',
    cell: ({ outcome }) => <Badge tone={OUTCOMES[outcome].tone}>{OUTCOMES[outcome].text}</Badge>,
  },
  {
    title: 'What it saw',
    cell: ({ saw, code, message, outcome }) => (
      <div>
        {code !== null && (
          <p class="check-why">
            <a href={`/errors/${code}`}>{code}</a>: {message}
          </p>
        )}
        <Saw values={saw} />
        {outcome === 'not_evaluated' && <span class="quiet">–</span>}
      </div>
    ),
  },
];

function Saw({ values }: { readonly values: Check['saw'] }) {
  const pairs = Object.entries(values);
  if (pairs.length === 0) return null;
  return (
    <ul class="saw">
      {pairs.map(([name, value]) => (
        <li key={name}>
          <span class="quiet">{name.replaceAll('_', ' ')}</span> <code>{textOfValue(value)}</code>
        </li>
      ))}
    </ul>
  );
}
