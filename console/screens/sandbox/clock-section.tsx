import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { TextField } from '../../components/field.tsx';
import { Moment } from '../../components/moment.tsx';
import { Section } from '../../components/page.tsx';
import { useAction } from '../../data/use-action.ts';
import { useOperation } from '../../data/use-operation.ts';
import { formatDuration } from '../../format/times.ts';
import { DEMO_PROGRAM_ID } from './demo-program.ts';

const HOUR_SECONDS = 3_600;

const STEPS = [
  [HOUR_SECONDS, 'An hour on'],
  [24 * HOUR_SECONDS, 'A day on'],
  [7 * 24 * HOUR_SECONDS, 'A week on'],
  [31 * 24 * HOUR_SECONDS, '31 days on'],
] as const;

/** The clock of the sandbox, moved so that holds expire, limits reset and scheduled transfers become due. */
export function ClockSection() {
  const [days, setDays] = useState('');
  // Nothing reads the clock as such; the limits of a card are those of its time.
  const limits = useOperation((api, options) =>
    api.cards.limits('card_active', { ...options, programId: DEMO_PROGRAM_ID }),
  );
  const move = useAction((seconds: number, api, { programId: _, ...options }) =>
    api.sandbox.moveClock({ seconds_ahead: seconds }, options),
  );
  const now = move.result?.now ?? limits.data?.evaluated_at;
  const ahead = move.result?.seconds_ahead ?? secondsAhead(limits.data?.evaluated_at);
  const sent = Math.round(Number(days) * 24 * HOUR_SECONDS);
  const isValid = days !== '' && Number.isFinite(sent) && sent >= 0;
  const submit = (event: Event) => {
    event.preventDefault();
    if (isValid) void move.run(sent);
  };
  return (
    <Section title="Clock">
      <p role="status">
        {now === undefined || ahead === undefined ? (
          'The time of the sandbox is not known.'
        ) : (
          <>
            The sandbox is at <Moment at={now} />
            {ahead === 0 ? ', the actual time.' : `, ${formatDuration(ahead * 1000)} ahead of the actual time.`}
          </>
        )}
      </p>
      <div class="page-actions">
        {STEPS.map(([seconds, text]) => (
          <Button key={text} pending={move.pending} onClick={() => void move.run((ahead ?? 0) + seconds)}>
            {text}
          </Button>
        ))}
        <Button pending={move.pending} disabled={ahead === 0} onClick={() => void move.run(0)}>
          Back to the actual time
        </Button>
      </div>
      <form class="form" onSubmit={submit}>
        <TextField
          label="Days ahead of the actual time"
          value={days}
          onInput={setDays}
          inputMode="decimal"
          problem={days === '' || isValid ? undefined : 'A number of days, 0 or more.'}
          hint="The clock can be moved back; what was created meanwhile keeps its times."
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

/** How far a time of the sandbox is ahead, in whole minutes: the request has taken a moment. */
function secondsAhead(at: string | undefined): number | undefined {
  if (at === undefined) return undefined;
  return Math.max(0, Math.round((Date.parse(at) - Date.now()) / 60_000) * 60);
}
