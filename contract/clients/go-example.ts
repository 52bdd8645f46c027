import { exampleOf } from '../examples.ts';
import { OPERATIONS, type OperationId } from '../operations.ts';
import type { CodePlace } from './example-code.ts';

/** Bodies up to this length are on one line. */
const MAX_LINE = 70;

/** The example of an operation as a program in Go, with the standard library only. */
export function goOf(id: OperationId, { base, needsKey }: CodePlace): string {
  const { method } = OPERATIONS[id];
  const { path, headers, body } = exampleOf(id);
  const imports = [
    'fmt',
    'io',
    'log',
    'net/http',
    ...(needsKey ? ['os'] : []),
    ...(body === undefined ? [] : ['strings']),
  ];
  const sent = [
    ...(needsKey ? ['"Authorization", "Bearer "+os.Getenv("TRANSFER_SERVICE_KEY")'] : []),
    ...(body === undefined || 'Content-Type' in headers ? [] : ['"Content-Type", "application/json"']),
    ...Object.entries(headers).map(([name, value]) => `${text(name)}, ${text(value)}`),
  ];
  const setHeaders = sent.map((header) => `\trequest.Header.Set(${header})\n`).join('');
  return `package main

import (
${imports.map((name) => `\t"${name}"\n`).join('')})

func main() {
${body === undefined ? '' : `\tbody := strings.NewReader(${literal(body)})\n`}	request, err := http.NewRequest("${method}", ${text(base + path)}, ${body === undefined ? 'nil' : 'body'})
	if err != nil {
		log.Fatal(err)
	}
${setHeaders}	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	result, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	if response.StatusCode >= 300 {
		log.Fatalf("%s: %s", response.Status, result)
	}
	fmt.Println(string(result))
}
`.trimEnd();
}

/** A string of JSON is also a string of Go, except for escapes that the examples do not have. */
function text(value: string): string {
  return JSON.stringify(value);
}

/** The body as it is sent, or indented if it is long. */
function literal(body: string): string {
  if (body.includes('`')) return text(body);
  return `\`${body.length <= MAX_LINE ? body : JSON.stringify(JSON.parse(body), null, 2)}\``;
}
