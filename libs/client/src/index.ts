export { CredentialRefused, DeadlinePassed, InvalidJson, InvalidUrl, MissingCrypto, NotModified, NotTheShop, ShopError, ShopProblem, StreamClosed, StreamNotFound, Unreachable } from './errors.js';
export type { ErrorKind, Fault, MembersOf, Outcome, ProblemCode } from './errors.js';
export type { Credential, Token, TokenRequest } from './credentials.js';
export { permissionMeanings } from './generated/operations.js';
export { createShop } from './shop.js';
export type { CallOptions, ListOptions, ListPath, ListQuery, PathsWith, Shop, ShopOptions, Success } from './shop.js';
export type { EventsOptions, EventType, ShopEvents, StreamMessage, StreamState } from './events.js';
export type { OrderEvent, StreamGap } from './generated/events.js';
export type { components, operations, paths } from './generated/api.js';
