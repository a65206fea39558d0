import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Account, accounts } from '@plant-shop/contracts/broker';
import { catalog } from '@plant-shop/contracts/catalog';
import { identity } from '@plant-shop/contracts/identity';
import { notifications } from '@plant-shop/contracts/notifications';
import { store } from '@plant-shop/contracts/store';
import type { CodedError } from '@plant-shop/platform/errors';
import { createLogger } from '@plant-shop/platform/logging';
import { Nats } from '@plant-shop/platform/nats';
import { RpcClient } from '@plant-shop/platform/rpc/client';
import type { Operation } from '@plant-shop/platform/rpc/operation';
import { RpcServer } from '@plant-shop/platform/rpc/server';
import { startNats, type TestNats } from '@plant-shop/testing/nats';
import { sampleOf } from './samples.js';
import { contextFor } from './service.js';

/** What accounts other than the gateway's may call: written a second time on purpose, from what the services need. */
const calls: Readonly<Record<Exclude<Account, 'gateway'>, readonly string[]>> = {
  catalog: ['store.openStock', 'store.openStocks', 'store.listStock', 'store.retirePlant', 'store.readHighestNumbers', 'store.listAllStock'],
  store: ['identity.resolveUsername', 'identity.resolveUserIds', 'identity.resolveOAuthClients', 'identity.findUserIds', 'catalog.resolvePlants'],
  identity: ['store.closeCustomer', 'store.listOrdersOf', 'store.readHighestNumbers', 'store.listCustomers', 'notifications.acceptMails', 'notifications.listWebhooksOf'],
  notifications: [
    'store.feedRead',
    'store.startEpoch',
    'identity.checkCredential',
    'identity.resolveSubject',
    'identity.readRevocations',
    'identity.readSigningKeys',
    'identity.resolveUsername',
    'identity.resolveUserIds',
  ],
  operator: ['catalog.raiseNumbers', 'catalog.reconcilePlants', 'identity.raiseNumbers', 'identity.reconcileUsers', 'store.reconcileOrders'],
};
/** Of these, what the gateway calls, too. */
const alsoGateway = ['resolveUsername', 'resolveUserIds', 'checkCredential', 'resolveSubject', 'readRevocations', 'readSigningKeys'];

const mayCall = (account: Account, { pattern, name }: Operation<object, unknown>): boolean =>
  account === 'gateway' ? alsoGateway.includes(name) || !Object.values(calls).flat().includes(pattern) : calls[account].includes(pattern);

const services: Readonly<Record<string, Readonly<Record<string, Operation<object, unknown>>>>> = { catalog, store, identity, notifications };
const operations = Object.values(services).flatMap((contract) => Object.values(contract));
const isCallerOf = (account: Account, callee: string): boolean => operations.some((one) => one.service === callee && mayCall(account, one));

const passwordOf = (account: string): string => `p${account}`;
const deployed = readFileSync(new URL('../../../deploy/nats/nats.conf', import.meta.url), 'utf8')
  .replaceAll(/\$(\w+)_NATS_PASSWORD/g, (_, name: string) => passwordOf(name.toLowerCase()));

describe.each([
  ['with the accounts of a deployment', deployed],
  ['without accounts, as if every subject could be published', ''],
])('each account calls each operation over a broker %s', (_what, config) => {
  const logger = createLogger('test', 'silent');
  const closers: (() => Promise<unknown>)[] = [];
  let nats: TestNats;
  const connect = async (account: string): Promise<Nats> => {
    const connection = await Nats.connect({ url: nats.url, name: account, ...(config !== '' && { user: account, password: passwordOf(account) }) }, logger);
    closers.unshift(() => connection.close(1_000));
    return connection;
  };
  beforeAll(async () => {
    nats = await startNats({ config });
    closers.unshift(() => nats.stop());
    for (const [service, contract] of Object.entries(services)) {
      const connection = await connect(service);
      const server = new RpcServer(connection, { service, maxInFlight: 1_000 }, logger);
      server.serve(Object.values(contract).map((operation) => ({ operation, handle: () => sampleOf(operation).answer })));
      await new Promise<void>((resolve) => server.listen(resolve));
      expect(connection.refusedSubjects).toEqual([]);
    }
  });
  afterAll(async () => {
    for (const close of closers) await close();
  });

  it.each(accounts)('as %s (slow)', async (account) => {
    const connection = await connect(account);
    const client = new RpcClient(connection, account, logger);
    // The broker drops calls to services that the account may not call at all, so that they have no answer.
    const isDelivered = ({ service }: Operation<object, unknown>): boolean => config === '' || isCallerOf(account, service);
    const outcomes = await Promise.all(
      operations.map(async (operation) => {
        const call = client.call(operation, sampleOf(operation).request, contextFor(undefined, isDelivered(operation) ? 10_000 : 500));
        return [operation.pattern, await call.then(() => 'answered', (error: unknown) => (error as CodedError).code)] as const;
      }),
    );
    client.close();
    expect(connection.refusedSubjects).toEqual([]);
    const expected = operations.map((operation) => {
      const lost = operation.effect === 'read' ? 'unavailable' : 'outcome-unknown';
      const refused = isDelivered(operation) ? 'unknown-operation' : lost;
      return [operation.pattern, mayCall(account, operation) ? 'answered' : refused] as const;
    });
    expect(Object.fromEntries(outcomes)).toEqual(Object.fromEntries(expected));
  });
});
