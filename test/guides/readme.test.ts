import { followGuide } from './guide-trial.ts';

// The README installs and starts the same as the quickstart.
followGuide('README', { file: 'README.md', usesNpm: true });
