// A webhook endpoint on Fastify.
//
//   WEBHOOK_SECRET=whsec_… PORT=8090 node webhook-fastify.mjs
import { verifyWebhook, WebhookRefused } from '@plant-shop/client/webhooks';
import Fastify from 'fastify';

const app = Fastify();
// The signature covers the received bytes: parsed and serialised again they would differ.
app.removeAllContentTypeParsers();
app.addContentTypeParser('application/json', { parseAs: 'string', bodyLimit: 64 * 1024 }, (_request, body, done) => done(null, body));

const taken = new Set(); // use a database: an event may be delivered more than once

app.post('/hook', (request, reply) => {
  const { id, event } = verifyWebhook(request.headers, request.body, process.env.WEBHOOK_SECRET);
  if (!taken.has(id)) console.log(JSON.stringify(event));
  taken.add(id);
  reply.code(204).send();
});
app.setErrorHandler((error, _request, reply) => {
  if (!(error instanceof WebhookRefused)) throw error;
  reply.code(401).send(error.fault);
});

await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
