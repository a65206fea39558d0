import type { Operation } from '@plant-shop/platform/rpc/operation';
import type { AccessPolicy } from './permissions.js';
import type { AnswerSchema, SchemaWithComponents } from './answers.js';
import type { ProblemCode } from './problem-table.js';
import type { JsonSchema } from './schema.js';

/** When an operation was deprecated and when it may be removed: docs/api/deprecation.md. */
export interface Deprecation {
  /** The start of this day, UTC. */
  readonly since: Date;
  /** The operation works unchanged until the start of this day, UTC. */
  readonly sunset: Date;
}

/** The minimum between both, in days, as promised to clients. */
const noticeDays = 180;

/**
 * Declares an operation deprecated: `deprecated: deprecated('2026-12-01', '2027-06-01')`.
 *
 * @param since date, as 2026-12-01
 * @param sunset date
 * @throws Error if one is not a date, or if they are less than 180 days apart
 */
export function deprecated(since: string, sunset: string): Deprecation {
  const days = { since: dayOf(since), sunset: dayOf(sunset) };
  if (days.sunset.getTime() - days.since.getTime() < noticeDays * 24 * 3_600_000) {
    throw new Error(`an operation deprecated on ${since} must stay for ${noticeDays} days: ${sunset} is too early`);
  }
  return days;
}

function dayOf(text: string): Date {
  const day = new Date(`${text}T00:00:00Z`);
  if (Number.isNaN(day.getTime()) || day.toISOString().slice(0, 10) !== text) throw new Error(`${text} is not a date`);
  return day;
}

// How clients reach an operation over HTTP. It is declared with the operation, and everything else follows from it: the
// gateway's route, its checks and its handler, and the OpenAPI document.

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Tag = 'Plants' | 'Store' | 'Users' | 'OAuth' | 'Webhooks' | 'Shop' | 'Sandbox';

/** The kind of body that a route accepts. */
export type BodySpec =
  /** Becomes the named member of the payload, byte for byte. `isMergePatch`: as `application/merge-patch+json` (RFC 7396). */
  | { readonly kind: 'json'; readonly member: string; readonly top: 'object' | 'array'; readonly isMergePatch?: true }
  /** Its fields become members of the payload. */
  | { readonly kind: 'form'; readonly fields: readonly string[] }
  | { readonly kind: 'multipart' }
  /** One JSON object per line, which the handler reads as a stream. */
  | { readonly kind: 'lines' }
  /** Forwarded unread. */
  | { readonly kind: 'oauthForm' };

export type ClientAnswer =
  /** The answer of the first call, forwarded. */
  | { readonly kind: 'forwarded'; readonly schema: SchemaWithComponents }
  /** Petstore v3's ApiResponse, with an example of its message, which is a member of the answer or made by a handler. */
  | { readonly kind: 'apiResponse'; readonly example: string; readonly member?: string; readonly headers?: Readonly<Record<string, JsonSchema>>; readonly more?: MoreMembers }
  | { readonly kind: 'json'; readonly schema: JsonSchema; readonly example?: unknown; readonly alsoStatus?: 503; readonly hasEtag?: true }
  /** One JSON object per line. */
  | { readonly kind: 'lines'; readonly description: string; readonly example: readonly object[] }
  | { readonly kind: 'image' };

/** Members that a handler adds to an ApiResponse, which makes it another schema. */
export interface MoreMembers {
  readonly schema: string;
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required: readonly string[];
  readonly example: object;
}

interface Traits {
  /** Who may call it. The audit log follows from it: it records changes that needed more than the right to one's own data. */
  readonly access: AccessPolicy;
  readonly summary: string;
  readonly description?: string;
  /**
   * As how many requests it counts against the rate limit. Default: 1. `perUser`: for each user that it registers, which also counts
   * against the network's limit of registrations. `time`: one for each 20 ms that it takes.
   */
  readonly weight?: number | { readonly perUser: number } | 'time';
  /** The service executes calls that arrive together as one: in turns, eight small ones take the place of one (`ConcurrencyLimiter`). */
  readonly batched?: true;
  /** Multiplies the time budget of an ordinary request (`REQUEST_BUDGET_MS`). Default: 1. */
  readonly budgetFactor?: number;
  /**
   * It may revoke credentials. It is answered once this gateway has applied the revocations, or has failed to read them; then they take
   * effect here within a second, as everywhere.
   */
  readonly revokes?: true;
  /**
   * A GET that changes state, as Petstore v3 defines it. Such a path has no HEAD, since caches and link checkers assume that HEAD is
   * safe.
   */
  readonly unsafeGet?: true;
  /** Answers may be long and are compressed for clients that accept it. Pages always are. */
  readonly compressed?: true;
  /**
   * Set if the answer is the same for all callers. `cached`: the gateway caches it until the catalogue changes. `coalesced`: it changes
   * too often to be cached, so concurrent requests share a read; only for operations without parameters.
   */
  readonly shared?: 'cached' | 'coalesced';
  /** The operation reads the session token itself, although it is open. */
  readonly readsSession?: true;
  /** A shop without SANDBOX answers 404 and does not describe it. The OpenAPI document in `docs` is that of a sandbox. */
  readonly onlyInSandbox?: true;
  /** Extension members that its problems with a code always have, if those of other operations may lack them. */
  readonly problemMembers?: Readonly<Partial<Record<ProblemCode, readonly string[]>>>;
  /** A later release removes the operation; its responses announce that. */
  readonly deprecated?: Deprecation;
}

/** An operation as clients see it. */
export interface ClientOperation extends Traits {
  /** `operationId` in the OpenAPI document, `operation` in logs and metrics. */
  readonly name: string;
  readonly method: Method;
  /** With parameters as `:plantId`, named like members of the first call's payload. */
  readonly url: string;
  readonly tag: Tag;
  /** The calls to services that it makes. The first determines parameters, body and examples. */
  readonly calls: readonly Operation<object, unknown>[];
  /** Absent if it reads no body. */
  readonly body?: BodySpec;
  /** Query parameters, by the names of members of the first call's payload. With `cursor`, the answer is a page. */
  readonly query?: readonly string[];
  /** What to say if a required list is missing in the query: completes "<name> must …". */
  readonly required?: Readonly<Partial<Record<string, string>>>;
  /** `If-Match` is honoured. */
  readonly conditional: boolean;
  readonly answer: ClientAnswer;
}

/** An operation of a service that clients can call. */
export interface Exposed<Payload, Answer> extends Operation<Payload, Answer> {
  readonly client: ClientOperation;
}

/** Typed so that every name in it is a member of the payload, and the schema describes the operation's answer. */
interface Declaration<Payload, Answer, Route extends string> extends Traits {
  /** Method and path: `POST /v3/store/refund/:refundId/completion`. */
  readonly route: Route & (ParametersIn<Route> extends keyof Payload ? unknown : never);
  /** By default the name of the operation. */
  readonly name?: string;
  /** Further calls, which a handler in the gateway makes. */
  readonly alsoCalls?: readonly Operation<object, unknown>[];
  readonly body?: TypedBody<keyof Payload & string>;
  readonly query?: readonly (keyof Payload & string)[];
  readonly shared?: 'cached' | (keyof Payload extends never ? 'coalesced' : never);
  readonly required?: Readonly<Partial<Record<keyof Payload & string, string>>>;
  readonly answer: AnswerSchema<ReadonlyLists<Answer>> | TypedMessage<keyof Answer & string> | Exclude<ClientAnswer, { kind: 'forwarded' | 'apiResponse' }>;
}

type ParametersIn<Route extends string> = Route extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParametersIn<Rest>
  : Route extends `${string}:${infer Name}`
    ? Name
    : never;

type TypedBody<Member extends string> =
  | { readonly kind: 'json'; readonly member: Member; readonly top: 'object' | 'array'; readonly isMergePatch?: true }
  | { readonly kind: 'form'; readonly fields: readonly Member[] }
  | Exclude<BodySpec, { kind: 'json' | 'form' }>;

interface TypedMessage<Member extends string> {
  readonly kind: 'apiResponse';
  readonly example: string;
  readonly member?: Member;
  readonly headers?: Readonly<Record<string, JsonSchema>>;
  readonly more?: MoreMembers;
}

/** Lists are compared as read-only: a reader of an answer does not change it. */
type ReadonlyLists<Answer> = Answer extends readonly (infer Entry)[] ? readonly Entry[] : Answer;

export const jsonObject = <const Member extends string>(member: Member) => ({ kind: 'json', member, top: 'object' }) as const;
export const jsonArray = <const Member extends string>(member: Member) => ({ kind: 'json', member, top: 'array' }) as const;
export const mergePatch = <const Member extends string>(member: Member) => ({ ...jsonObject(member), isMergePatch: true }) as const;
export const form = <const Fields extends readonly string[]>(...fields: Fields) => ({ kind: 'form', fields }) as const;

/** An ApiResponse whose message is a member of the answer. */
export const message = <const Member extends string>(member: Member, example: string) =>
  ({ kind: 'apiResponse', member, example }) as const;

/** An ApiResponse whose message a handler makes. */
export const ownMessage = (example: string, headers?: Readonly<Record<string, JsonSchema>>) =>
  ({ kind: 'apiResponse', example, ...(headers && { headers }) }) as const;

/** Returns a function that makes operations callable by clients, under a tag of the OpenAPI document. */
export const forClientsUnder =
  (tag: Tag) =>
  <Payload, Answer, const Route extends `${Method} /${string}`>(
    operation: Operation<Payload, Answer>,
    { route, name = operation.name, alsoCalls = [], answer, ...declared }: Declaration<Payload, Answer, Route>,
  ): Exposed<Payload, Answer> => {
    const [method, url] = route.split(' ') as [Method, string];
    return {
      ...operation,
      client: {
        ...declared,
        name,
        method,
        url,
        tag,
        calls: [operation as Operation<object, unknown>, ...alsoCalls],
        conditional: operation.errors.includes('precondition-failed'),
        answer: 'kind' in answer ? answer : { kind: 'forwarded', schema: answer },
      },
    };
  };
