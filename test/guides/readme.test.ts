import { followGuide } from './guide-trial.ts';

// The first page of the project; what it installs and starts is what the quickstart does.
followGuide('README', { file: 'README.md', usesNpm: true });
