// F: bare Fastify with a constant response.
import fastify from 'fastify';

const app = fastify();
app.get('/', async () => ({ id: 1, name: 'Monstera', status: 'available' }));
await app.listen({ port: 0, host: '127.0.0.1' });
process.send?.({ url: app.listeningOrigin });
