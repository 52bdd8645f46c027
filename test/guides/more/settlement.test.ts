import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { followGuide } from '../guide-trial.ts';

// The simulator's files are in the data directory, and a reader's sandbox has it in its folder.
followGuide('settlement', {
  prepare: (folder, _url, dataDirectory) => symlink(dataDirectory, join(folder, 'data')),
});
