import { followGuide } from '../guide-trial.ts';

followGuide('error-log');
