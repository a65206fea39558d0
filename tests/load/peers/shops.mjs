import { medusa } from './medusa.mjs';
import { own } from './own.mjs';
import { vendure } from './vendure.mjs';

/**
 * What a shop starts with: plants with a million units each, and scarce ones with few.
 * @typedef {{ plants: number, scarce: number, units: number, customers: number }} Seed
 */

/** Reserves one unit of a plant, by all the requests that its customer needs; false: sold out. @typedef {(plant: string) => Promise<boolean>} Order */

/**
 * @typedef {object} Shop
 * @property {string} title with its version
 * @property {string[]} plants
 * @property {string[]} scarce
 * @property {() => Promise<number>} restart stops it, and returns the milliseconds from its start until it answers
 * @property {() => Promise<void>} crash kills all its processes but the databases, and starts them again
 * @property {() => Promise<void>} stop with its databases
 * @property {() => number[]} pids of all its processes, Postgres too
 * @property {(sql: string) => Promise<string>} ask any of its databases
 * @property {(plant: string) => Promise<number>} held units in orders that a customer was or would be told of as placed
 * @property {(n: number) => Promise<Order>} customer one of `Seed.customers`, ready to order
 */

/** @type {Record<string, (folder: string, options: Seed & import('./site.mjs').Need) => Promise<Shop>>} */
export const shops = { own, vendure, medusa };
