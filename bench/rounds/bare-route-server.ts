import fastify from 'fastify';
import { CreateTransferBody } from '../../contract/transfers.ts';

// The lower bound of the CPU of a transfer: one bare Fastify route that validates the body of create_transfer against the same
// schema and returns it. It has no key, no money and no database. Prints its address and ends with its parent.

const server = fastify({ ajv: { customOptions: { strict: false } } });
server.post('/api/v0.1/core/transfer', { schema: { body: CreateTransferBody } }, (request, reply) => {
  reply.code(201).send(request.body);
});
const address = await server.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`${address}\n`);
process.stdin.resume();
process.stdin.once('end', () => process.exit(0));
