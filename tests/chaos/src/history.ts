/** What clients asked, were told and saw, and what the databases hold: all that the checks judge. No behaviour. Times are milliseconds of one monotonic clock. */

export type OrderStatus = 'placed' | 'approved' | 'delivered' | 'cancelled';

export type Ask =
  | { readonly kind: 'place'; readonly plantId: number; readonly quantity: number; readonly orderId?: number; readonly key?: string }
  | { readonly kind: 'cancel' | 'read'; readonly orderId: number }
  | { readonly kind: 'deliver' | 'ship'; readonly orderId: number; readonly key?: string }
  /** `to`: the client who is to own it. */
  | { readonly kind: 'transfer'; readonly orderId: number; readonly to: string; readonly key?: string }
  | { readonly kind: 'pay'; readonly orderId: number; readonly reference: string; readonly outcome: 'succeeded' | 'failed'; readonly key?: string }
  /** `value`: what is written, counted up from 1 by the only one who writes this name. */
  | { readonly kind: 'write'; readonly name: string; readonly value: number; readonly key?: string }
  | { readonly kind: 'look'; readonly name: string }
  | { readonly kind: 'inventory' }
  /** Makes one thing. `mark`: a name or description that no other thing of its kind has. */
  | { readonly kind: 'make'; readonly thing: Thing; readonly mark: string; readonly key: string }
  | { readonly kind: 'remove'; readonly plantId: number }
  /** Ends credentials, named as in `use`. `target`: the thing that is revoked. */
  | { readonly kind: 'revoke'; readonly how: 'api key' | 'session' | 'user' | 'token'; readonly target: string; readonly credentials: readonly string[] }
  /** Shows a credential to one replica, past the balancer. */
  | { readonly kind: 'use'; readonly credential: string; readonly at: string }
  | { readonly kind: 'other'; readonly what: string };

/** What a request with an Idempotency-Key makes, beside orders. */
export type Thing = 'plant' | 'user' | 'API key' | 'API key rotation' | 'OAuth client' | 'webhook' | 'webhook secret' | 'webhook test';

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
  /** Of a request with an Idempotency-Key: the whole body, or a digest of it. */
  readonly body?: string;
}

/** One request, and what came of it. `lost`: no answer at all. */
export interface Call {
  readonly client: string;
  readonly ask: Ask;
  readonly from: number;
  readonly to: number;
  readonly answer: Answered | 'lost';
  /** Sent as X-Request-Id. */
  readonly requestId: string;
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

/** One step of an order's timeline. */
export interface Transition {
  readonly version: number;
  /** Null: the step changed no status. */
  readonly previousStatus: OrderStatus | null;
  readonly newStatus: OrderStatus;
  readonly eventId: string | null;
  /** By the database's clock, on the scale of the calls. */
  readonly at: number;
  /** `store`: it happened by itself. */
  readonly actor: 'store' | 'owner' | 'staff';
  readonly reason: string;
  /** The client who owns it from then on; null for an account that is gone. */
  readonly owner: string | null;
}

export const eventTypes = ['order.status_changed', 'order.placed', 'order.shipped', 'refund.due'] as const;
export type EventType = (typeof eventTypes)[number];
/** What a client gets that names no types. */
export const defaultTypes: readonly EventType[] = ['order.status_changed'];

const typeOfReason: Readonly<Record<string, EventType>> = { placed: 'order.placed', shipped: 'order.shipped', 'refund due': 'refund.due' };

/** The type of the event that a step must have; undefined: it has none. */
export const eventTypeOf = ({ previousStatus, reason }: Pick<Transition, 'previousStatus' | 'reason'>): EventType | undefined =>
  previousStatus === null ? typeOfReason[reason] : 'order.status_changed';

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
  /** What it asks for; absent: it names no types. */
  readonly types?: readonly EventType[] | undefined;
  readonly events: readonly SeenEvent[];
}

export interface FinalState {
  readonly orders: readonly FinalOrder[];
  readonly payments: readonly { readonly orderId: number; readonly reference: string; readonly state: 'accepted' | 'failed' | 'refund-due' }[];
  /** Refunds that staff find listed as due. */
  readonly refundsDue: readonly { readonly orderId: number; readonly paymentReference: string }[];
  /** What requests of kind `make` made, each thing once. */
  readonly made: readonly { readonly thing: Thing; readonly mark: string }[];
  /** The audit logs of all services, as far as they are about this history's requests. */
  readonly audit: readonly { readonly operation: string; readonly requestId: string }[];
  /** The event log of notifications, by number; what it logged twice because of a restore is in it once. */
  readonly log: readonly SeenEvent[];
  /** Every POST of webhooks, as it came. */
  readonly receivers: readonly Follower[];
  /** Every frame of clients that resume, as it came. */
  readonly sockets: readonly Follower[];
  /** Every frame of sockets whose credential was revoked on the way; the name is the credential's. */
  readonly guests: readonly Follower[];
}

export interface Window {
  readonly from: number;
  readonly to: number;
}

/** A shop that answers everything by 503 breaks no other rule. */
export interface Demands {
  /** Of the calls that were begun while no fault was under way, this share is served. */
  readonly servedShare: number;
  /** From a fault's end until all is served again, in milliseconds. */
  readonly recoveryMs: number;
}

export interface History {
  readonly calls: readonly Call[];
  readonly snapshots: readonly Snapshot[];
  readonly final: FinalState;
  /** Units put into each plant; undefined where the plant itself may go. */
  readonly supplied: ReadonlyMap<number, number | undefined>;
  /** What happens to orders by itself, and how long after the step before. Absent: never. */
  readonly clocks: { readonly expireAfterMs: number; readonly approveAfterMs?: number; readonly deliverAfterMs?: number };
  /** Clients whose accounts were deleted on the way. */
  readonly leavers: ReadonlySet<string>;
  /** From the begin to the end of each fault; a process that was killed is not back yet at the end. */
  readonly faults: readonly Window[];
  /** How much must have been served, and how soon after a fault. */
  readonly demands: Demands;
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
export const isServed = (call: Call): boolean => isAnswered(call) && ![429, 503].includes(call.answer.status) && call.answer.status < 500;
/** Done, or not known not to be. */
export const mayHaveHappened = (call: Call): boolean => !isAnswered(call) || call.answer.status === 200 || call.answer.code === 'outcome-unknown';
/** Its Idempotency-Key. */
export const keyOfAsk = (ask: Ask): string | undefined => ('key' in ask ? ask.key : undefined);
export const keyOf = ({ ask }: Call): string | undefined => keyOfAsk(ask);
