import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { followGuide } from '../guide-trial.ts';

// The simulator's files are in the data directory, which is in the folder of a reader's sandbox.
followGuide('settlement', {
  prepare: (folder, _url, dataDirectory) => symlink(dataDirectory, join(folder, 'data')),
});
