import { Page } from '../../components/page.tsx';
import { WhoMay } from '../../components/who-may.tsx';
import { useSession } from '../../data/session.ts';
import { CardsSection } from './cards-section.tsx';
import { ClockSection } from './clock-section.tsx';
import { DatabaseSection } from './database-section.tsx';
import { ProvokeSection } from './provoke-section.tsx';

/** What only a sandbox has: cards for every refusal, errors on request, a clock to move, a database to stop. */
export function SandboxScreen() {
  const { can } = useSession();
  return (
    <Page title="Sandbox" lead="Try what happens when things go wrong, without real money.">
      <CardsSection />
      <ProvokeSection />
      <WhoMay operation="move_clock" to="move the clock or stop the database" />
      {can('move_clock') && <ClockSection />}
      {can('stop_database') && <DatabaseSection />}
    </Page>
  );
}
