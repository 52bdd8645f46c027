import type { TObject } from 'typebox';
import type { SampleRequest } from '../error.ts';
import type { OperationId } from '../operations.ts';

/**
 * How to cause an event in a sandbox. The pages print it as commands, and `test/events` runs it. In a path, a body or a header,
 * `{transfer_id}`, `{attempt_id}`, `{card_id}`, `{key_id}`, `{webhook_id}`, `{case_id}` and `{incident_id}` stand for the id in
 * the previous response, `{today}` is the date (UTC), and `{unique}` is a value that no earlier run used.
 */
export type EventSample = {
  /** What to do, in a sentence. */
  readonly reproduce: string;
  /** Requests to send first. `a second person`: the guide to approvals has the commands, because they need two people. */
  readonly given?: readonly SampleRequest[] | 'a second person';
  readonly request: SampleRequest;
  /** How long the event takes, if a test cannot wait that long. */
  readonly takes?: string;
  /** The status of its response; 200 or 201 if omitted. */
  readonly status?: number;
  /** Requests that undo it. */
  readonly after?: readonly SampleRequest[];
};

/** Everything about one type of event. */
export type EventDefinition<Data extends TObject = TObject> = {
  /** What happened, in a sentence. */
  readonly summary: string;
  /** When it is sent: one full sentence for each case. */
  readonly sent: readonly string[];
  /** The schema of `data`: the record of the subject right after the change. */
  readonly data: Data;
  /** The field of `data` whose value is `subject_id`. */
  readonly subject: string;
  /** The `subject_id` if that field is null. */
  readonly subjectOtherwise?: string;
  /** The operation that returns the subject in its current state, if there is one. */
  readonly operation?: OperationId;
  /** Whether lists and streams of events contain it; otherwise only a webhook receives it. */
  readonly listed: boolean;
  /** Whether it belongs to no card program, so that only operators get it. */
  readonly isOfService: boolean;
  /** Further facts about it, as full sentences. */
  readonly notes: readonly string[];
  /** Fields of the example that differ from the default sample of the schema. */
  readonly example: Readonly<Record<string, unknown>>;
  /** Version of the API that introduced it. */
  readonly since: string;
  readonly sample: EventSample;
};

type Essential = 'summary' | 'sent' | 'data' | 'sample';

const ONLY_FOR_OPERATORS = 'The event belongs to no card program, so only operators get it.';

/**
 * Defines a type of event. Unless stated otherwise, it has existed since version 0.1, and its example is the default sample of
 * its schema.
 */
export function eventType<Data extends TObject>(
  definition: Pick<EventDefinition<Data>, Essential> &
    Partial<EventDefinition<Data>> & { readonly subject: keyof Data['properties'] },
): EventDefinition<Data> {
  const { isOfService = false, notes = [] } = definition;
  return {
    ...{ listed: true, example: {}, since: '0.1', ...definition, isOfService },
    notes: isOfService ? [ONLY_FOR_OPERATORS, ...notes] : notes,
  };
}
