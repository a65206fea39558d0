/**
 * The history of a trial, which the checks judge: requests, answers, received events, and the contents of the databases. Times are
 * milliseconds of one monotonic clock.
 */

export type OrderStatus = 'placed' | 'approved' | 'delivered' | 'cancelled';

/** One line of a request for a basket: the history holds a call for each, with the request's times. `mark`: the basket's external id. */
export interface LineOfBasket {
  readonly mark: string;
  readonly lines: number;
}

export type ShopRequest =
  | { readonly kind: 'place'; readonly plantId: number; readonly quantity: number; readonly orderId?: number; readonly key?: string; readonly basket?: LineOfBasket }
  | { readonly kind: 'cancel'; readonly orderId: number; readonly basket?: LineOfBasket }
  | { readonly kind: 'read'; readonly orderId: number }
  | { readonly kind: 'deliver' | 'ship'; readonly orderId: number; readonly key?: string }
  /** `to`: client name of the new owner. */
  | { readonly kind: 'transfer'; readonly orderId: number; readonly to: string; readonly key?: string }
  | { readonly kind: 'pay'; readonly orderId: number; readonly reference: string; readonly outcome: 'succeeded' | 'failed'; readonly key?: string; readonly basket?: LineOfBasket }
  /** `value`: counts up from 1. Each name has a single writer. */
  | { readonly kind: 'write-name'; readonly name: string; readonly value: number; readonly key?: string }
  | { readonly kind: 'read-name'; readonly name: string }
  | { readonly kind: 'inventory' }
  /** Creates a resource. `mark`: its name or description, unique among resources of its kind. */
  | { readonly kind: 'create'; readonly resource: Resource; readonly mark: string; readonly key: string }
  | { readonly kind: 'delete-plant'; readonly plantId: number }
  /** Revokes credentials, named as in `use`. `target`: the API key, session, user or token that is revoked. */
  | { readonly kind: 'revoke'; readonly how: 'api key' | 'session' | 'user' | 'token'; readonly target: string; readonly credentials: readonly string[] }
  /** Presents a credential to one replica, past the balancer. */
  | { readonly kind: 'use'; readonly credential: string; readonly at: string }
  | { readonly kind: 'other'; readonly what: string; readonly key?: string };

/** What requests with an Idempotency-Key create, besides orders. */
export type Resource = 'plant' | 'user' | 'API key' | 'API key rotation' | 'OAuth client' | 'webhook' | 'webhook secret' | 'webhook test';

/** An HTTP response. */
export interface Answered {
  readonly status: number;
  /** The code of a problem response. */
  readonly code?: string;
  readonly hasRetryAfter: boolean;
  /** The response has `Idempotency-Replayed: true`. */
  readonly isReplayed: boolean;
  readonly order?: { readonly id: number; readonly status: OrderStatus; readonly version?: number };
  /** Answer to `read-name`: the value read. */
  readonly value?: number;
  /** Answer to `inventory`: the sum of all units. */
  readonly units?: number;
  /** Answer to a request with an Idempotency-Key: a digest of the body. */
  readonly body?: string;
}

/** One request and its answer; `lost` if there was none. */
export interface Call {
  readonly client: string;
  readonly request: ShopRequest;
  readonly from: number;
  readonly to: number;
  readonly answer: Answered | 'lost';
  /** Sent as X-Request-Id. */
  readonly requestId: string;
  /** Why the answer was lost. */
  readonly why?: string;
}

/** The store's database, read in one transaction. */
export interface Snapshot {
  readonly at: number;
  readonly plants: readonly {
    readonly plantId: number;
    readonly free: number;
    readonly reserved: number;
    readonly sold: number;
    /** Units of placed orders. */
    readonly placed: number;
    /** Units of approved and delivered orders. */
    readonly taken: number;
  }[];
  /** The totals behind GET inventory minus the sums of the stock rows; all must be 0. */
  readonly inventoryDrift: { readonly available: number; readonly pending: number; readonly sold: number };
  /** Open orders of closed customers or retired plants. */
  readonly orphans: readonly number[];
  /** Baskets of which some orders are placed and others are not. */
  readonly splitBaskets: readonly number[];
}

/** One step of an order's timeline. */
export interface Transition {
  readonly version: number;
  /** Null if the step did not change the status, and for the first step. */
  readonly previousStatus: OrderStatus | null;
  readonly newStatus: OrderStatus;
  readonly eventId: string | null;
  /** Time by the database's clock, converted to the clock of the calls. */
  readonly at: number;
  /** `store`: a timer caused the step. */
  readonly actor: 'store' | 'owner' | 'staff';
  readonly reason: string;
  /** Client name of the owner after the step; null if the account was deleted. */
  readonly owner: string | null;
}

export const eventTypes = ['order.status_changed', 'order.placed', 'order.shipped', 'refund.due'] as const;
export type EventType = (typeof eventTypes)[number];
/** The types that a client gets if it names none. */
export const defaultTypes: readonly EventType[] = ['order.status_changed'];

const typeOfReason: Readonly<Record<string, EventType>> = { placed: 'order.placed', shipped: 'order.shipped', 'refund due': 'refund.due' };

/** The type of the event that a step must have; undefined if it must have none. */
export const eventTypeOf = ({ previousStatus, reason }: Pick<Transition, 'previousStatus' | 'reason'>): EventType | undefined =>
  previousStatus === null ? typeOfReason[reason] : 'order.status_changed';

/** An order's rows at the end of the trial. */
export interface FinalOrder {
  readonly id: number;
  readonly plantId: number;
  readonly quantity: number;
  readonly status: OrderStatus;
  readonly version: number;
  /** The basket that it was placed in, with its external id. */
  readonly basket?: { readonly id: number; readonly mark: string } | null;
  readonly transitions: readonly Transition[];
}

/** An event as logged or received. */
export interface SeenEvent {
  readonly id: string;
  readonly body: string;
}

/** Kinds of mails about orders and accounts, of those that trials cause. */
export type OrderMailKind = 'order-placed' | 'order-paid' | 'order-shipped' | 'order-cancelled' | 'refund-due';
export type AccountMailKind = 'verify-address' | 'address-changed' | 'password-changed';

export const subjectOf: Readonly<Record<AccountMailKind, string>> = {
  'verify-address': 'Confirm your address',
  'address-changed': 'Your address was changed',
  'password-changed': 'Your password was changed',
};

/** A mail that the mail server accepted. */
export interface CaughtMail {
  readonly at: number;
  readonly to: readonly string[];
  /** Of its Message-ID; repetitions have the same. */
  readonly id: string;
  readonly subject: string;
  /** The first link in its text. */
  readonly link?: string;
  /** Whether the mail server said that it accepted the mail. */
  readonly isAnswered: boolean;
}

/** A user with an address, and the mails that the user is to get. */
export interface MailUser {
  readonly client: string;
  /**
   * When mail about orders was wanted at a verified address: `from` the request on, `known` to notifications. `ended`: when notifications
   * knew that it is no longer wanted; absent: it still is.
   */
  readonly wanted: readonly { readonly address: string; readonly from: number; readonly known: number; readonly ended?: number }[];
  /** Mails about the account, and how many there must and may be. */
  readonly due: readonly { readonly kind: AccountMailKind; readonly address: string; least: number; readonly most: number }[];
}

export interface Follower {
  readonly name: string;
  /** The types that it requested; absent if it named none. */
  readonly types?: readonly EventType[] | undefined;
  readonly events: readonly SeenEvent[];
}

/** An event that a stream of a destination has. */
export interface StreamedEvent extends SeenEvent {
  /** When it was stored. */
  readonly at: number;
  readonly epoch: string;
  readonly isMarker: boolean;
}

/** What the stream of a destination has in the end. */
export interface DestinationStream extends Follower {
  readonly events: readonly StreamedEvent[];
}

export interface FinalState {
  readonly destinations: readonly DestinationStream[];
  /** Deadlocks in the store's database during the trial. */
  readonly deadlocks: number;
  readonly orders: readonly FinalOrder[];
  readonly payments: readonly { readonly orderId: number; readonly reference: string; readonly state: 'accepted' | 'failed' | 'refund-due' }[];
  /** The refunds that the API lists as due. */
  readonly refundsDue: readonly { readonly orderId: number; readonly paymentReference: string }[];
  /** Resources that requests of kind `create` created, with one entry for each time. */
  readonly created: readonly { readonly resource: Resource; readonly mark: string }[];
  /** The entries of all audit logs about this history's requests. */
  readonly audit: readonly { readonly operation: string; readonly requestId: string }[];
  /** The event log of notifications, by number, without the repetitions that a restore caused. */
  readonly log: readonly SeenEvent[];
  /** The epochs in which the log has an event, by its id: a restore repeats some. */
  readonly epochs: ReadonlyMap<string, readonly { readonly epoch: string }[]>;
  /** All webhook POSTs in order of arrival. */
  readonly receivers: readonly Follower[];
  /** All frames of resuming clients in order of arrival. */
  readonly sockets: readonly Follower[];
  /** All frames of sockets whose credential was revoked during the trial; a follower's name is the credential's. */
  readonly revokedSockets: readonly Follower[];
  /** In order of acceptance. */
  readonly mails: readonly CaughtMail[];
}

export interface Window {
  readonly from: number;
  readonly to: number;
}

/** The service level that a trial must reach. Without it, a shop that answers everything with 503 would break no rule. */
export interface Objectives {
  /** The least share of calls that must be served, among those that began outside faults. */
  readonly servedShare: number;
  /** The longest allowed time from a fault's end until everything is served, in milliseconds. */
  readonly recoveryMs: number;
}

export interface History {
  readonly calls: readonly Call[];
  readonly snapshots: readonly Snapshot[];
  readonly final: FinalState;
  /** Initial units of each plant; undefined for a plant that may be deleted. */
  readonly supplied: ReadonlyMap<number, number | undefined>;
  /** The shop's timers: how long after the previous step each one fires. Absent: never. */
  readonly timers: { readonly expireAfterMs: number; readonly approveAfterMs?: number; readonly deliverAfterMs?: number };
  /** How wrong the clock of the databases was at most. */
  readonly databaseClockErrorMs: number;
  /** Clients whose accounts were deleted during the trial. */
  readonly deletedUsers: ReadonlySet<string>;
  /** Each fault from begin to end; at the end of a kill the process is not back yet. */
  readonly faults: readonly Window[];
  /** The time by which faults came late, so that the shop could serve after slow recoveries. */
  readonly addedRests: readonly Window[];
  readonly objectives: Objectives;
  /** When a gateway was killed, paused or cut off from its clients: its requests in flight may be lost or late. */
  readonly gatewayFaults: readonly Window[];
  /** From the kill of the last gateway to the return of the first: no request can be served. */
  readonly withoutGateway: readonly Window[];
  readonly mailUsers: readonly MailUser[];
  /** Faults that can make the shop send a mail twice: of notifications, Postgres and the mail server. */
  readonly mailFaults: readonly Window[];
  /** Faults that can make the shop publish an event twice. */
  readonly destinationFaults: readonly Window[];
  /** The longest allowed response time: the gateway's budget and 1 s. */
  readonly deadlineMs: number;
  /** Work that was still pending too long after the last fault. */
  readonly unsettled: readonly string[];
}

export const isAnswered = (call: Call): call is Call & { answer: Answered } => call.answer !== 'lost';
export const isDone = (call: Call): call is Call & { answer: Answered } => isAnswered(call) && call.answer.status === 200;
/** Whether the call succeeded or was refused by a business rule: either way, the shop works. */
export const isServed = (call: Call): boolean => isAnswered(call) && ![429, 503].includes(call.answer.status) && call.answer.status < 500;
/** Whether the call succeeded or has an unknown outcome. */
export const mayHaveHappened = (call: Call): boolean => !isAnswered(call) || call.answer.status === 200 || call.answer.code === 'outcome-unknown';
/** The request's Idempotency-Key. */
export const keyOfRequest = (request: ShopRequest): string | undefined => ('key' in request ? request.key : undefined);
export const keyOf = ({ request }: Call): string | undefined => keyOfRequest(request);
