import { followGuide } from '../guide-trial.ts';

followGuide('deploy', { startsService: true });
