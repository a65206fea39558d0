import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RawHttp } from '../raw-http.js';
import { gatewayUrl } from '../shop.js';
import type { Permission } from './access-table.js';
import { allCallers, type Caller } from './callers.js';

// The access table over every tool of agents: who has it, written again from the requirement.

const any = undefined;
const ordersOrStock = ['write:orders', 'read:orders', 'read:stock', 'write:stock', 'any key'] as const;
const orders = ['write:orders', 'read:orders', 'any key'] as const;
const nothing = 4_000_000_000;
const idempotencyKey = 'access-table';

/** Arguments that change nothing: there is no such plant or order. */
const table: Readonly<Record<string, { readonly needs: readonly (Permission | 'any key')[] | undefined; readonly given?: object }>> = {
  find_plants: { needs: any },
  check_availability: { needs: any, given: { ids: [nothing] } },
  list_my_orders: { needs: orders },
  list_orders_to_ship: { needs: ['read:orders'] },
  get_order: { needs: orders, given: { orderId: nothing } },
  list_refunds_due: { needs: ['write:payments'] },
  find_low_stock: { needs: any },
  list_webhooks: { needs: ['webhooks'] },
  explain_webhook_failures: { needs: ['webhooks'], given: { webhookId: '00000000-0000-4000-8000-000000000000' } },
  read_inventory: { needs: ordersOrStock },
  list_plant_changes: { needs: any },
  place_basket: { needs: ['write:orders'], given: { lines: [{ plantId: nothing }], idempotencyKey } },
  cancel_order: { needs: ['write:orders', 'manage:orders'], given: { orderId: nothing } },
  ship_order: { needs: ['write:shipments'], given: { orderId: nothing, carrier: 'x', trackingNumber: 'x', idempotencyKey } },
  adjust_stock: { needs: ['write:stock'], given: { plantId: nothing, by: 1, reason: 'x', idempotencyKey } },
};

/** A caller of `list_orders_to_ship` needs what its operation needs, too. */
const has = (name: string, { carries }: Caller): boolean => {
  if (typeof carries !== 'object') return false;
  const held: readonly string[] = [...carries.permissions, ...(carries.key ? ['any key'] : [])];
  const needs = table[name]?.needs;
  return needs === undefined || needs.some((one) => held.includes(one));
};

describe('tools of agents', () => {
  const http = new RawHttp(gatewayUrl());
  let callers: readonly Caller[];
  const tally = { tried: 0, wrong: [] as string[] };
  beforeAll(async () => {
    ({ callers } = await allCallers('/mcp'));
  }, 60_000);
  afterAll(() => {
    http.close();
    process.stdout.write(`tools: ${callers.length} kinds of callers, ${Object.keys(table).length} tools: ${tally.tried} tried, ${tally.wrong.length} wrong\n`);
  });

  /** Sends a message as a client of an older version, which needs no more than this. */
  const ask = async ({ headers }: Caller, method: string, params: object = {}): Promise<{ status: number; message: Record<string, unknown> }> => {
    tally.tried++;
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    const own = [['content-type', 'application/json'], ['accept', 'application/json, text/event-stream'], ['mcp-protocol-version', '2025-11-25']] as const;
    const { status, body: bytes } = await http.send({ method: 'POST', target: '/mcp', headers: [...own, ...headers], body }, 15_000);
    const data = /^data: (\{.*)$/m.exec(bytes.toString())?.[1];
    return { status, message: data === undefined ? {} : (JSON.parse(data) as Record<string, unknown>) };
  };

  it('exist for those who may call their operations, with every kind of credential', async () => {
    const queue = callers.values();
    const checkOne = async (caller: Caller): Promise<void> => {
      const listed = await ask(caller, 'tools/list');
      const names = ((listed.message['result'] as { tools?: { name: string }[] } | undefined)?.tools ?? []).map(({ name }) => name);
      const expected = Object.keys(table).filter((name) => has(name, caller));
      if (typeof caller.carries !== 'object' ? listed.status < 400 : names.join() !== expected.join()) tally.wrong.push(`tools/list by ${caller.name}: ${listed.status} ${names.join()}`);
      for (const [name, { given = {} }] of Object.entries(table)) {
        const { status, message } = await ask(caller, 'tools/call', { name, arguments: given });
        const exists = status === 200 && 'result' in message && !JSON.stringify(message).includes('"forbidden');
        if (exists !== expected.includes(name)) tally.wrong.push(`${name} by ${caller.name}: ${status} ${JSON.stringify(message).slice(0, 200)}`);
      }
    };
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (const one of queue) await checkOne(one);
      }),
    );
    expect(tally.wrong.slice(0, 20)).toEqual([]);
  }, 120_000);
});
