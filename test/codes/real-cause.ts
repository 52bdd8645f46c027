import { type ExampleRequest, exampleOf } from '../../contract/examples.ts';
import type { ErrorCode } from '../../contract/operations.ts';
import { OPERATION_IDS, OPERATIONS, type OperationId } from '../../contract/operations.ts';
import type { TransferService } from '../../sdk/client.ts';
import type { RawResponse } from '../harness/raw-connection.ts';
import { ask, type Question, toQuestion } from './ask.ts';
import type { Expected } from './expect-answer.ts';
import type { World } from './world.ts';

/** An answer that a real cause brought about, and what it must be. */
export type Observation = {
  readonly answer: RawResponse;
  readonly expected: Expected;
  /** Whether it is the response to the sample of the code. */
  readonly isSample?: boolean;
};

/** Causes of a code besides its sample. */
export type RealCause = {
  readonly observe: (world: World) => Promise<readonly Observation[]>;
};

/** One request of a sandbox, and the operation that it is for. */
export type Attempt = {
  readonly question: Question;
  readonly operation?: OperationId;
  readonly more?: Partial<Expected>;
};

/** A cause that is nothing but requests to the sandbox. */
export function byRequests(code: ErrorCode, attempts: readonly Attempt[]): RealCause {
  return { observe: ({ sandbox }) => observeAll(sandbox.url, code, attempts) };
}

/** A cause that is requests to the sandbox about what has to be made for them first. */
export function byPrepared(
  code: ErrorCode,
  prepare: (client: TransferService) => Promise<readonly Attempt[]>,
): RealCause {
  return { observe: async ({ sandbox }) => observeAll(sandbox.url, code, await prepare(sandbox.client)) };
}

/** Several causes of one code, one after the other. */
export function together(...causes: readonly RealCause[]): RealCause {
  return {
    observe: async (world) => {
      const observations: Observation[] = [];
      for (const { observe } of causes) observations.push(...(await observe(world)));
      return observations;
    },
  };
}

/** Sends requests one after the other; every one of them must be answered with the code. */
export async function observeAll(
  url: string,
  code: ErrorCode,
  attempts: readonly Attempt[],
): Promise<readonly Observation[]> {
  const observations: Observation[] = [];
  for (const { question, operation, more } of attempts) {
    const answer = await ask(url, question);
    observations.push({ answer, expected: { code, operation, method: question.method, ...more } });
  }
  return observations;
}

/** The example of every operation that `fits`, changed. */
export function eachOperation(
  change: (question: Question, id: OperationId) => Question,
  fits: (id: OperationId) => boolean = () => true,
): readonly Attempt[] {
  return OPERATION_IDS.filter(fits).map((operation) => ({
    operation,
    question: change(toQuestion(exampleOf(operation)), operation),
  }));
}

/** A request with one more header. */
export function withHeader(question: Question, name: string, value: string): Question {
  return { ...question, headers: [...(question.headers ?? []), [name, value]] };
}

/** Whether an operation reads a body. */
export function hasBody(id: OperationId): boolean {
  return OPERATIONS[id].body !== undefined;
}

/** The path of an operation with an id in the place of its parameter. */
export function pathOf(operation: OperationId, id: string): string {
  return OPERATIONS[operation].path.replace(/\{.*\}/, encodeURIComponent(id));
}

/** A request of an operation about one thing, with a body where there is one, and headers as given. */
export function about(
  operation: OperationId,
  id: string,
  members?: object,
  headers: Readonly<Record<string, string>> = {},
): Attempt {
  const { method } = OPERATIONS[operation];
  const body = members === undefined ? undefined : JSON.stringify(members);
  return { operation, question: toQuestion({ method, path: pathOf(operation, id), headers, ...(body && { body }) }) };
}

/** The example of an operation with other members in its body; undefined leaves one out. */
export function withMembers(
  operation: OperationId,
  members: object,
  headers: Readonly<Record<string, string>> = {},
): Attempt {
  const example: ExampleRequest = exampleOf(operation);
  const body = JSON.stringify({ ...JSON.parse(example.body ?? '{}'), ...members });
  return { operation, question: toQuestion({ ...example, body }, headers) };
}
