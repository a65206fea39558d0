import assert from 'node:assert/strict';
import { freePort } from '../../../tools/start/ports.mjs';
import { sleep } from '../../../tools/start/processes.mjs';
import { SERVICES } from '../../../tools/start/services.mjs';
import { seconds } from './report.mjs';
import { Tool } from './tools.mjs';

const PLANT = 8;
const PARTS = [...SERVICES, 'nats', 'postgres'];

/**
 * Kills processes, and stops, starts, recreates and scales containers while one client orders and another listens.
 * @param {import('./report.mjs').Report} report
 * @param {import('./project.mjs').Project} project
 * @param {import('./client.mjs').Client} client
 */
export async function checkLifecycle(report, project, client) {
  await client.ask('/v3/plant', { json: { id: PLANT, name: 'Fern', photoUrls: [], status: 'available' } });
  await client.ask(`/v3/store/inventory/${PLANT}`, { method: 'PUT', json: { free: 100_000 } });
  const stream = new Tool('listen', ['--json', '--cursor', 'earliest', '--url', client.streamUrl]);
  const buyer = buying(client);
  try {
    for (const part of PARTS) {
      await report.check(`${part} killed: restarts, and orders are accepted again`, async () => {
        const restarts = await project.kill(part);
        const begun = performance.now();
        for (const end = Date.now() + 90_000; !(await project.isRestarted(part, restarts)); await sleep(100)) assert.ok(Date.now() < end, 'not restarted');
        await project.ready(90);
        await client.order(PLANT);
        return `after ${seconds(begun)} s`;
      });
    }

    await report.check('scale store, catalog and identity to two', async () => {
      await project.up(['--scale', 'store=2', '--scale', 'catalog=2', '--scale', 'identity=2']);
      for (let n = 0; n < 20; n += 1) await client.order(PLANT);
      await project.up();
    });

    await report.check('scale notifications to two, on a range of host ports', async () => {
      const from = await freePort();
      await project.up(['--scale', 'notifications=2'], { STREAM_PORT: `${from}-${from + 3}` });
      const replicas = await Promise.all(['1', '2'].map(async (index) => (await project.compose(['port', '--index', index, 'notifications', '8081'])).trim()));
      assert.equal(new Set(replicas).size, 2);
      for (const address of replicas) assert.equal((await client.ask(`http://${address}/v1/asyncapi.json`)).status, 200, address);
      await project.up();
    });

    await report.check('up again changes nothing', async () => {
      const before = await project.containers();
      await project.up();
      assert.equal(await project.containers(), before);
    });

    await report.check('stop: all exit with code 0', async () => {
      await project.compose(['stop']);
      const ended = await Promise.all(PARTS.map(async (part) => [part, (await project.inspect(part)).State.ExitCode]));
      assert.deepEqual(ended.filter(([, code]) => code !== 0), []);
    });

    await report.check('start: ready', async () => {
      await project.compose(['start']);
      await project.ready(120);
    });

    await report.check('down and up: new containers, ready', async () => {
      await project.compose(['down']);
      await project.up();
    });
  } finally {
    await buyer.end();
  }

  await report.check('every confirmed order exists, and its payment arrived on the stream', async () => {
    const paid = () => new Set(stream.lines.map((line) => JSON.parse(line)).filter(({ data }) => data?.newStatus === 'approved').map(({ data }) => data.orderId));
    const lost = () => [...client.orders].filter((id) => !paid().has(id));
    await stream.until('all orders', () => lost().length === 0, 90).catch(() => assert.deepEqual(lost(), []));
    for (const id of client.orders) assert.equal((await client.ask(`/v3/store/order/${id}`)).status, 200, `order ${id}`);
    return `${client.orders.size} orders, none lost; ${client.repeated} requests were repeated`;
  });
  await stream.end();
}

/** Places orders one after another until stopped. @param {import('./client.mjs').Client} client */
function buying(client) {
  let isOver = false;
  /** @type {unknown} */
  let fault;
  const done = (async () => {
    for (; !isOver; await sleep(200)) await client.order(PLANT);
  })().catch((error) => (fault = error));
  return {
    end: async () => {
      isOver = true;
      await done;
      if (fault) throw fault;
    },
  };
}
