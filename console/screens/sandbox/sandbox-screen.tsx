import { useState } from 'preact/hooks';
import type { CardRecord } from '../../../sdk/client.ts';
import { ApprovalNotice } from '../../components/approval.tsx';
import { Badge } from '../../components/badge.tsx';
import { Button, WhoMay } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { ConfirmDialog } from '../../components/dialogs/dialog.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { TextField } from '../../components/field.tsx';
import { Id } from '../../components/id.tsx';
import { Moment } from '../../components/moment.tsx';
import { Page, Section } from '../../components/page.tsx';
import { useAhead, useNow } from '../../data/clock.ts';
import { useSession } from '../../data/session.ts';
import { useAction } from '../../data/use-action.ts';
import { useOperation } from '../../data/use-operation.ts';
import { formatDuration } from '../../format/times.ts';
import { ProvokeSection } from './provoke-section.tsx';

/** The tools of a sandbox: cards for every refusal, errors on request, a clock to move, and a database to stop. */
export function SandboxScreen() {
  const { can } = useSession();
  return (
    <Page title="Sandbox" lead="See what happens when things go wrong, without real money.">
      <CardsSection />
      <ProvokeSection />
      <WhoMay operation="move_clock" to="move the clock or stop the database" />
      {can('move_clock') && <ClockSection />}
      {can('stop_database') && <DatabaseSection />}
    </Page>
  );
}

const HOUR_SECONDS = 3_600;

const STEPS = [
  [HOUR_SECONDS, 'Forward 1 hour'],
  [24 * HOUR_SECONDS, 'Forward 1 day'],
  [7 * 24 * HOUR_SECONDS, 'Forward 1 week'],
  [31 * 24 * HOUR_SECONDS, 'Forward 31 days'],
] as const;

/** Moves the sandbox clock, so that holds expire, limits reset and scheduled transfers become due. */
function ClockSection() {
  const [days, setDays] = useState('');
  const ahead = Math.round(useAhead() / 1000);
  const now = new Date(useNow()).toISOString();
  const move = useAction((seconds: number, api, { programId: _, ...options }) =>
    api.sandbox.moveClock({ seconds_ahead: seconds }, options),
  );
  const sent = Math.round(Number(days) * 24 * HOUR_SECONDS);
  const isValid = days !== '' && Number.isFinite(sent) && sent >= 0;
  const submit = (event: Event) => {
    event.preventDefault();
    if (isValid) void move.run(sent);
  };
  return (
    <Section title="Clock">
      <p role="status">
        The sandbox is at <Moment at={now} />
        {ahead === 0 ? ', the actual time.' : `, ${formatDuration(ahead * 1000)} ahead of the actual time.`}
      </p>
      <div class="page-actions">
        {STEPS.map(([seconds, text]) => (
          <Button key={text} pending={move.pending} onClick={() => void move.run(ahead + seconds)}>
            {text}
          </Button>
        ))}
        <Button pending={move.pending} disabled={ahead === 0} onClick={() => void move.run(0)}>
          Reset to the actual time
        </Button>
      </div>
      <form class="form" onSubmit={submit}>
        <TextField
          label="Days ahead of the actual time"
          value={days}
          onInput={setDays}
          inputMode="decimal"
          problem={days === '' || isValid ? undefined : 'A number of days, 0 or more.'}
          hint="You can move the clock back. Records created in the meantime keep their times."
        />
        <div class="dialog-actions">
          <Button type="submit" pending={move.pending} disabled={!isValid}>
            Move the clock
          </Button>
        </div>
      </form>
      {move.error !== undefined && <ErrorRecord error={move.error} />}
    </Section>
  );
}

const POLL_MILLISECONDS = 3_000;

function DatabaseSection() {
  const status = useOperation((api, { programId: _, ...options }) => api.status.get(options), {
    pollMilliseconds: POLL_MILLISECONDS,
  });
  const [isAsking, setAsking] = useState(false);
  const stop = useAction((_: null, api, { programId: _program, idempotencyKey: _key, ...options }) =>
    api.sandbox.stopDatabase(options),
  );
  const start = useAction((_: null, api, { programId: _program, idempotencyKey: _key, ...options }) =>
    api.sandbox.startDatabase(options),
  );
  const state = status.data?.database.state;
  const isUp = state === 'up';
  const stopNow = async () => {
    if ((await stop.run(null)) === undefined) return;
    setAsking(false);
    status.reload();
  };
  const startNow = async () => {
    if ((await start.run(null)) !== undefined) status.reload();
  };
  return (
    <Section title="Database">
      <p role="status">
        Database of this sandbox:{' '}
        {state === undefined ? 'unknown' : <Badge tone={isUp ? 'good' : 'bad'}>{isUp ? 'running' : state}</Badge>}
      </p>
      <div class="page-actions">
        <Button
          kind="danger"
          pending={stop.pending}
          disabled={state !== undefined && !isUp}
          onClick={() => setAsking(true)}
        >
          Stop the database
        </Button>
        <Button pending={start.pending} disabled={isUp} onClick={() => void startNow()}>
          Start the database
        </Button>
      </div>
      {start.error !== undefined && <ErrorRecord error={start.error} />}
      {isAsking && (
        <ConfirmDialog
          title="Stop the database"
          confirm="Stop the database"
          kind="danger"
          pending={stop.pending}
          error={stop.error}
          onConfirm={stopNow}
          onClose={() => setAsking(false)}
        >
          <p>
            Every operation of this sandbox fails until you start the database again, here or with{' '}
            <code>transfer-service sandbox database start</code>. Nothing is lost.
          </p>
        </ConfirmDialog>
      )}
    </Section>
  );
}

/** The card program that every sandbox starts with. Its id is always the same, and only it has the seeded cards. */
const DEMO_PROGRAM_ID = 'prog_019000000000700080000000000000de';

/** The purpose of each seeded card. There is a card for each status. */
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

/** A load of 10.00, which some cards accept and others refuse, each for its own reason. */
const TRIED_AMOUNT = 1_000;

function CardsSection() {
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
