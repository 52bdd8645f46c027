import { chmod } from 'node:fs/promises';
import { followGuide } from '../guide-trial.ts';

/** What the reader's shell remembers: every command is run in a shell of its own. */
const remembered: string[] = [];

followGuide('go-live', {
  startsService: true,
  // Where the tests run as root, PostgreSQL runs as another user, who has to get to the ledger.
  prepare: (folder) => chmod(folder, 0o711),
  fails: /^curl http:\/\/transfers\.example\.com:8080/,
  fillIn: (command) => {
    const line = [...remembered, command].join('; ');
    if (/^(set -a|export )/.test(command)) remembered.push(command);
    return line;
  },
});
