// A webhook endpoint on Express.
//
//   WEBHOOK_SECRET=whsec_… PORT=8090 node webhook-express.mjs
import { verifyWebhook, WebhookRefused } from '@plant-shop/client/webhooks';
import express from 'express';

const app = express();
const taken = new Set(); // use a database: an event may be delivered more than once

// The signature covers the received bytes: parsed and serialised again they would differ.
app.post('/hook', express.raw({ type: 'application/json', limit: '64kb' }), (request, response) => {
  const { id, event } = verifyWebhook(request.headers, request.body, process.env.WEBHOOK_SECRET);
  if (!taken.has(id)) console.log(JSON.stringify(event));
  taken.add(id);
  response.sendStatus(204);
});
app.use((error, _request, response, next) => {
  if (error instanceof WebhookRefused) response.status(401).send(error.fault);
  else next(error);
});

app.listen(Number(process.env.PORT), '127.0.0.1');
