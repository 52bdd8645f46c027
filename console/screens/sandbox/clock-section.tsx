import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { TextField } from '../../components/field.tsx';
import { Moment } from '../../components/moment.tsx';
import { Section } from '../../components/page.tsx';
import { useAhead, useNow } from '../../data/clock.ts';
import { useAction } from '../../data/use-action.ts';
import { formatDuration } from '../../format/times.ts';

const HOUR_SECONDS = 3_600;

const STEPS = [
  [HOUR_SECONDS, 'Forward 1 hour'],
  [24 * HOUR_SECONDS, 'Forward 1 day'],
  [7 * 24 * HOUR_SECONDS, 'Forward 1 week'],
  [31 * 24 * HOUR_SECONDS, 'Forward 31 days'],
] as const;

/** The clock of the sandbox, moved so that holds expire, limits reset and scheduled transfers become due. */
export function ClockSection() {
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
          hint="The clock can be moved back; what was created in the meantime keeps its times."
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
