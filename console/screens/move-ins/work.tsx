import { useEffect, useState } from 'preact/hooks';
import { Progress } from '../../components/loaded.tsx';
import { paceText, type Reading, type Work, withReading } from '../../format/operators/move-ins.ts';

/** Shows how much of some work is done, how fast, and how long the rest takes. The speed needs two readings. */
export function WorkProgress({
  work,
  reading,
}: {
  readonly work: Work;
  /** The record that `work` is from. Each record that was read is a reading, even if nothing has changed. */
  readonly reading: object;
}) {
  const { done, total, text } = work;
  const [readings, setReadings] = useState<readonly Reading[]>([]);
  useEffect(() => setReadings((before) => withReading(before, { at: performance.now(), done })), [reading]);
  const pace = paceText(readings, total);
  return <Progress label={pace === undefined ? text : `${text}, ${pace}`} value={done} max={total} />;
}
