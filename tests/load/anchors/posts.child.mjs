// W: signed bodies of 180 bytes, posted by undici to a receiver, without recording anything.
import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { Pool } from 'undici';

const key = randomBytes(32);
const body = JSON.stringify({ event: 'order.status_changed', padding: 'x'.repeat(137) });

process.on('message', async (/** @type {{ url: string, count: number, inFlight: number }} */ { url, count, inFlight }) => {
  const pool = new Pool(new URL(url).origin, { connections: inFlight, pipelining: 1 });
  let left = count;
  const post = async () => {
    while (left-- > 0) {
      const id = randomUUID();
      const at = Math.floor(Date.now() / 1_000);
      const signature = createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64');
      const headers = { 'content-type': 'application/json', 'webhook-id': id, 'webhook-timestamp': `${at}`, 'webhook-signature': `v1,${signature}` };
      const answer = await pool.request({ path: new URL(url).pathname, method: 'POST', headers, body });
      await answer.body.dump();
      if (answer.statusCode !== 204) throw new Error(`the sink responded with ${answer.statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, post));
  await pool.close();
  process.send?.({ done: count });
});
process.send?.({});
