// npm run console [-- <url of a running service>]: serves the console with hot reload, and forwards API calls to the service.
import { createServer } from 'vite';
import { VITE_OPTIONS } from './vite-options.ts';

const PORT = 8090;

const service = process.argv[2] ?? 'http://localhost:8080';
const { origin } = new URL(service);
// To the service, requests from pages of this origin must look like requests from its own pages.
const proxy = { target: origin, changeOrigin: true, headers: { origin } };
const server = await createServer({
  ...VITE_OPTIONS,
  logLevel: 'info',
  server: {
    host: 'localhost',
    port: PORT,
    strictPort: false,
    proxy: { '^/$': proxy, '/api': proxy, '/errors': proxy, '/events': proxy, '/docs': proxy, '/openapi.json': proxy },
  },
});
await server.listen();
console.log(`The console, with hot reload, for the service at ${origin}:`);
server.printUrls();
