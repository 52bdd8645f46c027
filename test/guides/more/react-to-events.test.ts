import { followGuide } from '../guide-trial.ts';

followGuide('react-to-events', { environment: { TRANSFER_SERVICE_WEBHOOK_SECRET: '' } });
