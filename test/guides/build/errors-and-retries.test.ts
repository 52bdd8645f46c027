import { followGuide } from '../guide-trial.ts';

followGuide('errors-and-retries');
