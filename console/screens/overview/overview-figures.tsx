import type { Overview } from '../../../sdk/client.ts';
import { Sparkline } from '../../components/charts/sparkline.tsx';
import { Section } from '../../components/page.tsx';
import { overviewFigures } from '../../format/overview-figures.ts';

/** Shows four figures of the last minute, each with its value in the 14 minutes before. */
export function Figures({ overview }: { readonly overview: Overview }) {
  const isOneOfSeveral = (overview.processes?.length ?? 1) > 1;
  return (
    <Section
      title="The last minute"
      actions={<span class="quiet">compared with the 14 minutes before{isOneOfSeveral && ', in this process'}</span>}
    >
      <dl class="figures">
        {overviewFigures(overview).map(({ name, value, note, before, tone, trend, floor }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class={tone === 'bad' || tone === 'waiting' ? `figure tone-${tone}` : 'figure'}>
              {value ?? <span class="figure-none">no requests</span>}
            </dd>
            {value !== undefined && <dd>{note}</dd>}
            <dd>before: {before}</dd>
            <dd class="figure-trend">
              <Sparkline values={trend} floor={floor} tone={tone} />
            </dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}
