import { setTimeout as sleep } from 'node:timers/promises';
import { catalog } from '../../libs/contracts/dist/catalog.js';
import { identity } from '../../libs/contracts/dist/identity.js';
import { store } from '../../libs/contracts/dist/store.js';

/** @typedef {import('../../libs/contracts/dist/reconcile.js').PlantFinding} PlantFinding */
/** @typedef {import('../../libs/contracts/dist/reconcile.js').UserFinding} UserFinding */
/** @typedef {import('../../libs/contracts/dist/reconcile.js').OrderFinding} OrderFinding */
/** @typedef {import('../../libs/contracts/dist/reconcile.js').RaisedNumber} RaisedNumber */
/** @typedef {(RaisedNumber & { service: string, drift: 'numbers-behind', outcome: 'found' | 'mended' }) | PlantFinding | UserFinding | OrderFinding} Finding */

/**
 * Calls an operation of a service.
 * @typedef {<Payload, Answer>(operation: import('../../libs/platform/dist/rpc/operation.js').Operation<Payload, Answer>, payload: Payload) => Promise<Answer>} Call
 */

/** A database that was just restored may be unavailable for a moment. All calls here are safe to repeat. */
const TRIES = 5;
const PAUSE_MS = 1_000;
const COMES_BACK = ['unavailable', 'outcome-unknown', 'overloaded'];

/**
 * Compares the whole shop, page by page; holds one page at a time.
 * @param {Call} call
 * @param {object} options
 * @param {boolean} options.dryRun
 * @param {(finding: Finding) => void} options.onFinding
 * @param {number} [options.limit] entries of a page
 * @param {number} [options.pauseMs] before repeating a failed call
 * @returns {Promise<{ plants: number, customers: number, ordersSetAside: number }>} how many were checked
 */
export async function reconcile(call, { dryRun, onFinding, limit = 500, pauseMs = PAUSE_MS }) {
  const ask = patient(call, pauseMs);
  // First: until then a new plant may get a number that the store attributes to an old one.
  for (const [service, operation] of /** @type {const} */ ([['catalog', catalog.raiseNumbers], ['identity', identity.raiseNumbers]])) {
    const { raised } = await ask(operation, { dryRun });
    for (const one of raised) onFinding({ ...one, service, drift: 'numbers-behind', outcome: dryRun ? 'found' : 'mended' });
  }
  const pages = (/** @type {any} */ operation) => allPages((page) => ask(operation, { ...page, limit, dryRun }), onFinding);
  const plants = await pages(catalog.reconcilePlants);
  const customers = await pages(identity.reconcileUsers);
  // Last: an order may have been rejected because of what was just repaired.
  const ordersSetAside = await pages(store.reconcileOrders);
  return { plants, customers, ordersSetAside };
}

/**
 * @template Key
 * @param {(page: { after?: Key }) => Promise<import('../../libs/contracts/dist/reconcile.js').ReconciledPage<any, Key>>} read
 * @param {(finding: any) => void} onFinding
 */
async function allPages(read, onFinding) {
  let checked = 0;
  /** @type {{ after?: Key }} */
  let page = {};
  for (;;) {
    const answer = await read(page);
    checked += answer.checked;
    for (const finding of answer.findings) onFinding(finding);
    if (answer.next === undefined) return checked;
    page = { after: answer.next };
  }
}

/** @param {Call} call @param {number} pauseMs @returns {Call} */
function patient(call, pauseMs) {
  return async (operation, payload) => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await call(operation, payload);
      } catch (error) {
        const { code } = /** @type {{ code?: string }} */ (error);
        if (tries === TRIES || code === undefined || !COMES_BACK.includes(code)) throw error;
      }
      await sleep(pauseMs);
    }
  };
}

/** In an empty or wrong database, all missing rows look deleted. */
const FEW = 20;
const USUAL_SHARE = 0.1;

/** Findings whose repair deletes, retires or closes something. @type {readonly Finding['drift'][]} */
const GOES = ['plant-deleted', 'plant-missing', 'user-deleted', 'user-missing'];

/**
 * Checks, before any repair, whether more would be removed than a backup usually explains.
 * @param {Call} call
 * @param {{ limit?: number, pauseMs?: number }} [options]
 * @returns {Promise<{ isSuspicious: boolean, going: number, checked: number }>}
 */
export async function lookFirst(call, options = {}) {
  let going = 0;
  const { plants, customers } = await reconcile(call, {
    ...options,
    dryRun: true,
    onFinding: ({ drift }) => {
      if (GOES.includes(drift)) going += 1;
    },
  });
  const checked = plants + customers;
  return { isSuspicious: going > FEW && going > checked * USUAL_SHARE, going, checked };
}
