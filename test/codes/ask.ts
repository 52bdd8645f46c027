import type { ExampleRequest } from '../../contract/examples.ts';
import { RawConnection, type RawResponse } from '../harness/raw-connection.ts';

/** A request as it goes over the wire; a name may be there twice. */
export type Question = {
  readonly method: string;
  readonly path: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly body?: string;
};

/** The bytes of a request. `Host` and the length of the body are added unless it is given. */
export function bytesOf({ method, path, headers = [], body }: Question): string {
  const isCounted = body === undefined || headers.some(([name]) => name === 'Content-Length');
  const length: readonly (readonly [string, string])[] = isCounted
    ? []
    : [['Content-Length', String(Buffer.byteLength(body, 'latin1'))]];
  const lines = [['Host', 'localhost'] as const, ...headers, ...length].map(([name, value]) => `${name}: ${value}`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body ?? ''}`;
}

/** A request as the contract shows it, with more headers. */
export function toQuestion(example: ExampleRequest, more: Readonly<Record<string, string>> = {}): Question {
  const { method, path, body } = example;
  const headers = Object.entries({ ...example.headers, ...more });
  return { method, path, headers, ...(body === undefined ? {} : { body }) };
}

/** Sends a request on a connection of its own and gives the answer. */
export async function ask(url: string, question: Question): Promise<RawResponse> {
  const connection = await RawConnection.open(Number(new URL(url).port));
  try {
    connection.send(bytesOf(question));
    return await connection.next(question.method);
  } finally {
    connection.close();
  }
}

/** Sends requests one after the other, on one connection as long as the service keeps it, and gives their answers. */
export async function askAll(url: string, questions: readonly Question[]): Promise<readonly RawResponse[]> {
  const open = (): Promise<RawConnection> => RawConnection.open(Number(new URL(url).port));
  const answers: RawResponse[] = [];
  let connection = await open();
  try {
    for (const question of questions) {
      if (answers.at(-1)?.headers.get('connection') === 'close') {
        connection.close();
        connection = await open();
      }
      connection.send(bytesOf(question));
      answers.push(await connection.next(question.method));
    }
    return answers;
  } finally {
    connection.close();
  }
}
