import { type components, createShop, ShopError, ShopProblem } from '@plant-shop/client';

const env = import.meta.env as Readonly<Record<string, string | undefined>>;

/** Where the shop is. Both addresses must allow this page's origin (CORS). */
export const address = { url: env['VITE_SHOP_URL'] ?? 'http://localhost:8080', streamUrl: env['VITE_STREAM_URL'] ?? 'ws://127.0.0.1:8081' };
/** Of the OAuth client that this page is. */
export const clientId = env['VITE_CLIENT_ID'] ?? '';

/** Reads the catalogue, which needs no login. */
export const catalogue = createShop(address);

export type Plant = components['schemas']['Plant'];
export type Availability = components['schemas']['Availability'];
export type Order = components['schemas']['Order'];
type RefusedLine = components['schemas']['RefusedLine'];

/** Returns the lines of a basket that lack units. */
export const lackingOf = (error: unknown): readonly RefusedLine[] =>
  error instanceof ShopProblem && error.is('insufficient-stock', 'lines') ? error.members.lines : [];

/** Returns what to tell the customer. */
export function messageOf(error: unknown): string {
  if (error instanceof ShopProblem) return error.message;
  if (error instanceof ShopError) return 'The shop does not answer. Please try again.';
  return String(error);
}
