import { createRootRoute, createRoute, createRouter, notFound } from '@tanstack/react-router';
import { PasswordForm } from '../auth/password-question.js';
import { leftOrders, toOrderFilter } from '../pages/orders/order-filter.js';
import { leftPlants, readPlantFilter } from '../pages/plants/plant-filter.js';
import { leftPeople, peopleSearch } from '../pages/people/people-search.js';
import { mailsSearch } from '../pages/mails/mails-search.js';
import { streamSearch } from '../pages/stream/stream-search.js';
import { deliveriesSearch, leftWebhooks, webhooksSearch } from '../pages/webhooks/webhooks-search.js';
import { lazyFile, whenReached } from '../shop/lazy-file.js';
import { ProblemBody } from '../ui/problem-alert.js';
import { wholeNumber } from '../ui/whole-number.js';
import { NotFound, PageError, PagePending } from './page-error.js';
import { Palette } from './palette/find-button.js';
import { Shell } from './shell.js';

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });
const getParentRoute = (): typeof root => root;

/** Otherwise a mistyped address would show "Order NaN". */
function checkId(text: string): void {
  if (wholeNumber(text, { min: 1 }) === undefined) notFound({ throw: true });
}

/** As `checkId`, of webhooks and destinations. */
function checkUuid(text: string): void {
  if (!/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)) notFound({ throw: true });
}

const staticData = { isKept: true };

// One line per page. Each page is a separate chunk, loaded when it is first needed.
const routes = [
  createRoute({ getParentRoute, path: '/', staticData, component: lazyFile(() => import('../pages/today/today-page.js'), 'TodayPage') }),
  createRoute({ getParentRoute, path: '/orders/$orderId', beforeLoad: ({ params }) => checkId(params.orderId), component: lazyFile(() => import('../pages/orders/order-page.js'), 'OrderPage') }),
  createRoute({ getParentRoute, path: '/orders', staticData, validateSearch: toOrderFilter, onLeave: ({ search }) => leftOrders.set(search), component: lazyFile(() => import('../pages/orders/orders-page.js'), 'OrdersPage') }),
  createRoute({ getParentRoute, path: '/plants', staticData, validateSearch: readPlantFilter, onLeave: ({ search }) => leftPlants.set(search), component: lazyFile(() => import('../pages/plants/plants-page.js'), 'PlantsPage') }),
  createRoute({ getParentRoute, path: '/plants/new', component: lazyFile(() => import('../pages/plants/new-plant-page.js'), 'NewPlantPage') }),
  createRoute({ getParentRoute, path: '/plants/import', component: lazyFile(() => import('../pages/plants/import/import-page.js'), 'ImportPage') }),
  createRoute({ getParentRoute, path: '/plants/$plantId', beforeLoad: ({ params }) => checkId(params.plantId), component: lazyFile(() => import('../pages/plants/plant-page.js'), 'PlantPage') }),
  createRoute({ getParentRoute, path: '/stream', staticData, validateSearch: streamSearch, component: lazyFile(() => import('../pages/stream/stream-page.js'), 'StreamPage') }),
  createRoute({ getParentRoute, path: '/webhooks', staticData, validateSearch: webhooksSearch, onLeave: ({ search }) => leftWebhooks.set(search), component: lazyFile(() => import('../pages/webhooks/webhooks-page.js'), 'WebhooksPage') }),
  createRoute({ getParentRoute, path: '/webhooks/$webhookId', beforeLoad: ({ params }) => checkUuid(params.webhookId), validateSearch: deliveriesSearch, component: lazyFile(() => import('../pages/webhooks/webhook-page.js'), 'WebhookPage') }),
  createRoute({ getParentRoute, path: '/destinations', staticData, component: lazyFile(() => import('../pages/destinations/destinations-page.js'), 'DestinationsPage') }),
  createRoute({ getParentRoute, path: '/destinations/$destinationId', beforeLoad: ({ params }) => checkUuid(params.destinationId), component: lazyFile(() => import('../pages/destinations/destination-page.js'), 'DestinationPage') }),
  createRoute({ getParentRoute, path: '/people', staticData, validateSearch: peopleSearch, onLeave: ({ search }) => leftPeople.set(search), component: lazyFile(() => import('../pages/people/people-page.js'), 'PeoplePage') }),
  createRoute({ getParentRoute, path: '/people/$username', component: lazyFile(() => import('../pages/people/person-page.js'), 'PersonPage') }),
  createRoute({ getParentRoute, path: '/mails', staticData, validateSearch: mailsSearch, component: lazyFile(() => import('../pages/mails/mails-page.js'), 'MailsPage') }),
] as const;

export const router = createRouter({
  routeTree: root.addChildren(routes),
  basepath: import.meta.env.BASE_URL,
  defaultPreload: 'intent',
  // Dialogs and what is typed belong to one order, plant, webhook or person.
  defaultRemountDeps: ({ params }) => params,
  defaultPendingComponent: PagePending,
  defaultErrorComponent: PageError,
  defaultNotFoundComponent: NotFound,
  scrollRestoration: true,
});

const scrollKey = 'console-scroll';
const longestWaitMs = 10_000;

/**
 * A page that is loaded again, for which the browser logs in, has no lists yet: it is scrolled once they are long enough, unless the reader does
 * something before. @returns a function that ends it
 */
export function keepScrollOverReload(): () => void {
  const keep = (): void => sessionStorage.setItem(scrollKey, JSON.stringify({ href: location.href, top: scrollY }));
  window.addEventListener('pagehide', keep);
  const { href, top = 0 } = JSON.parse(sessionStorage.getItem(scrollKey) ?? '{}') as { href?: string; top?: number };
  const observer = new ResizeObserver(() => {
    if (document.documentElement.scrollHeight - innerHeight < top) return;
    end();
    scrollTo({ top });
  });
  const acts = ['wheel', 'keydown', 'pointerdown'];
  const end = (): void => {
    observer.disconnect();
    for (const act of acts) window.removeEventListener(act, end);
  };
  if (href === location.href && top > 0) {
    for (const act of acts) window.addEventListener(act, end, { passive: true });
    setTimeout(end, longestWaitMs);
    observer.observe(document.body);
  }
  return () => {
    keep();
    end();
    window.removeEventListener('pagehide', keep);
  };
}

/** Loads the files of all pages: a release removes them, and a page that is open must go on working. */
export async function loadAllPages(): Promise<void> {
  const parts: readonly (() => Promise<unknown>)[] = [() => import('../pages/today/queue.js'), () => import('../pages/orders/print/print-dialog.js'), () => import('../pages/today/charts.js')];
  // One after the other: on a slow line, what the reader asks for has room beside them.
  for (const { preload } of [PasswordForm, Palette, ProblemBody]) await preload?.();
  for (const route of Object.values(router.routesById)) await router.loadRouteChunk(route);
  for (const part of parts) await whenReached(part);
}

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
