// A storefront on http://127.0.0.1:5174, beside a running shop. Registers it there as an OAuth client, unless it is.
//
//   npm start -- --sandbox    # a shop
//   npm run storefront        # in another terminal
//
// Variables: SHOP_URL, STREAM_URL, API_KEY (with `write:users`), PORT. In production you register the client once, and build with
// VITE_SHOP_URL, VITE_STREAM_URL and VITE_CLIENT_ID.
import { fileURLToPath } from 'node:url';
import { createShop } from '@plant-shop/client';
import { createServer } from 'vite';

const { SHOP_URL = 'http://localhost:8080', STREAM_URL = 'ws://127.0.0.1:8081', API_KEY = 'special-key', PORT = '5174' } = process.env;

const address = `http://127.0.0.1:${PORT}/`;
const shop = createShop({ url: SHOP_URL, credential: { apiKey: API_KEY } });

async function clientId() {
  for await (const client of shop.list('/oauth/clients')) {
    if (client.name === 'Storefront' && client.redirectUris.includes(address)) return client.clientId;
  }
  const { data } = await shop.POST('/oauth/clients', {
    body: {
      name: 'Storefront',
      redirectUris: [address],
      postLogoutRedirectUris: [address],
      // Everyone can read its pages, so it can keep no secret.
      public: true,
      grantTypes: ['authorization_code', 'refresh_token'],
      scopes: ['write:orders'],
    },
  });
  return data.clientId;
}

Object.assign(process.env, { VITE_SHOP_URL: SHOP_URL, VITE_STREAM_URL: STREAM_URL, VITE_CLIENT_ID: await clientId() });
const server = await createServer({ root: fileURLToPath(new URL('.', import.meta.url)) });
await server.listen();
server.printUrls();
