import { expect, test } from 'vitest';
import { exampleOf, exampleReply } from '../examples.ts';
import { OPERATION_IDS, OPERATIONS } from '../operations.ts';
import { goOf, pythonOf, typescriptOf } from './example-code.ts';

const HERE = { base: 'http://localhost:8080', needsKey: false };

test('an example in Go sets the headers and the body, and ends with an error if the request is refused', () => {
  expect(goOf('create_transfer', { ...HERE, needsKey: true })).toBe(`package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
)

func main() {
	body := strings.NewReader(\`{"amount": 1000, "card_id": "card_active"}\`)
	request, err := http.NewRequest("POST", "http://localhost:8080/api/v0.1/core/transfer", body)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("TRANSFER_SERVICE_KEY"))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", "example-create-transfer")
	response, err := http.DefaultClient.Do(request)
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
}`);
});

test('an example looks like code that a person wrote', () => {
  expect(pythonOf('create_transfer', { ...HERE, needsKey: true })).toBe(`import os
import requests

response = requests.post(
    "http://localhost:8080/api/v0.1/core/transfer",
    headers={
        "Authorization": f"Bearer {os.environ['TRANSFER_SERVICE_KEY']}",
        "Idempotency-Key": "example-create-transfer",
    },
    json={"amount": 1000, "card_id": "card_active"},
    timeout=30,
)
response.raise_for_status()
print(response.json())`);
  expect(typescriptOf('capture_transfer', HERE)).toBe(`import { TransferService } from '@transfer-service/sdk';

const service = new TransferService({ baseUrl: 'http://localhost:8080' });
const result = await service.transfers.capture(
  'tr_0196f5c2d9a17b40a5d2c08e6f1b3a97',
  { amount: 600 },
  { idempotencyKey: 'example-capture-transfer' },
);
console.log(result);`);
});

/** Writes a time of any form as the service writes it. */
const asRead = (value: unknown): unknown =>
  typeof value === 'string' && /^\d{4}-.*Z$/.test(value) ? new Date(value) : value;

test('a response repeats the created or changed fields of its request', () => {
  const differing = OPERATION_IDS.flatMap((id) => {
    const { method, status } = OPERATIONS[id];
    if (status !== 201 && method !== 'PATCH') return [];
    const reply: object = Object(exampleReply(id));
    const sent: object = JSON.parse(exampleOf(id).body ?? '{}');
    return Object.entries(sent).flatMap(([name, value]) => {
      const shown: unknown = Reflect.get(reply, name);
      const isSame = shown === undefined || JSON.stringify(asRead(shown)) === JSON.stringify(asRead(value));
      return isSame ? [] : [`${id}: ${name} is ${JSON.stringify(shown)} instead of ${JSON.stringify(value)}`];
    });
  });
  expect(differing).toEqual([]);
});
