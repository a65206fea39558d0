import { createShop } from '@plant-shop/client';

const gatewayUrl = process.env['GATEWAY_URL'] ?? 'http://localhost:8080';
const streamUrl = process.env['STREAM_URL'] ?? 'ws://127.0.0.1:8081';

export const address = gatewayUrl;
export const shopAddresses = { gatewayUrl, streamUrl };

/** A client with the demo admin's key, to create what a test needs. */
export const admin = createShop({ url: gatewayUrl, streamUrl, credential: { apiKey: 'special-key' } });

/** Of an application of others. Nothing listens there. */
export const applicationAddress = 'https://planner.example';

/** @typedef {{ username: string, password: string }} Person */

/** @type {Person} */
export const demoAdmin = { username: 'admin', password: 'admin-password' };

let count = 0;
/** A unique name. @param {string} prefix */
export const fresh = (prefix) => `${prefix}-${process.pid}-${++count}`;

/** @param {number} [quantity] @param {string} [name] @returns {Promise<number>} its id */
export async function newPlant(quantity = 100, name = fresh('Plant')) {
  return (await admin.POST('/plant', { body: { name, photoUrls: [], status: 'available', quantity } })).data.id;
}

/** Places an order. @param {number} plantId @param {number} [quantity] @returns {Promise<number>} its id */
export const placeOrder = async (plantId, quantity = 1) => (await admin.POST('/store/order', { body: { plantId, quantity } })).data.id;

/** @param {number} orderId */
export const pay = (orderId) => admin.POST('/store/order/{orderId}/payment', { params: { path: { orderId } }, body: { outcome: 'succeeded', reference: fresh('payment') } });

/** @param {number} [plantId] a new plant, unless it is given @returns {Promise<number>} the order's id */
export async function paidOrder(plantId) {
  const id = await placeOrder(plantId ?? (await newPlant()));
  await pay(id);
  return id;
}

/**
 * Registers an application, and returns the address at which it asks for a user's consent.
 * @param {(keyof typeof import('@plant-shop/client').permissionMeanings)[]} scopes
 */
export async function consentAddress(scopes) {
  const redirectUri = `${applicationAddress}/callback`;
  const { data } = await admin.POST('/oauth/clients', { body: { name: 'Garden planner', redirectUris: [redirectUri], public: true, grantTypes: ['authorization_code'], scopes } });
  const asked = { client_id: data.clientId, redirect_uri: redirectUri, response_type: 'code', code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' };
  return `${address}/oauth/authorize?${new URLSearchParams(asked)}`;
}

/** @param {'customer' | 'staff' | 'admin'} role @returns {Promise<Person>} */
export async function newPerson(role) {
  const person = { username: fresh(role), password: 'a good password' };
  await admin.POST('/user', { body: person });
  if (role !== 'customer') await admin.PUT('/user/{username}/role', { params: { path: { username: person.username } }, body: { role } });
  return person;
}

/** A client with a user's session. @param {Person} person */
export const shopOf = ({ username, password }) => createShop({ url: gatewayUrl, streamUrl, credential: { username, password } });
