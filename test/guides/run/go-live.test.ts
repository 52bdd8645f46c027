import { chmod } from 'node:fs/promises';
import { followGuide } from '../guide-trial.ts';

/** Commands that set variables. Each command runs in a new shell, so these are run again before it. */
const remembered: string[] = [];

followGuide('go-live', {
  startsService: true,
  // If root runs the tests, PostgreSQL runs as another user, who needs access to the ledger.
  prepare: (folder) => chmod(folder, 0o711),
  fails: /^curl http:\/\/transfers\.example\.com:8080/,
  fillIn: (command) => {
    const line = [...remembered, command].join('; ');
    if (/^(set -a|export )/.test(command)) remembered.push(command);
    return line;
  },
});
