// S: a text sent to every socket in turn, as most servers do.
import { WebSocketServer } from 'ws';

const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
const text = JSON.stringify({
  event: 'order.status_changed',
  timestamp: '2026-05-01T09:30:05.000Z',
  data: { orderId: 1000000007, plantId: 1000000001, previousStatus: 'placed', newStatus: 'approved', trackingNumber: '' },
});
process.on('message', (/** @type {{ events: number }} */ { events }) => {
  for (let n = 0; n < events; n++) for (const socket of server.clients) socket.send(text);
  process.send?.({ sockets: server.clients.size });
});
server.on('listening', () => process.send?.({ url: `ws://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}` }));
