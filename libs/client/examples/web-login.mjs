// Log-in from a web page, for a public OAuth client whose redirect URI is the page itself.
import { createShop } from '@plant-shop/client';
import { createLogin } from '@plant-shop/client/login';

/** Returns a shop for the user, or leaves for the shop's log-in page. @param {{ url: string, streamUrl?: string, clientId: string, redirectUri: string }} app */
export async function openShop({ url, streamUrl, clientId, redirectUri }) {
  const login = createLogin({ url, clientId, redirectUri, scope: 'write:orders' });
  const session = await login.finish();
  if (!session) return login.begin();
  return { shop: createShop({ url, streamUrl, credential: session.credential }), logOut: () => session.logOut() };
}
