import type { ConnectorRecord } from '../../../sdk/client.ts';
import { Moment } from '../../components/moment.tsx';
import { hrefTo } from '../../data/location.ts';
import { useSession } from '../../data/session.ts';
import { useOperation } from '../../data/use-operation.ts';
import { attentionText } from '../../format/operators/processors.ts';

/** Alerts tell of both; here a minute is soon enough. */
const POLL_MILLISECONDS = 60_000;

/** Enough to say that there are many. */
const MAX_BREAKS = 100;

/** What processors need: the connectors that are down, and what needs a person, in words. */
export type ProcessorConcerns = { readonly down: readonly ConnectorRecord[]; readonly attention: string | undefined };

/** What processors need, polled; nothing where all is well. */
export function useProcessorConcerns(): ProcessorConcerns {
  const { can } = useSession();
  const { data } = useOperation(
    can('list_connectors')
      ? async (api, options) => {
          const { data: connectors } = await api.connectors.list(options);
          // A service without connectors has no breaks.
          const found = connectors.length === 0 ? undefined : await api.breaks.list({ limit: MAX_BREAKS }, options);
          return { connectors, breaks: found?.data.length ?? 0, hasMore: (found?.next_cursor ?? null) !== null };
        }
      : undefined,
    { isOwn: true, ofAnyProgram: true, pollMilliseconds: POLL_MILLISECONDS },
  );
  if (data === undefined) return { down: [], attention: undefined };
  const down = data.connectors.filter(({ state }) => state === 'down');
  const attention = attentionText(data.connectors, data.breaks, data.hasMore);
  return { down, attention };
}

/** What processors need, below the first line. Nothing where all is well. */
export function ProcessorConcernList({ of: { down, attention } }: { readonly of: ProcessorConcerns }) {
  if (down.length === 0 && attention === undefined) return null;
  return (
    <ul class="concerns" aria-label="What processors need">
      {down.map(({ connector_id: id, since, reason }) => (
        <li key={id}>
          The connector {id} is down
          {since !== null && (
            <>
              {' '}
              since <Moment at={since} short />
            </>
          )}
          {reason === null ? '.' : `: ${reason}`} <a href={hrefTo('/console/processors')}>Its transfers</a>
        </li>
      ))}
      {attention !== undefined && (
        <li>
          {attention} <a href={hrefTo('/console/processors')}>Open the queue</a>
        </li>
      )}
    </ul>
  );
}
