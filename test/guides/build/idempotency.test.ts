import { followGuide } from '../guide-trial.ts';

followGuide('idempotency');
