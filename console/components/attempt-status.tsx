import type { ProcessorAttemptRecord } from '../../sdk/client.ts';
import { ATTEMPT_WORDS } from '../format/operators/processors.ts';
import { Badge } from './badge.tsx';

/** Shows the status of an order to a processor. */
export function AttemptStatus({ status }: Pick<ProcessorAttemptRecord, 'status'>) {
  const { word, tone } = ATTEMPT_WORDS[status] ?? { word: status, tone: 'quiet' };
  return <Badge tone={tone}>{word}</Badge>;
}
