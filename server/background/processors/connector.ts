import type { Answer, Order, Traits } from '../../../domain/processors/order.ts';

/** The way to one processor. There is one implementation: whatever speaks the contract of adapters is a connector. */
export type Connector = {
  readonly connectorId: string;
  readonly traits: Traits;
  /** Asks the processor to carry out an order. Never rejects, and never sends twice. */
  send(order: Order): Promise<Answer>;
  /** Asks what became of an order. Never rejects. */
  inquire(order: Order): Promise<Answer>;
  /** Asks to undo an order, or advises that it is undone. Never rejects. */
  reverse(order: Order): Promise<Answer>;
  /** Whether the adapter answers that it works. Never rejects. */
  isHealthy(): Promise<boolean>;
  /** Ends all connections. Requests that are open have the outcome `unknown`, or `not_sent`. */
  close(): void;
};
