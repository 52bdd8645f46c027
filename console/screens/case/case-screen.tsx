import { useState } from 'preact/hooks';
import { Id } from '../../components/id.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { Page } from '../../components/page.tsx';
import type { Parameters } from '../../data/parameters.ts';
import { subjectOf } from '../../format/support/cases.ts';
import { Conversation } from './conversation.tsx';
import './case.css';
import { Story } from './story.tsx';
import { useCase } from './use-case.ts';

/** A case: the story on the left, one sentence first; the conversation on the right. */
export function CaseScreen({ parameters }: { readonly parameters: Parameters }) {
  const id = parameters.case_id ?? '';
  const state = useCase(id);
  const [done, setDone] = useState('');
  const onDone = (text: string) => {
    setDone(text);
    state.reload();
  };
  return (
    <Page title={state.data === undefined ? 'Case' : subjectOf(state.data)} lead={<Id id={id} kind="other" whole />}>
      <p class={done === '' ? 'hidden' : 'notice'} role="status">
        {done}
      </p>
      <Loaded state={state}>
        {(record) => (
          <div class="beside case">
            <div class="beside-part">
              <Story record={record} onDone={onDone} />
            </div>
            <div class="beside-part">
              <Conversation record={record} onDone={onDone} />
            </div>
          </div>
        )}
      </Loaded>
    </Page>
  );
}
