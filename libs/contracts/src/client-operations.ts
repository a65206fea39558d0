import type { Operation } from '@plant-shop/platform/rpc/operation';
import { catalog } from './catalog.js';
import type { ClientOperation, Exposed } from './client-operation.js';
import { identity } from './identity.js';
import { notifications } from './notifications.js';
import { shop } from './shop.js';
import { store } from './store.js';

const isExposed = (operation: Operation<object, unknown>): operation is Exposed<object, unknown> => 'client' in operation;

const exposedBy = (contract: Readonly<Record<string, Operation<object, unknown>>>): ClientOperation[] =>
  Object.values(contract).filter(isExposed).map(({ client }) => client);

const exposed: readonly ClientOperation[] = [catalog, store, identity, notifications].flatMap(exposedBy);

/** Everything that clients can call, in the order of the OpenAPI document. */
export const clientOperations: readonly ClientOperation[] = [...exposed.filter(({ onlyInSandbox }) => !onlyInSandbox), ...Object.values(shop)];

/** What they can call in a sandbox, too. */
export const sandboxOperations: readonly ClientOperation[] = exposed.filter(({ onlyInSandbox }) => onlyInSandbox);
