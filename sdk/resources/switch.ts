import type { KeyedCallOptions, WithResponse } from '../call.ts';
import type { ChangeSwitchBody, SwitchRecord } from '../generated/operations.ts';
import { SwitchResource } from '../generated/resources.ts';

/** What to disable, why, and until when: the whole service, a card program, one type of transfer of it, or a connector. */
export type DisableBody = Omit<ChangeSwitchBody, 'disabled' | 'reason'> & { readonly reason: string };

/** What to enable: the whole service, a card program, one type of transfer of it, or a connector. */
export type EnableBody = Omit<ChangeSwitchBody, 'disabled' | 'until'>;

/** The switch, with a method for each direction, as the command line has. */
export class Switch extends SwitchResource {
  /** change_switch with `disabled: true`: takes effect immediately. Without `program_id` and `connector_id` it stops everything. */
  disable(body: DisableBody, options?: KeyedCallOptions): Promise<WithResponse<SwitchRecord>> {
    return this.change({ ...body, disabled: true }, options);
  }

  /** change_switch with `disabled: false`. Without `program_id` and `connector_id` it enables what was disabled for the whole service. */
  enable(body?: EnableBody, options?: KeyedCallOptions): Promise<WithResponse<SwitchRecord>> {
    return this.change({ ...body, disabled: false }, options);
  }
}
