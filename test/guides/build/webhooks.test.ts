import { followGuide } from '../guide-trial.ts';

followGuide('webhooks', {
  // Uses the first webhook and the event of its transfer, not the latest ones.
  fillIn: (command, output) => {
    const find = (pattern: RegExp, placeholder: string) => pattern.exec(output)?.[1] ?? placeholder;
    return command
      .replaceAll('wh_…', find(/(wh_[0-9a-f]{32})/, 'wh_…'))
      .replaceAll('whsec_…', find(/(whsec_\S+)/, 'whsec_…'))
      .replaceAll('evt_…', find(/(evt_[0-9a-f]{32}) {2}transfer\.completed/, 'evt_…'));
  },
});
