import { followGuide } from './guide-trial.ts';

// The README installs and starts the service as the quickstart does.
followGuide('README', { file: 'README.md', usesNpm: true });
