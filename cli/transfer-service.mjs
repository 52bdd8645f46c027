#!/usr/bin/env node
import { runTypeScript } from '../setup/bootstrap.mjs';

await runTypeScript('cli/main.ts', process.argv.slice(2));
