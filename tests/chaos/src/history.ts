/** What clients asked, were told and saw, and what the databases hold: all that the checks judge. No behaviour. Times are milliseconds of one monotonic clock. */

export type OrderStatus = 'placed' | 'approved' | 'delivered' | 'cancelled';

export type Ask =
  | { readonly kind: 'place'; readonly plantId: number; readonly quantity: number; readonly orderId?: number; readonly key?: string }
  | { readonly kind: 'cancel' | 'deliver' | 'read'; readonly orderId: number }
  | { readonly kind: 'pay'; readonly orderId: number; readonly reference: string }
  /** `value`: what is written, counted up from 1 by the only one who writes this name. */
  | { readonly kind: 'write'; readonly name: string; readonly value: number }
  | { readonly kind: 'look'; readonly name: string }
  | { readonly kind: 'inventory' }
  | { readonly kind: 'other'; readonly what: string };

/** The balancer's answer when no gateway took the connection. */
export const noGateway = 'no-gateway';

/** An answer by HTTP. */
export interface Answered {
  readonly status: number;
  /** Of a problem. */
  readonly code?: string;
  readonly hasRetryAfter: boolean;
  /** Saved earlier, and told again. */
  readonly isReplayed: boolean;
  readonly order?: { readonly id: number; readonly status: OrderStatus; readonly version?: number };
  /** Of a look. */
  readonly value?: number;
  /** Of the inventory: all units there are. */
  readonly units?: number;
}

/** One request, and what came of it. `lost`: no answer at all. */
export interface Call {
  readonly client: string;
  readonly ask: Ask;
  readonly from: number;
  readonly to: number;
  readonly answer: Answered | 'lost';
  /** It was lost. */
  readonly why?: string;
}

/** One look at the store's database, in one transaction. */
export interface Snapshot {
  readonly at: number;
  readonly plants: readonly {
    readonly plantId: number;
    readonly free: number;
    readonly reserved: number;
    readonly sold: number;
    /** Units of orders that are placed; of those that are approved or delivered. */
    readonly placed: number;
    readonly taken: number;
  }[];
  /** What GET inventory adds up from, less what the stock rows say; all 0. */
  readonly inventoryDrift: { readonly available: number; readonly pending: number; readonly sold: number };
  /** Open orders of customers who are closed, or of plants that are retired. */
  readonly orphans: readonly number[];
}

export interface Transition {
  readonly version: number;
  readonly previousStatus: OrderStatus | null;
  readonly newStatus: OrderStatus;
  readonly eventId: string | null;
}

/** An order as its rows are in the end. */
export interface FinalOrder {
  readonly id: number;
  readonly plantId: number;
  readonly quantity: number;
  readonly status: OrderStatus;
  readonly version: number;
  readonly transitions: readonly Transition[];
}

/** An event as somebody has it. */
export interface SeenEvent {
  readonly id: string;
  readonly body: string;
}

export interface Follower {
  readonly name: string;
  readonly events: readonly SeenEvent[];
}

export interface FinalState {
  readonly orders: readonly FinalOrder[];
  /** The references of payments that were noted, by order. */
  readonly payments: readonly { readonly orderId: number; readonly reference: string }[];
  /** The event log of notifications, by number; what it logged twice because of a restore is in it once. */
  readonly log: readonly SeenEvent[];
  /** Every POST of webhooks, as it came. */
  readonly receivers: readonly Follower[];
  /** Every frame of clients that resume, as it came. */
  readonly sockets: readonly Follower[];
}

export interface Window {
  readonly from: number;
  readonly to: number;
}

export interface History {
  readonly calls: readonly Call[];
  readonly snapshots: readonly Snapshot[];
  readonly final: FinalState;
  /** Units put into each plant; undefined where the plant itself may go. */
  readonly supplied: ReadonlyMap<number, number | undefined>;
  /** Orders are cancelled by themselves when they are not paid for long. */
  readonly ordersExpire: boolean;
  /** Clients whose accounts were deleted on the way. */
  readonly leavers: ReadonlySet<string>;
  /** When a gateway was killed, paused or cut off from its clients: requests that it had may be lost or late. */
  readonly gatewayFaults: readonly Window[];
  /** From the kill of the last gateway to the return of the first: there is nobody to ask. */
  readonly withoutGateway: readonly Window[];
  /** How long an answer may take: the gateway's budget and 1 s. */
  readonly deadlineMs: number;
  /** What did not come to rest in time after the last fault. */
  readonly unsettled: readonly string[];
}

export const isAnswered = (call: Call): call is Call & { answer: Answered } => call.answer !== 'lost';
export const isDone = (call: Call): call is Call & { answer: Answered } => isAnswered(call) && call.answer.status === 200;
/** Served, or refused by a rule: the shop works. */
export const isServed = (call: Call): boolean => isAnswered(call) && call.answer.status !== 503 && call.answer.status < 500;
