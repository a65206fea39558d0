// A webhook endpoint on Express.
//
//   WEBHOOK_SECRET=whsec_… PORT=8090 node webhook-express.mjs
import { verifyWebhook, WebhookRefused } from '@plant-shop/client/webhooks';
import express from 'express';

const app = express();
const taken = new Set(); // in a database of yours: a delivery may come again

// The signature covers the bytes as they came: parsed and written again they would differ.
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
