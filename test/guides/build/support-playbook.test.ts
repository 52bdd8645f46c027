import { followGuide } from '../guide-trial.ts';

followGuide('support-playbook');
